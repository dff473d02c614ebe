"""What both languages need to read a document.

Read in this order: `problems` (findings, JSON pointers, hints), `limits` (which values a document
may hold), `json` and `yaml` (readers that record the place of every value), `source` (which of the
two), `fields` (the fields of one mapping, each wrong one a finding).

Nothing here knows what a workflow is, and nothing may import a language.
"""

"""`onward triggers`: what starts runs.

`group` adds, changes and lists triggers, `firings` says when they fire and have fired, `options`
holds the options of `add`, `change` and `preview`, and the settings they describe. Read `options`
first.
"""

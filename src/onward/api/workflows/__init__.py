"""Workflows: documents, versions and what is published; and what documents consist of.

    routes        create, add versions, publish, compare, export, import
    json_diff     where two documents differ
    start_rules   how runs of a workflow may start
    catalogue     node types, and expressions to try, on the data of a run if wanted
    views, examples

It imports `routing`, `runs.data` and `api.views`, and no web framework.
"""

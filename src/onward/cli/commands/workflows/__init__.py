"""`onward workflows`: stored workflows and their versions.

    group         list, show, validate, publish, roll back, compare, enable, delete
    start_rules   `onward workflows flow`: how many runs of a workflow may start, and how often

Both ask an engine through `onward.cli.engines`, never a database.
"""

"""Runs: start one, read every part of it, follow it, control it, signal it.

    routes        start, list, inspect; definition, nodes, visits, items, events
    start         one run for each idempotency key
    run_views     from records of runs to views
    data, value_pages   a value of a run, in pages
    logs          log lines of nodes
    streams       server-sent events of one run, and of many
    control       cancel, pause, resume, retry, adjust a split; and for many runs
    signals       signals, waits with their signed links, child runs
    views, examples

It imports `routing` and `api.views`, and no web framework.
"""

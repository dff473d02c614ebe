"""The Serverless Workflow DSL 1.0: a document as a tree of typed tasks, walked from stop to stop.

    model            the tree; every task knows its place as a JSON pointer
    templates        expressions inside JSON values; `durations`, `json_schemas`, `errors` likewise
    read/            text to tree, with every problem at once
    run/             the walk through the tree
    program          `ServerlessProgram`: the walk as a Program of the kernel
    picture          the tree as a graph, to be drawn and watched

Read `model`, then `program`, then `run/walk.py`. `read` and `run` meet in the model only, but for
the schedule of a document, which needs the event types of `run/event_filters.py`.
"""

"""The walk through the tree of tasks, up to the next thing that must happen.

    state            frames and the next action, as a token carries them
    stops            what a walk can stop for
    variables, path  one path: its variables, expressions, and the tasks it has passed
    walk             control flow: enter, complete, raise
    blocks           loops, tries, extensions, calls
    listen, consume  waits for events and for messages; `event_filters` matches events
    activities       the node of a call, with its arguments
    branches         scopes: forks and time limits, on the kernel's barriers
    subscriptions    the events of a run, as signals

`walk` calls the blocks, and they know only the path. Nothing here may import `read`.
"""

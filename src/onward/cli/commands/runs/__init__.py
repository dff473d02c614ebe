"""`onward runs`: list runs, start them, inspect them, and control them.

group      the group itself; `onward runs` alone is `onward runs ls`
selection  which runs a command means, and how one is shown; used by all others
start      start, watch, events
inspect    ls, show, nodes, items, visits, logs, data, definition, family
explain    what a run is waiting for; also `onward explain`
control    cancel, pause, resume, retry, adjust; `bulk` applies them to many runs
signals    signal, signals, waits, callback
"""

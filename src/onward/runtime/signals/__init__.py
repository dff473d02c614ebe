"""What reaches a running run from outside, and what leaves it: signals, children, lifecycle events.

- `run_host`: the Protocol of a place where runs live; each mode implements it once.
- `sender`: signals to runs, stored first and then sent.
- `child_runs`: runs that start runs; the end of a child is a signal to its parent.
- `signed_links`: links that allow their holder to send one signal.
- `lifecycle_events`, `lifecycle_publisher`: the lifecycle of runs as CloudEvents for a sink.

Stands on `token` and the ports; it may not import an engine, a backend or the API.
"""

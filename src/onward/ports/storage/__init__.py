"""The ports of storage: what must be stored, and which steps are atomic.

- `journal`: the embedded engine's commits; `history_store`, `payloads`: a cluster's history.
- `run_queries`: everything that is read about runs, in pages.
- `workflows`, `triggers`, `event_sets`: definitions by name, and what starts them.
- `start_rules`, `run_decisions`: how runs may start, and what was decided about them.
- `signals`, `publish_positions`: what was sent to runs, and how far events were published.

Each docstring states the obligation: what is one transaction, what may be repeated, what wins.
Values and Protocols only; it imports the kernel and nothing else of onward.
"""

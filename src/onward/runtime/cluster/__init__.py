"""Running on a cluster: the processes that share a broker, a coordinator and a store.

A token's way through a worker comes first:

- `worker.py`          the steps, from a delivery to its acknowledgement
- `services.py`        what a worker depends on
- `payload_cache.py`   payloads near the worker
- `message_hold.py`    the message meanwhile: unacknowledged, or on a lease
- `stop_signals.py`    stopping nodes whose run has ended
- `effects.py`, `status_outbox.py`  performing a judgement: what is sent, confirmed, and in which
  order; that order is the crash-safety argument
- `newer_messages.py`, `quarantine.py`  messages that this worker, or no worker, can handle
- `heartbeat.py`       the worker's line in the registry

Then the others: `scheduler.py` sends the tokens of timers, `master.py` folds what is reported into
the history, `starter.py` starts runs, `run_control.py` cancels, pauses and adjusts them,
`reconciler.py` finds runs that nothing moves, and `repair.py` rebuilds them. A run that is ended
from outside ends in `close_run.py`.

These modules know ports, never an adapter; they stand on `token`, `activity`, `signals` and
`instrumentation`, and import neither the embedded engine nor anything above the two.
"""

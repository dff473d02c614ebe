"""What is done with runs after they have started: limits, retention and new attempts.

- `run_limits`: the loop that starts parked runs and ends overdue ones.
- `retention`: the loop that deletes runs that ended long ago.
- `retry`: a new attempt at a run; `retry_history`: what it keeps of the one before (pure).

Cancelling and pausing are not here: they differ by mode (`run_control`, `embedded`, `cluster`).
"""

"""The exit codes of every command: the one table, which docs/reference/cli.md repeats."""

from __future__ import annotations

OK = 0
"""Done: the run completed, the documents are valid, there was nothing to do."""
FAILED = 1
"""The run failed or was halted; a simulation or a check found a problem."""
USAGE = 2
"""Wrong usage, an unreadable file or input, an unusable database, an extra that is missing."""
INVALID = 3
"""A document is invalid; nothing was started."""
DENIED = 4
"""Not logged in, or not allowed."""
CONFLICT = 5
"""There is no such thing, or its state does not allow the operation."""
TIMED_OUT = 6
"""The time to wait for a run is over; the run continues."""
UNREACHABLE = 7
"""A server or a service of the cluster cannot be reached, or refuses to work."""
OUTGROWN = 8
"""A worker has grown beyond `--max-memory` and should be started again."""
BUG = 70
"""A bug in onward."""
INTERRUPTED = 130
"""Interrupted with Ctrl-C."""
BROKEN_PIPE = 141
"""The reader of the output has gone."""
TERMINATED = 143
"""Stopped with SIGTERM."""

"""The inside of a process that runs nodes, one at a time.

Bodies are pickles. To it go `Job`s; from it come ("log", level, message, fields) and at the end of
each job ("done", outcome).
"""

from __future__ import annotations

import pickle
import resource
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from onward.kernel.outcome import Failed, NodeError
from onward.ports.nodes.node import BlockingTools
from onward.runtime.activity.frames import Send, serve_frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MB = 1024 * 1024


class Job(NamedTuple):
    """One execution of one node."""

    node: Any
    credentials: Mapping[str, str]
    idempotency_key: str
    attempt: int
    memory_mb: int | None


class _PipedLog:
    def __init__(self, send: Send) -> None:
        self._send = send

    def write(self, level: str, message: str, **fields: object) -> None:
        self._send(pickle.dumps(("log", level, message, fields)))


def _answer(body: bytes, send: Send) -> bytes:
    try:
        # From the process that started us.
        outcome = _run(pickle.loads(body), _PipedLog(send))  # noqa: S301
        return pickle.dumps(("done", outcome))
    except Exception as problem:  # its class is not found, or its outcome cannot be pickled
        text = f"{type(problem).__name__}: {problem}"
        return pickle.dumps(("done", Failed(NodeError(text, "NODE_CRASHED"))))


def _run(job: Job, log: _PipedLog) -> Any:
    """Return the outcome of a job, whatever the node does."""
    tools = BlockingTools(log, job.credentials, job.idempotency_key, job.attempt)
    try:
        with _memory_limit(job.memory_mb):
            return job.node.run(tools)
    except MemoryError:
        limit = f" of {job.memory_mb} MB" if job.memory_mb else ""
        return Failed(NodeError(f"the node needs more memory than its limit{limit}", "NODE_MEMORY"))
    except BaseException as problem:  # also SystemExit: an outcome, not the end of this process
        text = str(problem) or "no message"
        return Failed(NodeError(f"{type(problem).__name__}: {text}", "NODE_CRASHED"))


@contextmanager
def _memory_limit(limit_mb: int | None) -> Iterator[None]:
    """Limit what the process may allocate on top of what it has already."""
    if limit_mb is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + limit_mb * _MB, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Return the size of this process's address space in bytes."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * resource.getpagesize()
    except OSError:
        return 512 * _MB


if __name__ == "__main__":
    serve_frames(_answer)

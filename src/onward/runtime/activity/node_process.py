"""The inside of a process that runs nodes: it reads jobs from standard input, one at a time.

Frames are a length of 8 bytes and a pickle. To it go `Job`s; from it come ("log", level, message,
fields) and at the end of each job ("done", outcome). It ends when its standard input does, so it
never outlives the process that started it.
"""

from __future__ import annotations

import os
import pickle
import queue
import resource
import signal
import struct
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from onward.kernel.outcome import Failed, NodeError
from onward.ports.nodes.node import BlockingTools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LENGTH = struct.Struct(">Q")
_MB = 1024 * 1024


class Job(NamedTuple):
    """One execution of one node."""

    node: Any
    credentials: Mapping[str, str]
    idempotency_key: str
    attempt: int
    memory_mb: int | None


def framed(value: Any) -> bytes:
    """Return a value as it travels."""
    body = pickle.dumps(value)
    return LENGTH.pack(len(body)) + body


class _PipedLog:
    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, level: str, message: str, **fields: object) -> None:
        self._out.write(framed(("log", level, message, fields)))
        self._out.flush()


def perform(job: Job, log: Any) -> Any:
    """Return what came of a job, whatever the node does."""
    tools = BlockingTools(log, job.credentials, job.idempotency_key, job.attempt)
    try:
        with _memory(job.memory_mb):
            return job.node.run(tools)
    except MemoryError:
        limit = f" of {job.memory_mb} MB" if job.memory_mb else ""
        return Failed(NodeError(f"the node needs more memory than its limit{limit}", "NODE_MEMORY"))
    except BaseException as problem:  # also SystemExit: an outcome, not the end of this process
        text = str(problem) or "no message"
        return Failed(NodeError(f"{type(problem).__name__}: {text}", "NODE_CRASHED"))


@contextmanager
def _memory(limit_mb: int | None) -> Iterator[None]:
    """Let nobody allocate more than that, on top of what this process has already."""
    if limit_mb is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_size() + limit_mb * _MB, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _size() -> int:
    """Return the address space of this process."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * resource.getpagesize()
    except OSError:
        return 512 * _MB


def _read(stream: BinaryIO, jobs: queue.SimpleQueue[bytes]) -> None:
    """Hand on what comes; the end of the input is the end of everything, also amid a job."""
    while len(head := stream.read(LENGTH.size)) == LENGTH.size:
        jobs.put(stream.read(*LENGTH.unpack(head)))
    os._exit(0)


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    given = os.fdopen(os.dup(0), "rb")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a node prints is no frame
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(given, jobs), daemon=True).start()
    while True:
        body = jobs.get()
        try:
            job = pickle.loads(body)  # noqa: S301  (from the process that started us)
            outcome = perform(job, _PipedLog(out))
            frame = framed(("done", outcome))
        except Exception as problem:  # its class is not found, or what it returned cannot travel
            text = f"{type(problem).__name__}: {problem}"
            frame = framed(("done", Failed(NodeError(text, "NODE_CRASHED"))))
        out.write(frame)
        out.flush()


if __name__ == "__main__":
    main()

"""How the processes of activities and expressions are spoken with: frames on standard streams.

A frame is a length of 8 bytes and a body. This is the side inside the process; `process_pool` is
the other one.
"""

from __future__ import annotations

import os
import queue
import signal
import struct
import threading
from collections.abc import Callable
from typing import BinaryIO, NoReturn

LENGTH = struct.Struct(">Q")

Send = Callable[[bytes], None]


def frame(body: bytes) -> bytes:
    """Return a body as it travels."""
    return LENGTH.pack(len(body)) + body


def serve_frames(answer: Callable[[bytes, Send], bytes]) -> NoReturn:
    """Answer each frame from standard input, until it ends.

    `answer` may send frames of its own before the one that it returns. The end of the input ends
    the process, also in the middle of an answer: it never outlives the one that started it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a node prints is no frame
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def send(body: bytes) -> None:
        sink.write(frame(body))
        sink.flush()

    bodies: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(source, bodies), daemon=True).start()
    while True:
        send(answer(bodies.get(), send))


def _read(source: BinaryIO, bodies: queue.SimpleQueue[bytes]) -> None:
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        bodies.put(source.read(*LENGTH.unpack(head)))
    os._exit(0)

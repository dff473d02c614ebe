"""The inside of a process that evaluates expressions: it reads questions from standard input.

Frames are a length of 8 bytes and a body; to each question comes one answer (`elsewhere.py`). It
ends when its standard input does, also amid an evaluation, so it never outlives the process that
started it.
"""

from __future__ import annotations

import os
import queue
import signal
import struct
import threading
from typing import BinaryIO

from onward.expressions.offload import answer_question

LENGTH = struct.Struct(">Q")


def framed(body: bytes) -> bytes:
    """Return a body as it travels."""
    return LENGTH.pack(len(body)) + body


def _read(stream: BinaryIO, questions: queue.SimpleQueue[bytes]) -> None:
    while len(head := stream.read(LENGTH.size)) == LENGTH.size:
        questions.put(stream.read(*LENGTH.unpack(head)))
    os._exit(0)


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    given, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(given, questions), daemon=True).start()
    while True:
        out.write(framed(answer_question(questions.get())))
        out.flush()


if __name__ == "__main__":
    main()

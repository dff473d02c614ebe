"""`--events`: every status and completion message as a line of JSON, as it is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.client.values import Event
import sys
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from onward.errors import InputError
from onward.kernel.messages import RunMessage

# -- Events as lines for people.


def line_of(event: Event, *, run: bool = False) -> str:
    """Return one event as a line: when, where and what; with its run when there are several."""
    parts = [event.at[11:23], event.type]
    if run:
        parts.insert(1, event.execution_id)
    if event.node_id:
        parts.append(event.node_id)
    if event.item:
        parts.append(event.item)
    if event.type == "node.progress":
        parts.append(f"{event.processed}/{event.total}")
    if event.type == "node.items":
        parts.append(f"+{event.succeeded}")
    if event.failed:
        parts.append(f"{event.failed} failed")
    if event.attempt > 1:
        parts.append(f"attempt {event.attempt}")
    if event.duration_ms is not None:
        parts.append(f"{event.duration_ms} ms")
    if event.status:
        parts.append(event.status)
    if event.error:
        parts.append(f"{event.error.get('message')} [{event.error.get('code')}]")
    return "  ".join(parts)


_encode = msgspec.json.Encoder().encode


class EventLines:
    """Appends whole lines, each with one write: readers and other writers never see half of one.

    A file that can no longer be written is given up, with a word on standard error; the run is
    worth more than its transcript.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._lost = False
        self._out = _opened(file)

    def observe(self, news: RunMessage) -> None:
        """Write one message."""
        if self._lost:
            return
        try:
            self._out.write(_encode(news) + b"\n")
            self._out.flush()
        except OSError as problem:
            self._lost = True
            if not isinstance(problem, BrokenPipeError):
                click.echo(f"{self.file}: events are lost from here: {problem.strerror}", err=True)


def _opened(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdout.buffer
    try:
        return Path(file).open("ab", buffering=0)
    except OSError as problem:
        raise InputError(f"--events {file}: it cannot be written: {problem.strerror}") from None

"""Run events as lines: text for people, and JSON for `--events`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from onward.errors import InputError

if TYPE_CHECKING:
    from onward.client.values import Event
    from onward.kernel.messages import RunMessage

_encode = msgspec.json.Encoder().encode


def line_of(event: Event, *, with_run: bool = False) -> str:
    """Return one event as a line of text; with the id of its run when there are several."""
    parts = [event.at[11:23], event.type]
    if with_run:
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


class EventLines:
    """Appends messages to a file as lines of JSON, each with one write: readers see whole lines.

    A file that can no longer be written is given up, with a warning on standard error: the run is
    worth more than its transcript.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._broken = False
        self._out = _open(file)

    def observe(self, message: RunMessage) -> None:
        """Write one message."""
        if self._broken:
            return
        try:
            self._out.write(_encode(message) + b"\n")
            self._out.flush()
        except OSError as problem:
            self._broken = True
            if not isinstance(problem, BrokenPipeError):
                click.echo(f"{self.file}: events are lost from here: {problem.strerror}", err=True)


def _open(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdout.buffer
    try:
        return Path(file).open("ab", buffering=0)
    except OSError as problem:
        raise InputError(f"--events {file}: it cannot be written: {problem.strerror}") from None

"""The log lines of nodes, which are stored with the history of their run: how many, in which form.

At most `MAX_LINES` lines and `MAX_LOG_BYTES` of a visit are stored; a last line says how many were
dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

MAX_LINES = 100
"""Lines of one visit."""
MAX_LOG_BYTES = 16 * 1024
"""Bytes of the lines of one visit, as JSON."""
MAX_LINE_CHARS = 4_000
"""Characters of one line."""


class LogLineRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One line."""

    at_ms: int
    level: str
    message: str
    fields: dict[str, Any] = {}


class VisitLog:
    """The lines of one visit while it lasts."""

    __slots__ = ("_dropped", "_lines", "_room")

    def __init__(self) -> None:
        self._lines: list[LogLineRecord] = []
        self._room = MAX_LOG_BYTES
        self._dropped = 0

    def add(self, line: LogLineRecord) -> None:
        """Add a line, if there is room for it."""
        line = _short(line)
        size = len(_encode(line))
        if len(self._lines) >= MAX_LINES or size > self._room:
            self._dropped += 1
            return
        self._room -= size
        self._lines.append(line)

    def lines(self) -> tuple[LogLineRecord, ...]:
        """Return the lines to be stored."""
        if not self._dropped:
            return tuple(self._lines)
        last = self._lines[-1].at_ms if self._lines else 0
        many = f"{self._dropped} more line{'s' * (self._dropped != 1)}"
        word = LogLineRecord(
            at_ms=last, level="warning", message=f"{many} of this visit were dropped"
        )
        return (*self._lines, word)


def write_lines(lines: Iterable[LogLineRecord]) -> bytes:
    """Return lines as they are stored."""
    return _encode(tuple(lines))


def read_lines(data: bytes) -> list[LogLineRecord]:
    """Return stored lines."""
    return _decoder.decode(data)


def _short(line: LogLineRecord) -> LogLineRecord:
    message = line.message
    if len(message) > MAX_LINE_CHARS:
        message = message[:MAX_LINE_CHARS] + "…"
    try:
        fields = msgspec.json.decode(_encode(line.fields))
    except (TypeError, ValueError, RecursionError):  # a node may put anything there
        fields = {name: str(value) for name, value in line.fields.items()}
    text = message.encode("utf-8", "replace").decode()
    return msgspec.structs.replace(line, message=text, fields=fields)


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(list[LogLineRecord])

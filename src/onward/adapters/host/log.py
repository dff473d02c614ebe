"""The log: structured lines through the standard library's logging, never on standard output.

Standard output belongs to results. One event is one line, whatever it says: control characters
are written escaped, so no value can forge a second line.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from onward.ports.nodes.outside import Log

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_LOGGER = logging.getLogger("onward")
_TRACING = logging.getLogger("opentelemetry")
"""Spans that cannot be sent to a collector are reported in the same form as everything else."""


class HostLog:
    """Writes to the logger "onward"; where its lines go is decided by `configure_log`."""

    def write(self, level: str, message: str, **fields: object) -> None:
        """Write one line at `level`; an unknown level is written as an error, never dropped."""
        _LOGGER.log(_LEVELS.get(level, logging.ERROR), "%s", message, extra={"onward": fields})


def configure_log(
    *, level: str = "info", as_json: bool = False, stream: TextIO | None = None
) -> None:
    """Send the log to `stream` (standard error unless given), replacing what was set before."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else _TextLines())
    for logger, least in ((_LOGGER, _LEVELS[level]), (_TRACING, logging.WARNING)):
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False


class _JsonLines(logging.Formatter):
    """One JSON object for each line; fields stand beside `time`, `level` and `message`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {**_fields(record), **_head(record), "message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _TextLines(logging.Formatter):
    """`time level message key=value ...` on one line, for people."""

    def format(self, record: logging.LogRecord) -> str:
        head = _head(record)
        fields = _fields(record)
        if fields.get("attempt") == 1:
            del fields["attempt"]  # only a second attempt is worth a word
        if record.exc_info and record.exc_info[1] is not None:
            fields["exception"] = repr(record.exc_info[1])
        pairs = (f"{name}={_shown(value)}" for name, value in fields.items())
        message = _escape(record.getMessage())
        return " ".join((head["time"], head["level"].upper(), message, *pairs))


def _head(record: logging.LogRecord) -> dict[str, str]:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return {"time": time.replace("+00:00", "Z"), "level": record.levelname.lower()}


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = getattr(record, "onward", {})
    return {name: value for name, value in fields.items() if value != ""}


def _shown(value: object) -> str:
    if isinstance(value, str) and value and value.isprintable() and " " not in value:
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


def _escape(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


_conforms: type[Log] = HostLog

"""The log: structured lines through the standard library's logging, never to standard output.

Standard output belongs to results. One event is one line, whatever it says: control characters
are written escaped, so no value can forge a second line.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from weft.ports.outside import Log

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_LOGGER = logging.getLogger("weft")


class HostLog:
    """Writes to the logger "weft"; where its lines go is decided by `configure_log`."""

    def write(self, level: str, message: str, **fields: object) -> None:
        """Write one line at `level`; an unknown level is written as an error, never dropped."""
        _LOGGER.log(_LEVELS.get(level, logging.ERROR), "%s", message, extra={"weft": fields})


def configure_log(
    *, level: str = "info", as_json: bool = False, stream: TextIO | None = None
) -> None:
    """Send the log to `stream` (standard error unless given), replacing what was set before."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else _TextLines())
    _LOGGER.handlers[:] = [handler]
    _LOGGER.setLevel(_LEVELS[level])
    _LOGGER.propagate = False


class _JsonLines(logging.Formatter):
    """One JSON object for each line; fields stand beside `time`, `level` and `message`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {**_fields(record), **_head(record), "message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _TextLines(logging.Formatter):
    """`time level message key=value ...`, for people."""

    def format(self, record: logging.LogRecord) -> str:
        head = _head(record)
        pairs = (f"{name}={_shown(value)}" for name, value in _fields(record).items())
        message = _one_line(record.getMessage())
        line = " ".join((head["time"], head["level"].upper(), message, *pairs))
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def _head(record: logging.LogRecord) -> dict[str, str]:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return {"time": time.replace("+00:00", "Z"), "level": record.levelname.lower()}


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = getattr(record, "weft", {})
    return {name: value for name, value in fields.items() if value != ""}


def _shown(value: object) -> str:
    if isinstance(value, str) and value and value.isprintable() and " " not in value:
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


def _one_line(text: str) -> str:
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


_conforms: type[Log] = HostLog

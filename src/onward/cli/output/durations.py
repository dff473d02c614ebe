"""Durations as people read and write them."""

from __future__ import annotations

import re

import click


def seconds(duration_ms: float) -> str:
    """Return a duration in its natural unit: `850 ms`, `12.3 s`, `4 min 05 s`, `3 h 07 min`."""
    if duration_ms < 1_000:
        return f"{duration_ms:.0f} ms"
    if duration_ms < 60_000:
        return f"{duration_ms / 1000:.1f} s"
    whole = int(duration_ms // 1000)
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02} h"


_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SPAN = re.compile(r"([0-9]{1,9})([smhd])")


def span(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return the milliseconds of `90s`, `15m`, `12h` or `30d`."""
    if value is None:
        return None
    read = _SPAN.fullmatch(value)
    if read is None or int(read[1]) == 0:
        raise click.BadParameter(f"{value!r} is no span of time such as 90s, 15m, 12h or 30d")
    return int(read[1]) * _UNITS_MS[read[2]]

"""Durations as people read them."""

from __future__ import annotations


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

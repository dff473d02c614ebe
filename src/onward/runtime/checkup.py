"""What `onward doctor` has to say: findings, and the judgements that need no service to make."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]

SKEW_WARNING_MS = 1_000
SKEW_PROBLEM_MS = 10_000
_MOST_USED = 0.8


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, how it is, what was found, and what to do about it.

    A finding that is not `ok` always has a fix.
    """

    check: str
    level: Level
    found: str
    fix: str = ""


def healthy(findings: Iterable[Finding]) -> bool:
    """Return whether nothing is a problem; warnings may be there."""
    return all(one.level != "problem" for one in findings)


def version(check: str, product: str, found: str, oldest: tuple[int, int]) -> Finding:
    """Return whether a version such as `3.12.1` or `16.2 (Debian)` is new enough."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers >= oldest:
        return Finding(check, "ok", f"{product} {found}")
    least = ".".join(str(part) for part in oldest)
    return Finding(
        check, "problem", f"{product} {found} is too old", f"upgrade it to {least} or newer"
    )


def skew(check: str, ahead_ms: int) -> Finding:
    """Return how far another clock is from this machine's; positive when it is ahead."""
    size, direction = abs(ahead_ms), "ahead of" if ahead_ms > 0 else "behind"
    if size <= SKEW_WARNING_MS:
        return Finding(check, "ok", f"within {SKEW_WARNING_MS // 1000} s of this machine")
    level: Level = "problem" if size > SKEW_PROBLEM_MS else "warning"
    found = f"{size / 1000:.1f} s {direction} this machine: waits end too early or too late"
    return Finding(check, level, found, "let NTP (chrony, systemd-timesyncd) set both clocks")


def memory(check: str, used: int, limit: int) -> Finding:
    """Return whether a store that refuses writes at `limit` bytes (0: none) has room left."""
    if limit == 0:
        return Finding(
            check,
            "warning",
            f"{_mib(used)} used, no limit: the system kills it when the machine's memory is full",
            "CONFIG SET maxmemory to about three quarters of the machine's memory",
        )
    found = f"{_mib(used)} of {_mib(limit)} used"
    if used <= _MOST_USED * limit:
        return Finding(check, "ok", found)
    level: Level = "problem" if used >= limit else "warning"
    return Finding(check, level, f"{found}: writes are refused at the limit", "raise maxmemory")


def _mib(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MiB"

"""Points in time as epoch milliseconds, and their ISO 8601 text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_MS = 253_402_300_799_000  # the last second of the year 9999


@lru_cache(maxsize=1024)  # what happens together is reported together: often the same millisecond
def to_iso(ms: int) -> str:
    """Return `ms` as RFC 3339 in UTC, with milliseconds."""
    moment = EPOCH + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso(text: str) -> int:
    """Return an ISO 8601 date, time and offset (UTC when it names none) as epoch milliseconds.

    Raises ValueError for anything else.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(milliseconds=1)

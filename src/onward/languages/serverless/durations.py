"""Lengths of time: ISO 8601 texts, and objects of days, hours, minutes, seconds, milliseconds.

A year is 365 days, a month 30 and a week 7: a wait does not depend on the calendar.
"""

from __future__ import annotations

import re
from typing import Any

UNITS = {
    "days": 86_400_000,
    "hours": 3_600_000,
    "minutes": 60_000,
    "seconds": 1_000,
    "milliseconds": 1,
}
LONGEST_MS = 100 * 365 * 86_400_000
_NUMBER = r"\d{1,9}(?:[.,]\d{1,9})?"
_ISO = re.compile(
    r"P(?=.)(?:(?P<Y>N)Y)?(?:(?P<M>N)M)?(?:(?P<W>N)W)?(?:(?P<D>N)D)?"
    r"(?:T(?=.)(?:(?P<h>N)H)?(?:(?P<m>N)M)?(?:(?P<s>N)S)?)?".replace(
        "N", r"\d{1,9}(?:[.,]\d{1,9})?"
    )
)
_ISO_MS = {
    "Y": 365 * 86_400_000,
    "M": 30 * 86_400_000,
    "W": 7 * 86_400_000,
    "D": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
}


def duration_ms(value: Any) -> int:
    """Return a duration in milliseconds, 100 years at most.

    Raises ValueError, saying what is wrong, for what is none.
    """
    match value:
        case str():
            total = _iso_ms(value)
        case dict() if value:
            total = _object_ms(value)
        case _:
            raise ValueError("it is neither ISO 8601 (PT30S) nor an object such as {seconds: 30}")
    if total > LONGEST_MS:
        raise ValueError("it is longer than 100 years")
    return round(total)


def _iso_ms(text: str) -> float:
    found = _ISO.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not an ISO 8601 duration such as PT30S or P1DT2H")
    return sum(
        float(number.replace(",", ".")) * _ISO_MS[unit]
        for unit, number in found.groupdict().items()
        if number
    )


def _object_ms(value: dict[Any, Any]) -> float:
    total = 0.0
    for unit, number in value.items():
        if unit not in UNITS:
            raise ValueError(f"{str(unit)[:40]!r} is none of {', '.join(UNITS)}")
        if isinstance(number, bool) or not isinstance(number, int | float) or not number >= 0:
            raise ValueError(f"{unit} must be a number, zero or more")
        total += min(number, LONGEST_MS) * UNITS[unit]
    return total

"""Patterns of HTTP statuses: `404`, `"5xx"`, `"400-499"`."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

_PATTERN = r"^[1-5](xx|[0-9]{2}(-[1-5][0-9]{2})?)$"
# Only shown in the schema: `check_pattern` says in words what a regular expression cannot.
StatusPattern = (
    Annotated[int, Meta(ge=100, le=599)]
    | Annotated[str, Meta(extra_json_schema={"pattern": _PATTERN})]
)


def check_pattern(pattern: int | str) -> None:
    """Raise ValueError unless `pattern` holds at least one status."""
    if isinstance(pattern, str) and not re.fullmatch(_PATTERN[1:-1], pattern):
        raise ValueError(
            f"`raise_on_status`: {pattern[:40]!r} is not a status: write 404, '5xx' or '400-499'"
        )
    low, high = _bounds(pattern)
    if low > high:
        raise ValueError(f"`raise_on_status`: {pattern!r} holds no status: write '{high}-{low}'")


def matches(pattern: int | str, status: int) -> bool:
    """Return whether `status` is in `pattern`."""
    low, high = _bounds(pattern)
    return low <= status <= high


def _bounds(pattern: int | str) -> tuple[int, int]:
    if isinstance(pattern, int):
        return pattern, pattern
    if pattern.endswith("xx"):
        return int(pattern[0]) * 100, int(pattern[0]) * 100 + 99
    low, _, high = pattern.partition("-")
    return int(low), int(high or low)

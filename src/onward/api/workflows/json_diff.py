"""Where two JSON documents differ: pointers, with what was there before and after."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from onward.api.routing.refusals import escape_pointer
from onward.api.workflows.views import DifferenceView

MOST_DIFFERENCES = 1_000


def differences(before: Any, after: Any) -> tuple[list[DifferenceView], bool]:
    """Return where two documents differ, and whether there are more than are returned."""
    found = list(islice(_walk("", before, after), MOST_DIFFERENCES + 1))
    return found[:MOST_DIFFERENCES], len(found) > MOST_DIFFERENCES


def _walk(pointer: str, before: Any, after: Any) -> Iterator[DifferenceView]:
    if type(before) is type(after) and before == after:
        return
    older, newer = _members(before), _members(after)
    if older is None or newer is None or isinstance(before, dict) != isinstance(after, dict):
        yield DifferenceView(pointer=pointer, change="changed", before=before, after=after)
        return
    for key in dict.fromkeys((*older, *newer)):
        at = f"{pointer}/{escape_pointer(key)}"
        if key not in newer:
            yield DifferenceView(pointer=at, change="removed", before=older[key])
        elif key not in older:
            yield DifferenceView(pointer=at, change="added", after=newer[key])
        else:
            yield from _walk(at, older[key], newer[key])


def _members(value: Any) -> dict[str, Any] | None:
    """Return the parts of a value by name; parts of a list that have ids go by them."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    ids = [part.get("id") if isinstance(part, dict) else None for part in value]
    if ids and all(isinstance(name, str) for name in ids) and len(set(ids)) == len(ids):
        return {str(name): part for name, part in zip(ids, value, strict=True)}
    return {str(index): part for index, part in enumerate(value)}

"""Where two JSON documents differ: pointers, with what was there before and after."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from onward.api.views import DifferenceView

MOST = 1_000


def differences(before: Any, after: Any) -> tuple[list[DifferenceView], bool]:
    """Return where two documents differ, and whether there are more places than are told."""
    found = list(islice(_walk("", before, after), MOST + 1))
    return found[:MOST], len(found) > MOST


def _walk(pointer: str, before: Any, after: Any) -> Iterator[DifferenceView]:
    if type(before) is type(after) and before == after:
        return
    one, other = _members(before), _members(after)
    if one is None or other is None or isinstance(before, dict) != isinstance(after, dict):
        yield DifferenceView(pointer=pointer, change="changed", before=before, after=after)
        return
    for key in dict.fromkeys((*one, *other)):
        at = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in other:
            yield DifferenceView(pointer=at, change="removed", before=one[key])
        elif key not in one:
            yield DifferenceView(pointer=at, change="added", after=other[key])
        else:
            yield from _walk(at, one[key], other[key])


def _members(value: Any) -> dict[str, Any] | None:
    """Return the parts of a value by name; parts of a list that have ids go by them."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    ids = [one.get("id") if isinstance(one, dict) else None for one in value]
    if ids and all(isinstance(one, str) for one in ids) and len(set(ids)) == len(ids):
        return {str(name): one for name, one in zip(ids, value, strict=True)}
    return {str(index): one for index, one in enumerate(value)}

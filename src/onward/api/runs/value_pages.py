"""Large values in small answers: a JSON pointer chooses the part, an offset the page."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec

from onward.api.routing.refusals import RequestRefusedError
from onward.api.runs.views import DataView
from onward.api.views import Place
from onward.expressions.reference import type_name

PAGE_BYTES = 256 * 1024
"""Bytes of one answer; what does not fit is on the next page, or behind a longer pointer."""


def part_of(value: Any, pointer: str, offset: int, limit: int) -> DataView:
    """Return the part of `value` at `pointer`: all of it if it fits, else a page of it."""
    chosen = _resolve(value, pointer)
    size = len(msgspec.json.encode(chosen))
    length = len(chosen) if isinstance(chosen, dict | list | str) else None
    shown, following = _page(chosen, offset, limit, whole=size <= PAGE_BYTES)
    return DataView(
        pointer=pointer,
        kind=type_name(chosen),
        bytes=size,
        length=length,
        offset=offset,
        value=shown,
        next_offset=following,
    )


def _page(value: Any, offset: int, limit: int, *, whole: bool) -> tuple[Any, int | None]:
    """Return the members from `offset` on that fit, and where the rest begins."""
    match value:
        case str():
            shown = value[offset : offset + (len(value) if whole else PAGE_BYTES // 4)]
            end = offset + len(shown)
            return shown, end if end < len(value) else None
        case list():
            members: list[Any] = []
            end = _fill(value[offset : offset + limit], members.append)
            end += offset
            return members, end if end < len(value) else None
        case dict():
            entries: dict[str, Any] = {}
            some = list(islice(value.items(), offset, offset + limit))
            end = offset + _fill(some, lambda pair: entries.update([pair]))
            return entries, end if end < len(value) else None
        case _:
            return value, None


def _fill(parts: list[Any], keep: Any) -> int:
    """Keep parts while there is room, a large one as null: it has a pointer of its own."""
    room = PAGE_BYTES
    for count, part in enumerate(parts):
        size = len(msgspec.json.encode(part))
        if size > PAGE_BYTES:
            keep((part[0], None) if isinstance(part, tuple) else None)
            continue
        if size > room:
            return count
        room -= size
        keep(part)
    return len(parts)


def _resolve(value: Any, pointer: str) -> Any:
    if pointer and not pointer.startswith("/"):
        raise _nothing_there(pointer, 'a JSON pointer is empty or begins with "/"')
    walked = ""
    for raw in pointer.split("/")[1:]:
        name = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _index(name) is not None and int(name) < len(value):
            value = value[int(name)]
        else:
            raise _nothing_there(pointer, f"{walked or 'the value'} has no {name!r}")
        walked = f"{walked}/{raw}"
    return value


def _index(name: str) -> int | None:
    plain = name.isascii() and name.isdecimal() and (name == "0" or not name.startswith("0"))
    return int(name) if plain and len(name) < 16 else None


def _nothing_there(pointer: str, why: str) -> RequestRefusedError:
    place = Place(message=why, parameter="pointer")
    return RequestRefusedError(
        404, "NOTHING_THERE", f"pointer {pointer[:200]!r}: {why[:300]}", errors=[place]
    )

"""Reading the filters of lists."""

from __future__ import annotations

import re
from typing import Annotated, get_args

from fastapi import Query

from onward.api.http.problems import RequestRefusedError
from onward.api.views import Place, RunStatus
from onward.kernel.timestamps import from_iso

_STEP = re.compile(r"([^\[\]>]{1,1024})\[([0-9]{1,9})\]")


def read_statuses(text: str | None) -> tuple[str, ...]:
    """Return the statuses in a list with commas."""
    if not text:
        return ()
    known = get_args(RunStatus)
    wanted = tuple(dict.fromkeys(text.split(",")))
    unknown = [one for one in wanted if one not in known]
    if unknown:
        raise _bad("status", f"there is no status {unknown[0][:80]!r}: give {', '.join(known)}")
    return wanted


def read_moment(name: str, text: str | None, default: int) -> int:
    """Return a moment in epoch milliseconds."""
    if text is None:
        return default
    try:
        return from_iso(text)
    except ValueError:
        raise _bad(name, "write a date and time like 2026-01-31T09:30:00Z") from None


def read_item(text: str | None) -> tuple[tuple[str, int], ...]:
    """Return the steps of an item: `users[5] > orders[2]`."""
    if not text:
        return ()
    steps = [_STEP.fullmatch(one.strip()) for one in text.split(">")]
    if None in steps:
        raise _bad("item", "write an item like users[5] or users[5] > orders[2]")
    return tuple((step[1].strip(), int(step[2])) for step in steps if step is not None)


def _bad(name: str, why: str) -> RequestRefusedError:
    return RequestRefusedError(
        422, "INVALID_REQUEST", f"{name}: {why}", errors=[Place(message=why, parameter=name)]
    )


Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]


Limit = Annotated[int, Query(ge=1, le=200, description="The most to return.")]

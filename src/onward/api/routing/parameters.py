"""Cursors that only we write, revisions in ETags, and the filters of lists."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, get_args

import msgspec
from msgspec import Meta

from onward.api.routing.refusals import invalid_parameter
from onward.api.views import Identifier, RunStatus
from onward.kernel.timestamps import from_iso

T = TypeVar("T")

RunId = Annotated[Identifier, Meta(description="The run's id.")]
Cursor = Annotated[str | None, Meta(description="`next_cursor` of the page before.")]
Limit = Annotated[int, Meta(ge=1, le=200, description="The most to return.")]
IfMatch = Annotated[str | None, Meta(description="The ETag that the change was made from.")]
FARTHEST = 2**62
"""No number of an event, and no moment, is above this."""

# -- cursors -------------------------------------------------------------------------------------


def write_cursor(*parts: Any) -> str:
    """Return an opaque cursor for the page after these values."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode().rstrip("=")


def read_cursor(cursor: str | None, kind: type[T]) -> T | None:
    """Return the values of a cursor; None for the first page; refused when it is not ours."""
    if cursor is None:
        return None
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(data, type=kind)
    except (binascii.Error, msgspec.MsgspecError, ValueError, RecursionError):
        raise _bad_cursor() from None


def read_text_cursor(cursor: str | None, default: str = "") -> str:
    """Return the text after which a list by name continues."""
    (after,) = read_cursor(cursor, tuple[str]) or (default,)
    if "\0" in after:  # which one of the stores could not be asked about
        raise _bad_cursor()
    return after


def read_number_cursor(cursor: str | None, default: int = 0) -> int:
    """Return the number at which a list continues."""
    (number,) = read_cursor(cursor, tuple[int]) or (default,)
    return max(0, min(number, FARTHEST))


def _bad_cursor() -> Exception:
    return invalid_parameter(
        "cursor",
        "it is no cursor of this list",
        code="BAD_CURSOR",
        remedy="take next_cursor of the page before as it is, or leave it out",
    )


def next_cursor(found: Sequence[T], limit: int, key: Callable[[T], tuple[Any, ...]]) -> str | None:
    """Return the cursor after the first `limit` of what was found; None when that is all."""
    return write_cursor(*key(found[limit - 1])) if len(found) > limit else None


# -- ETags ---------------------------------------------------------------------------------------


_ETAG = re.compile(r'(?:W/)?"r([0-9]{1,18})"')


def write_etag(revision: int) -> str:
    """Return the ETag of a revision."""
    return f'"r{revision}"'


def read_if_match(value: str | None) -> int | None:
    """Return the revision that a change was made from; None: whatever is there now."""
    if value is None or value.strip() == "*":
        return None
    found = _ETAG.fullmatch(value.strip())
    if found is None:
        raise invalid_parameter(
            "If-Match",
            'it must be an ETag like "r3", or *',
            code="BAD_ETAG",
            remedy="send the ETag as it came",
        )
    return int(found[1])


def has_revision(if_none_match: str | None, revision: int) -> bool:
    """Return whether the caller has this revision already."""
    return if_none_match is not None and write_etag(revision) in if_none_match


# -- filters -------------------------------------------------------------------------------------


_STEP = re.compile(r"([^\[\]>]{1,1024})\[([0-9]{1,9})\]")


def read_statuses(text: str | None) -> tuple[str, ...]:
    """Return the statuses in a list with commas."""
    if not text:
        return ()
    known = get_args(RunStatus)
    wanted = tuple(dict.fromkeys(text.split(",")))
    unknown = [status for status in wanted if status not in known]
    if unknown:
        why = f"there is no status {unknown[0][:80]!r}: give {', '.join(known)}"
        raise invalid_parameter("status", why)
    return wanted


def read_moment(name: str, text: str | None, default: int) -> int:
    """Return a moment in epoch milliseconds."""
    if text is None:
        return default
    try:
        return from_iso(text)
    except ValueError:
        raise invalid_parameter(name, "write a date and time like 2026-01-31T09:30:00Z") from None


def read_item(text: str | None) -> tuple[tuple[str, int], ...]:
    """Return the steps of an item: `users[5] > orders[2]`."""
    if not text:
        return ()
    steps = [_STEP.fullmatch(step.strip()) for step in text.split(">")]
    if None in steps:
        raise invalid_parameter("item", "write an item like users[5] or users[5] > orders[2]")
    return tuple((step[1].strip(), int(step[2])) for step in steps if step is not None)


def read_event_number(last_event_id: str | None, after: int) -> int:
    """Return the number of the event that a stream resumes after."""
    if last_event_id is None:
        return after
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19):
        raise invalid_parameter("Last-Event-ID", "it must be the number of an event")
    return int(last_event_id)


def read_choice(**given: object) -> str:
    """Return the name of the one parameter that was given; refused when it is not exactly one."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise invalid_parameter(", ".join(given), "give exactly one of them")
    return named[0]

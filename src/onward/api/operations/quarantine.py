"""Routes of the quarantine: inspect its messages, send them once more, or discard them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from onward.api.operations.views import (
    LARGEST_NUMBER,
    ChosenGiven,
    DecidedView,
    QuarantinedView,
    ReleaseGiven,
    WholeQuarantinedView,
)
from onward.api.routing.refusals import RequestRefusedError
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.views import Page, Place
from onward.errors import NotThereError
from onward.runtime.backend import Backend, QuarantineEntry
from onward.runtime.cluster.quarantine import content_of, in_base64

SHOWN_BYTES = 256 * 1024
"""The largest message that is shown whole, in bytes; of a larger one, so many."""

Number = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER, description="Its number in the list.")]


def quarantine_routes(backend: Backend) -> Routes:
    """Return the routes of the quarantine."""
    routes = Routes(tags=["operations"])

    @routes.get("/quarantine", summary="List messages in quarantine")
    async def list_quarantine() -> Page[QuarantinedView]:
        """Messages that could not be handled, oldest first."""
        views = [quarantined_view(entry) for entry in await backend.quarantine()]
        return Page[QuarantinedView](items=views, next_cursor=None)

    @routes.get(
        "/quarantine/{number}",
        summary="Show a message in quarantine",
        view=WholeQuarantinedView,
    )
    async def get_quarantined(number: Number) -> Reply:
        """A message that could not be handled, why not, and what it says."""
        found = await backend.quarantine()
        if number > len(found):
            there = f"it holds {len(found)}" if found else "it is empty"
            raise NotThereError(f"there is no message {number} in quarantine: {there}")
        return json_reply(_whole(found[number - 1]))

    @routes.post("/quarantine:release", summary="Send messages once more")
    async def release_messages(given: ReleaseGiven) -> DecidedView:
        """Send messages to the workers as if for the first time.

        Nothing is sent when one of them belongs to a run that has ended, unless `force` is given.
        """
        done = await backend.release(_chosen(given), force=given.force)
        return DecidedView(items=[quarantined_view(entry) for entry in done])

    @routes.post("/quarantine:discard", summary="Throw messages away")
    async def discard_messages(given: ChosenGiven) -> DecidedView:
        """Throw messages away for good; all that are named, or none."""
        done = await backend.discard(_chosen(given))
        return DecidedView(items=[quarantined_view(entry) for entry in done])

    return routes


def quarantined_view(entry: QuarantineEntry) -> QuarantinedView:
    """Return the view of a message in quarantine."""
    return QuarantinedView(
        number=entry.number,
        at=entry.at,
        execution_id=entry.execution_id,
        node_id=entry.node_id,
        reason=entry.reason,
        bytes=len(entry.body),
    )


def _whole(entry: QuarantineEntry) -> WholeQuarantinedView:
    shown = (
        content_of(entry.body)
        if len(entry.body) <= SHOWN_BYTES
        else in_base64(entry.body[:SHOWN_BYTES])
    )
    return WholeQuarantinedView(**msgspec.structs.asdict(quarantined_view(entry)), **shown)


def _chosen(given: ChosenGiven) -> list[int] | None:
    if given.all == bool(given.numbers):
        why = "give the numbers of messages, or all: true"
        place = Place(message=why, pointer="/numbers")
        raise RequestRefusedError(422, "INVALID_REQUEST", why, errors=[place])
    return None if given.all else given.numbers

"""Routes of the quarantine: look at its messages, send them once more, or throw them away."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from onward.api.http.json_route import StrictRoute, json_response
from onward.api.http.problems import RequestRefusedError
from onward.api.operations.views import QuarantinedView, WholeQuarantinedView
from onward.api.views import Page, Place, RequestBody
from onward.errors import NotThereError
from onward.runtime.backend import Backend, QuarantineEntry
from onward.runtime.cluster.quarantine import content_of, in_base64

SHOWN = 256 * 1024
"""The largest message that is shown whole, in bytes; of a larger one, so many."""
_FARTHEST = 2**53

Number = Annotated[int, Path(ge=1, le=_FARTHEST, description="Its number in the list.")]
Numbers = Annotated[list[Annotated[int, Field(ge=1, le=_FARTHEST)]], Field(max_length=10_000)]


class ChosenGiven(RequestBody):
    """Which messages: some by their numbers in the list, or all of them."""

    numbers: Numbers = Field(default=[])
    all: bool = False


class ReleaseGiven(ChosenGiven):
    """Messages to send once more."""

    force: bool = Field(default=False, description="Also messages of runs that have ended.")


class DecidedView(BaseModel):
    """The messages that something was done about; they are no longer in quarantine."""

    items: list[QuarantinedView]


def quarantine_routes(backend: Backend) -> APIRouter:
    """Return the routes of the quarantine."""
    routes = APIRouter(tags=["operations"], route_class=StrictRoute)

    @routes.get("/quarantine", summary="List messages in quarantine")
    async def list_quarantine() -> Page[QuarantinedView]:
        """Messages that could not be handled, oldest first."""
        views = [quarantined_view(one) for one in await backend.quarantine()]
        return Page[QuarantinedView](items=views, next_cursor=None)

    @routes.get(
        "/quarantine/{number}",
        summary="Show a message in quarantine",
        response_model=WholeQuarantinedView,
    )
    async def get_quarantined(number: Number) -> Response:
        """A message that could not be handled, why not, and what it says."""
        found = await backend.quarantine()
        if number > len(found):
            there = f"it holds {len(found)}" if found else "it is empty"
            raise NotThereError(f"there is no message {number} in quarantine: {there}")
        return json_response(_whole(found[number - 1]))

    @routes.post("/quarantine:release", summary="Send messages once more")
    async def release_messages(given: ReleaseGiven) -> DecidedView:
        """Send messages to the workers as if for the first time.

        Nothing is sent when one of them belongs to a run that has ended, unless `force` is given.
        """
        done = await backend.release(_chosen(given), force=given.force)
        return DecidedView(items=[quarantined_view(one) for one in done])

    @routes.post("/quarantine:discard", summary="Throw messages away")
    async def discard_messages(given: ChosenGiven) -> DecidedView:
        """Throw messages away for good; all that are named, or none."""
        done = await backend.discard(_chosen(given))
        return DecidedView(items=[quarantined_view(one) for one in done])

    return routes


def quarantined_view(one: QuarantineEntry) -> QuarantinedView:
    """Return a message in quarantine as the API tells it."""
    return QuarantinedView(
        number=one.number,
        at=one.at,
        execution_id=one.execution_id,
        node_id=one.node_id,
        reason=one.reason,
        bytes=len(one.body),
    )


def _whole(one: QuarantineEntry) -> WholeQuarantinedView:
    shown = content_of(one.body) if len(one.body) <= SHOWN else in_base64(one.body[:SHOWN])
    return WholeQuarantinedView.model_construct(**vars(quarantined_view(one)), **shown)


def _chosen(given: ChosenGiven) -> list[int] | None:
    if given.all == bool(given.numbers):
        why = "give the numbers of messages, or all: true"
        place = Place(message=why, pointer="/numbers")
        raise RequestRefusedError(422, "INVALID_REQUEST", why, errors=[place])
    return None if given.all else given.numbers

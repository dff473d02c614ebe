"""Routes that whoever has a signed link may use: to decide, or to call back.

Looking changes nothing.
The signature is checked before anything is looked up, and requests are limited like all that
anybody may send.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
from fastapi import APIRouter, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.responses import HTMLResponse

from onward.api.approvals.page import decided_page, decision_page, refused_page
from onward.api.http.json_route import json_response
from onward.api.http.parameters import read_item
from onward.api.http.problems import RequestRefusedError, refusal_of
from onward.api.runs.views import CallbackView, DecisionGiven, DecisionView
from onward.api.views import Place
from onward.errors import MessageError, NotThereError, OnwardError, StateConflictError
from onward.kernel.json import decode
from onward.kernel.records import RunRecord
from onward.kernel.signal_waits import APPROVAL_PREFIX, read_address
from onward.kernel.timestamps import to_iso
from onward.ports.storage.run_queries import VisitQuery
from onward.runtime.backend import Backend
from onward.runtime.explain.signal_waits import Awaited
from onward.runtime.signals.sender import SignalSender
from onward.runtime.signals.signed_links import LinkError, LinkGrant, Purpose, read_link

# -- Routes that people come to from a mail: what is refused is then a page they can read.


HTML = "text/html"


class LinkRoute(APIRoute):
    """A route that tells browsers in HTML why it refuses, and programs as every other does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with pages for whoever accepts them."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except (RequestRefusedError, OnwardError, RequestValidationError) as problem:
                if HTML not in request.headers.get("accept", "").lower():
                    raise
                refused = refusal_of(problem)
            return HTMLResponse(refused_page(refused), refused.status, headers=refused.headers)

        return handle


FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
Link = Annotated[str, Path(max_length=4_096, description="The end of a signed link.")]

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": DecisionGiven.model_json_schema()},
            FORM: {"schema": DecisionGiven.model_json_schema()},
        },
    }
}


def link_routes(backend: Backend) -> APIRouter:
    """Return the routes of signed links."""
    routes = APIRouter(tags=["signals"], route_class=LinkRoute)
    desk = _Desk(backend)

    @routes.get(
        "/approvals/{link}", summary="Show what is to be decided", response_class=HTMLResponse
    )
    async def show_approval(link: Link) -> HTMLResponse:
        """A page that says what is to be decided, with a button for each answer."""
        invitation, _ = await desk.opened(link, "approval")
        awaited = await desk.undecided(invitation)
        return HTMLResponse(decision_page(invitation, awaited))

    @routes.post(
        "/approvals/{link}",
        summary="Approve or reject",
        response_model=DecisionView,
        openapi_extra=_BODY,
        responses={
            200: {
                "description": "The decision is taken.",
                "content": {"text/html": {"schema": {}}},
            }
        },
    )
    async def decide_approval(link: Link, request: Request) -> Response:
        """Decide, once: whoever has decided cannot do it again."""
        given = await _decision(request)
        decision = await desk.decide(link, given)
        if FORM in request.headers.get("content-type", ""):
            return HTMLResponse(decided_page(decision))
        return json_response(decision)

    @routes.post(
        "/callbacks/{link}",
        status_code=202,
        summary="Resume a wait by a signed link",
        response_model=CallbackView,
        openapi_extra={"requestBody": {"content": {JSON: {"schema": {}}}}},
    )
    async def call_back(link: Link, request: Request) -> Response:
        """Send the signal that the link is for; the body, which is JSON, is what it brings.

        A repeated call is the same signal.
        """
        invitation, run = await desk.opened(link, "callback")
        body = await request.body()
        value = _read(body) if body else None
        await desk.signaller.signal(run, invitation.address, invitation.person, value, "callback")
        name, _ = read_address(invitation.address)
        return json_response(CallbackView(execution_id=run.execution_id, signal=name), 202)

    return routes


class _Desk:
    """Reads links, and does what they allow."""

    def __init__(self, backend: Backend) -> None:
        self._at = backend
        self.signaller = SignalSender(backend)

    async def opened(self, link: str, purpose: Purpose) -> tuple[LinkGrant, RunRecord]:
        """Return what a link allows, and the run that it is about."""
        try:
            invitation = read_link(self._at.signer, link, purpose, self._at.clock.now_ms())
        except LinkError as problem:
            status = 410 if problem.code == "LINK_EXPIRED" else 403
            raise RequestRefusedError(status, problem.code, str(problem)) from None
        run = await self._at.archive.run(invitation.execution_id)
        if run is None:
            raise NotThereError("the run that this link is about is not known any more")
        return invitation, run

    async def undecided(self, invitation: LinkGrant) -> Awaited:
        """Return the wait that a person may still decide about; refused when there is none.

        A link that the run itself has handed out may be used before the run has come to the wait.
        """
        if await self._decided(invitation):
            raise _decided_already(invitation)
        found = await self._at.explain(invitation.execution_id)
        name, key = read_address(invitation.address)
        for wait in found.waits if found is not None else ():
            awaited = wait.awaited
            if awaited is None or (f"{awaited.kind}:{awaited.name}", awaited.key) != (name, key):
                continue
            if invitation.person in awaited.people:
                return awaited
            break
        else:
            node = name.removeprefix(APPROVAL_PREFIX)
            if await self._ahead(invitation, node, key):
                return Awaited(kind="approval", name=node, key=key, people=(invitation.person,))
        raise StateConflictError(
            "there is nothing to decide any more: it was decided, it expired, or the run ended",
            "NOTHING_TO_DECIDE",
        )

    async def _decided(self, invitation: LinkGrant) -> bool:
        about = (invitation.execution_id, invitation.address, invitation.person)
        return await self._at.signals.signal(*about) is not None

    async def _ahead(self, invitation: LinkGrant, node: str, key: str) -> bool:
        """Return whether a run that goes on is not known to be past a node."""
        archive, run_id = self._at.archive, invitation.execution_id
        run = await archive.run(run_id)
        if run is None or run.ended_ms is not None:
            return False
        within = read_item(key)
        for status in ("success", "failed"):
            query = VisitQuery(
                execution_id=run_id, limit=1, node_id=node, status=status, within=within
            )
            if await archive.visits(query):
                return False
        return True

    async def decide(self, link: str, given: DecisionGiven) -> DecisionView:
        """Take a decision, once."""
        invitation, run = await self.opened(link, "approval")
        decision = DecisionView(
            by=invitation.person,
            decision=given.decision,
            comment=given.comment,
            at=to_iso(self._at.clock.now_ms()),
        )
        if not await self._decided(invitation):
            await self.undecided(invitation)
        fresh = await self.signaller.signal(
            run, invitation.address, invitation.person, decision.model_dump(), invitation.person
        )
        if not fresh:
            raise _decided_already(invitation)
        return decision


def _decided_already(invitation: LinkGrant) -> StateConflictError:
    return StateConflictError(
        f"{invitation.person} has decided already, and a decision stands", "ALREADY_DECIDED"
    )


async def _decision(request: Request) -> DecisionGiven:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == FORM:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=8)
        value: Any = {name: values[-1] for name, values in fields.items()}
    elif kind == JSON:
        value = _read(body)
    else:
        raise RequestRefusedError(415, "NOT_JSON", f"send the decision as {JSON} or {FORM}")
    try:
        return DecisionGiven.model_validate(value)
    except ValidationError as problem:
        places = [
            Place(message=error["msg"], pointer="".join(f"/{part}" for part in error["loc"]))
            for error in problem.errors()
        ]
        message = f"the decision is not as it should be: {places[0].message}"
        raise RequestRefusedError(422, "INVALID_REQUEST", message, errors=places) from None


def _read(body: bytes) -> Any:
    try:
        return decode(body)
    except (msgspec.MsgspecError, MessageError, ValueError, RecursionError) as problem:
        raise RequestRefusedError(
            400, "MALFORMED_JSON", f"the body cannot be read: {problem}"
        ) from None

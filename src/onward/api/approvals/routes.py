"""Routes of signed links: their holder may decide an approval, or resume a wait.

To GET a link changes nothing. The signature is checked before anything is looked up, and the
rate of requests is limited. People come here from a mail, so browsers are refused in HTML.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta

from onward.api.approvals.page import decided_page, decision_page
from onward.api.routing.parameters import read_item
from onward.api.routing.refusals import RequestRefusedError, invalid_body, read_json
from onward.api.routing.routes import Call, Reply, Routes, json_reply
from onward.api.runs.views import CallbackView, DecisionGiven, DecisionView
from onward.errors import NotThereError, StateConflictError
from onward.kernel.records import RunRecord
from onward.kernel.signal_waits import APPROVAL_PREFIX, read_address
from onward.kernel.timestamps import to_iso
from onward.ports.storage.run_queries import VisitQuery
from onward.runtime.backend import Backend
from onward.runtime.explain.signal_waits import Awaited
from onward.runtime.signals.sender import SignalSender
from onward.runtime.signals.signed_links import LinkError, LinkGrant, Purpose, read_link

HTML = "text/html"
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
Link = Annotated[str, Meta(max_length=4_096, description="The end of a signed link.")]

_BODY = {
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": DecisionGiven}, FORM: {"schema": DecisionGiven}},
    }
}


def link_routes(backend: Backend) -> Routes:
    """Return the routes of signed links."""
    routes = Routes(tags=["signals"], refuses_in_html=True)
    links = _SignedLinks(backend)

    @routes.get("/approvals/{link}", summary="Show what is to be decided", carries="html")
    async def show_approval(link: Link) -> Reply:
        """A page that says what is to be decided, with a button for each answer."""
        grant, _ = await links.open(link, "approval")
        return _page(decision_page(grant, await links.undecided(grant)))

    @routes.post(
        "/approvals/{link}",
        summary="Approve or reject",
        view=DecisionView,
        openapi=_BODY,
        responses={
            200: {"description": "The decision is taken.", "content": {HTML: {"schema": {}}}}
        },
    )
    async def decide_approval(link: Link, call: Call) -> Reply:
        """Decide, once: whoever has decided cannot do it again."""
        decision = await links.decide(link, _read_decision(call))
        return _page(decided_page(decision)) if call.content_type == FORM else json_reply(decision)

    @routes.post(
        "/callbacks/{link}",
        status=202,
        summary="Resume a wait by a signed link",
        view=CallbackView,
        openapi={"requestBody": {"content": {JSON: {"schema": {}}}}},
    )
    async def call_back(link: Link, call: Call) -> Reply:
        """Send the signal that the link is for; the body, which is JSON, is what it brings.

        A repeated call is the same signal.
        """
        grant, run = await links.open(link, "callback")
        value = read_json(call.body) if call.body else None
        await links.sender.signal(run, grant.address, grant.person, value, "callback")
        name, _ = read_address(grant.address)
        return json_reply(CallbackView(execution_id=run.execution_id, signal=name))

    return routes


def _page(text: str) -> Reply:
    return Reply(text.encode(), media_type=HTML)


class _SignedLinks:
    """Reads links, and does what they allow."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.sender = SignalSender(backend)

    async def open(self, link: str, purpose: Purpose) -> tuple[LinkGrant, RunRecord]:
        """Return what a link allows, and the run that it is about."""
        backend = self._backend
        try:
            grant = read_link(backend.signer, link, purpose, backend.clock.now_ms())
        except LinkError as problem:
            status = 410 if problem.code == "LINK_EXPIRED" else 403
            raise RequestRefusedError(status, problem.code, str(problem)) from None
        run = await backend.archive.run(grant.execution_id)
        if run is None:
            raise NotThereError("the run that this link is about is not known any more")
        return grant, run

    async def undecided(self, grant: LinkGrant) -> Awaited:
        """Return the wait that a person may still decide about; refused when there is none.

        A link that the run itself has handed out may be used before the run reaches the wait.
        """
        if await self._has_decided(grant):
            raise _decided_already(grant)
        found = await self._backend.explain(grant.execution_id)
        name, key = read_address(grant.address)
        for wait in found.waits if found is not None else ():
            awaited = wait.awaited
            if awaited is None or (f"{awaited.kind}:{awaited.name}", awaited.key) != (name, key):
                continue
            if grant.person in awaited.people:
                return awaited
            break
        else:
            node = name.removeprefix(APPROVAL_PREFIX)
            if await self._is_ahead(grant, node, key):
                return Awaited(kind="approval", name=node, key=key, people=(grant.person,))
        raise StateConflictError(
            "there is nothing to decide any more: it was decided, it expired, or the run ended",
            "NOTHING_TO_DECIDE",
        )

    async def _has_decided(self, grant: LinkGrant) -> bool:
        about = (grant.execution_id, grant.address, grant.person)
        return await self._backend.signals.signal(*about) is not None

    async def _is_ahead(self, grant: LinkGrant, node: str, key: str) -> bool:
        """Return whether a run that has not ended is not known to be past a node."""
        archive, run_id = self._backend.archive, grant.execution_id
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
        grant, run = await self.open(link, "approval")
        decision = DecisionView(
            by=grant.person,
            decision=given.decision,
            comment=given.comment,
            at=to_iso(self._backend.clock.now_ms()),
        )
        if not await self._has_decided(grant):
            await self.undecided(grant)
        facts = msgspec.structs.asdict(decision)
        if not await self.sender.signal(run, grant.address, grant.person, facts, grant.person):
            raise _decided_already(grant)
        return decision


def _decided_already(grant: LinkGrant) -> StateConflictError:
    return StateConflictError(
        f"{grant.person} has decided already, and a decision stands", "ALREADY_DECIDED"
    )


def _read_decision(call: Call) -> DecisionGiven:
    value: Any
    if call.content_type == FORM:
        text = call.body.decode("utf-8", "replace")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=8)
        value = {name: values[-1] for name, values in fields.items()}
    elif call.content_type == JSON:
        value = read_json(call.body)
    else:
        raise RequestRefusedError(415, "NOT_JSON", f"send the decision as {JSON} or {FORM}")
    try:
        return msgspec.convert(value, DecisionGiven)
    except msgspec.ValidationError as problem:
        raise invalid_body(problem) from None

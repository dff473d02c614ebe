"""Routes of signals, of what a run waits for from outside, and of runs that started others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Path, Request, Response

from onward.api.http.json_route import StrictRoute, json_response, read_cursor, write_cursor
from onward.api.http.lookups import known_run
from onward.api.http.parameters import Cursor, Limit
from onward.api.runs.routes import FARTHEST, Run
from onward.api.runs.views import (
    DecisionView,
    FamilyView,
    LinkView,
    RelativeView,
    SignalGiven,
    SignalName,
    SignalView,
    WaitView,
)
from onward.api.views import Page
from onward.errors import CredentialError, NotThereError
from onward.kernel.ids import derive
from onward.kernel.signal_waits import SignalContent, address_of, read_address
from onward.kernel.timestamps import LATEST_MS, from_iso, to_iso
from onward.ports.storage.signals import ChildLink, StoredSignal
from onward.runtime.backend import Backend
from onward.runtime.explain.explain import WaitReason
from onward.runtime.explain.signal_waits import Awaited
from onward.runtime.signals.sender import SignalSender
from onward.runtime.signals.signed_links import LASTS_MS, LinkGrant, Purpose, write_link

CARRIED = 64 * 1024
"""A payload of at most this many bytes is told with its signal."""

Sign = Callable[[Purpose, str, str], str]
"""Makes a link for a purpose, an address and a person."""

_sent = msgspec.json.Decoder(SignalContent)


def signal_routes(backend: Backend) -> APIRouter:
    """Return the routes of signals, waits and families."""
    routes = APIRouter(prefix="/runs", tags=["signals"], route_class=StrictRoute)
    _add_sending(routes, backend)
    _add_waits(routes, backend)
    _add_family(routes, backend)
    return routes


def _add_sending(routes: APIRouter, backend: Backend) -> None:
    signaller = SignalSender(backend)

    @routes.post(
        "/{execution_id}/signals/{signal}",
        status_code=202,
        summary="Send a signal to a run",
        response_model=SignalView,
        responses={200: {"model": SignalView, "description": "It was sent before, with this key."}},
    )
    async def send_signal(
        execution_id: Run,
        signal: Annotated[SignalName, Path(description="The name of the signal.")],
        given: SignalGiven,
        idempotency_key: Annotated[
            str | None,
            Header(
                min_length=1,
                max_length=255,
                description="A repeated request with the same key is the same signal.",
            ),
        ] = None,
    ) -> Response:
        """Let a wait for the signal go on; a signal that nobody waits for yet is kept."""
        run = await known_run(backend, execution_id)
        address = address_of(signal, given.key)
        signal_id = idempotency_key or backend.chance.publish_id()
        fresh = await signaller.signal(run, address, signal_id, given.payload, "api")
        kept = await backend.signals.signal(execution_id, address, signal_id)
        if kept is None:
            raise NotThereError(f"signal {signal} of {execution_id} is gone")
        return json_response(_signal_view(kept), 202 if fresh else 200)

    @routes.get(
        "/{execution_id}/signals", summary="List signals of a run", response_model=Page[SignalView]
    )
    async def list_signals(execution_id: Run, limit: Limit = 50, cursor: Cursor = None) -> Response:
        """Signals that were sent to a run, in the order they came."""
        await known_run(backend, execution_id)
        (after,) = read_cursor(cursor, tuple[int]) or (0,)
        found = await backend.signals.signals(
            execution_id, after=min(after, FARTHEST), limit=limit + 1
        )
        more = write_cursor(found[limit - 1].place) if len(found) > limit else None
        items = [_signal_view(one) for _, one in found[:limit]]
        return json_response(Page[SignalView](items=items, next_cursor=more))


def _signal_view(kept: StoredSignal) -> SignalView:
    name, key = read_address(kept.address)
    sent = _sent.decode(kept.content)
    carried = sent.ref is None and len(kept.content) <= CARRIED
    value: Any = None
    if carried and sent.value is not msgspec.UNSET:
        value = msgspec.json.decode(sent.value)
    return SignalView.model_construct(
        execution_id=kept.execution_id,
        signal=name,
        key=key,
        signal_id=kept.signal_id,
        sent_at=to_iso(kept.sent_ms),
        sender=kept.sender,
        payload=value,
        payload_carried=carried,
    )


def _add_waits(routes: APIRouter, backend: Backend) -> None:
    @routes.get(
        "/{execution_id}/waits",
        summary="List what a run waits for from outside",
        response_model=Page[WaitView],
    )
    async def list_waits(execution_id: Run, request: Request) -> Response:
        """Waits for signals, decisions and other runs, with the signed links that end them.

        A link is good until the wait expires, for seven days at most, and once.
        """
        await known_run(backend, execution_id)
        found = await backend.explain(execution_id)
        waits = [] if found is None else [wait for wait in found.waits if wait.awaited is not None]
        base = f"{str(request.base_url).rstrip('/')}/api/v1"
        views = [_wait_view(backend, execution_id, wait, base) for wait in waits]
        return json_response(Page[WaitView](items=views, next_cursor=None))


def _wait_view(backend: Backend, execution_id: str, wait: WaitReason, base: str) -> WaitView:
    awaited = wait.awaited
    assert awaited is not None  # noqa: S101  (only such waits are told here)
    due_ms = from_iso(wait.due_at)
    expires_ms = min(due_ms, backend.clock.now_ms() + LASTS_MS)
    view = WaitView(
        kind=awaited.kind,
        node_id=wait.node,
        item=wait.item,
        signal=awaited.name if awaited.kind == "signal" else None,
        key=awaited.key if awaited.kind == "signal" else None,
        expires_at=None if due_ms >= LATEST_MS else wait.due_at,
        message=awaited.message or None,
        required=awaited.required,
        decisions=[DecisionView(**one) for one in awaited.decided],
    )

    def link(purpose: Purpose, address: str, person: str) -> str:
        invitation = LinkGrant(
            purpose=purpose,
            execution_id=execution_id,
            address=address,
            person=person,
            expires_ms=expires_ms,
        )
        return write_link(backend.signer, invitation)

    try:
        return view.model_copy(update=_links(awaited, wait, link, base, to_iso(expires_ms)))
    except CredentialError as problem:
        return view.model_copy(update={"no_links": str(problem)})


def _links(
    awaited: Awaited, wait: WaitReason, link: Sign, base: str, expires_at: str
) -> dict[str, Any]:
    match awaited.kind:
        case "event":
            return {}  # events come to all who listen: nobody is invited to one
        case "run":
            return {"execution_id": awaited.name}
        case "signal":
            address = address_of(awaited.name, awaited.key)
            # The same for every link of one wait: however many are used, it is one signal.
            callback = link("callback", address, derive(*wait.tokens, "callback"))
            return {"callback_url": f"{base}/callbacks/{callback}"}
        case "approval":
            return _approval(awaited, link, base, expires_at)


def _approval(awaited: Awaited, link: Sign, base: str, expires_at: str) -> dict[str, Any]:
    address = address_of(f"approval:{awaited.name}", awaited.key)
    return {
        "links": [
            LinkView(
                approver=person,
                url=f"{base}/approvals/{link('approval', address, person)}",
                expires_at=expires_at,
            )
            for person in awaited.people
        ],
    }


def _add_family(routes: APIRouter, backend: Backend) -> None:
    @routes.get(
        "/{execution_id}/family",
        summary="List the runs that a run started",
        response_model=FamilyView,
    )
    async def list_family(execution_id: Run, limit: Limit = 50, cursor: Cursor = None) -> Response:
        """The run that started this one, if any, and the runs that it started."""
        await known_run(backend, execution_id)
        (after,) = read_cursor(cursor, tuple[str]) or ("",)
        above = await backend.links.parents([execution_id])
        found = await backend.links.children(execution_id, after=after, limit=limit + 1)
        items = [await relative(one, one.child_id) for one in found[:limit]]
        parent = await relative(above[0], above[0].parent_id) if above else None
        more = write_cursor(found[limit - 1].child_id) if len(found) > limit else None
        return json_response(FamilyView(parent=parent, items=items, next_cursor=more))

    async def relative(link: ChildLink, execution_id: str) -> RelativeView:
        run = await backend.archive.run(execution_id)
        return RelativeView(
            execution_id=execution_id,
            node_id=link.node_id,
            waits=link.waits,
            depth=link.depth,
            status=run.status if run is not None else None,
        )

"""Routes of signals, of what a run waits for from outside, and of runs that started others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from onward.api.routing.lookups import known_run
from onward.api.routing.parameters import (
    Cursor,
    Limit,
    RunId,
    next_cursor,
    read_number_cursor,
    read_text_cursor,
)
from onward.api.routing.routes import Call, Reply, Routes, json_reply
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

INLINE_BYTES = 64 * 1024
"""A payload of at most this many bytes is in the view of its signal."""

Sign = Callable[[Purpose, str, str], str]
"""Makes a link for a purpose, an address and a person."""

_sent = msgspec.json.Decoder(SignalContent)


def signal_routes(backend: Backend) -> Routes:
    """Return the routes of signals, waits and child runs."""
    routes = Routes(prefix="/runs", tags=["signals"])
    _add_sending(routes, backend)
    _add_waits(routes, backend)
    _add_family(routes, backend)
    return routes


def _add_sending(routes: Routes, backend: Backend) -> None:
    sender = SignalSender(backend)

    @routes.post(
        "/{execution_id}/signals/{signal}",
        status=202,
        summary="Send a signal to a run",
        view=SignalView,
        responses={200: {"model": SignalView, "description": "It was sent before, with this key."}},
    )
    async def send_signal(
        execution_id: RunId,
        signal: Annotated[SignalName, Meta(description="The name of the signal.")],
        given: SignalGiven,
        idempotency_key: Annotated[
            Annotated[str, Meta(min_length=1, max_length=255)] | None,
            Meta(description="A repeated request with the same key is the same signal."),
        ] = None,
    ) -> Reply:
        """Let a wait for the signal go on; a signal that nobody waits for yet is kept."""
        run = await known_run(backend, execution_id)
        address = address_of(signal, given.key)
        signal_id = idempotency_key or backend.chance.publish_id()
        fresh = await sender.signal(run, address, signal_id, given.payload, "api")
        stored = await backend.signals.signal(execution_id, address, signal_id)
        if stored is None:
            raise NotThereError(f"signal {signal} of {execution_id} is gone")
        return json_reply(_signal_view(stored), 202 if fresh else 200)

    @routes.get("/{execution_id}/signals", summary="List signals of a run", view=Page[SignalView])
    async def list_signals(execution_id: RunId, limit: Limit = 50, cursor: Cursor = None) -> Reply:
        """Signals that were sent to a run, in the order they came."""
        await known_run(backend, execution_id)
        after = read_number_cursor(cursor)
        found = await backend.signals.signals(execution_id, after=after, limit=limit + 1)
        return json_reply(
            Page[SignalView](
                items=[_signal_view(signal) for _, signal in found[:limit]],
                next_cursor=next_cursor(found, limit, lambda placed: (placed.place,)),
            )
        )


def _signal_view(stored: StoredSignal) -> SignalView:
    name, key = read_address(stored.address)
    sent = _sent.decode(stored.content)
    carried = sent.ref is None and len(stored.content) <= INLINE_BYTES
    value: Any = None
    if carried and sent.value is not msgspec.UNSET:
        value = msgspec.json.decode(sent.value)
    return SignalView(
        execution_id=stored.execution_id,
        signal=name,
        key=key,
        signal_id=stored.signal_id,
        sent_at=to_iso(stored.sent_ms),
        sender=stored.sender,
        payload=value,
        payload_carried=carried,
    )


def _add_waits(routes: Routes, backend: Backend) -> None:
    @routes.get(
        "/{execution_id}/waits",
        summary="List what a run waits for from outside",
        view=Page[WaitView],
    )
    async def list_waits(execution_id: RunId, call: Call) -> Reply:
        """Waits for signals, decisions and other runs, with the signed links that end them.

        A link is good until the wait expires, for seven days at most, and once.
        """
        await known_run(backend, execution_id)
        found = await backend.explain(execution_id)
        waits = [] if found is None else [wait for wait in found.waits if wait.awaited is not None]
        base = f"{call.base_url}/api/v1"
        views = [_wait_view(backend, execution_id, wait, base) for wait in waits]
        return json_reply(Page[WaitView](items=views, next_cursor=None))


def _wait_view(backend: Backend, execution_id: str, wait: WaitReason, base: str) -> WaitView:
    awaited = wait.awaited
    assert awaited is not None  # noqa: S101  (only such waits are listed here)
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
        decisions=[DecisionView(**decision) for decision in awaited.decided],
    )

    def link(purpose: Purpose, address: str, person: str) -> str:
        grant = LinkGrant(
            purpose=purpose,
            execution_id=execution_id,
            address=address,
            person=person,
            expires_ms=expires_ms,
        )
        return write_link(backend.signer, grant)

    try:
        return msgspec.structs.replace(
            view, **_links(awaited, wait, link, base, to_iso(expires_ms))
        )
    except CredentialError as problem:
        return msgspec.structs.replace(view, no_links=str(problem))


def _links(
    awaited: Awaited, wait: WaitReason, link: Sign, base: str, expires_at: str
) -> dict[str, Any]:
    match awaited.kind:
        case "event":
            return {}  # an event goes to all listeners: there is no link to one
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


def _add_family(routes: Routes, backend: Backend) -> None:
    @routes.get(
        "/{execution_id}/family",
        summary="List the runs that a run started",
        view=FamilyView,
    )
    async def list_family(execution_id: RunId, limit: Limit = 50, cursor: Cursor = None) -> Reply:
        """The run that started this one, if any, and the runs that it started."""
        await known_run(backend, execution_id)
        after = read_text_cursor(cursor)
        above = await backend.links.parents([execution_id])
        found = await backend.links.children(execution_id, after=after, limit=limit + 1)
        items = [await relative(link, link.child_id) for link in found[:limit]]
        parent = await relative(above[0], above[0].parent_id) if above else None
        more = next_cursor(found, limit, lambda link: (link.child_id,))
        return json_reply(FamilyView(parent=parent, items=items, next_cursor=more))

    async def relative(link: ChildLink, execution_id: str) -> RelativeView:
        run = await backend.archive.run(execution_id)
        return RelativeView(
            execution_id=execution_id,
            node_id=link.node_id,
            waits=link.waits,
            depth=link.depth,
            status=run.status if run is not None else None,
        )

"""Routes that other systems call: webhooks of any method, and CloudEvents."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from msgspec import Meta

from onward.api.routing.refusals import RETRY_AFTER_S, RequestRefusedError
from onward.api.routing.routes import Call, Reply, Routes, json_reply
from onward.api.triggers.routes import firing_view
from onward.api.triggers.views import EventTakenView, HookView
from onward.api.views import Identifier
from onward.errors import CredentialError, NotThereError
from onward.ports.nodes.outside import OutsideError
from onward.ports.storage.triggers import Firing, Trigger, Webhook
from onward.runtime.backend import Backend
from onward.runtime.security.rate_limit import Throttle
from onward.runtime.triggers.cloud_events import BATCH, STRUCTURED, Event, read_event
from onward.runtime.triggers.events import EventTriggers
from onward.runtime.triggers.firing import Firer
from onward.runtime.triggers.secrets import TriggerSecrets
from onward.runtime.triggers.webhook_signatures import SignatureError, verify
from onward.runtime.triggers.webhooks import (
    NoAnswerError,
    WebhookReply,
    answer_of,
    reply_of,
    request_of,
)

_LOG = logging.getLogger("onward.api")
METHODS = ("get", "post", "put", "patch", "delete")

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The output of the run or of a node: whatever the workflow answers with.",
        "content": {"*/*": {"schema": {}}},
    },
    202: {"model": HookView, "description": "The run has started and goes on."},
}


def webhook_routes(backend: Backend) -> Routes:
    """Return the routes of webhooks and events."""
    routes = Routes(tags=["triggers"])
    firer = Firer(backend)
    call_webhook = _caller(backend, firer)
    for method in METHODS:
        routes.add(
            method.upper(),
            "/hooks/{path}",
            call_webhook,
            name=f"call_hook_with_{method}",
            summary=f"Call a webhook with {method.upper()}",
            description="Start a run of the webhook's workflow. Signed as Standard Webhooks are,"
            " unless the trigger takes requests without. The same `webhook-id` starts one run.",
            carries="anything",
            responses=_ANSWERS,
        )
    _add_events(routes, backend, firer)
    return routes


def _caller(backend: Backend, firer: Firer) -> Callable[[Call, str], Coroutine[Any, Any, Reply]]:
    throttle = Throttle()

    async def call_webhook(
        call: Call,
        path: Annotated[Identifier, Meta(description="The path of the webhook.")],
    ) -> Reply:
        trigger = await backend.triggers.at_path(path)
        if trigger is None or not trigger.enabled or not isinstance(trigger.settings, Webhook):
            raise NotThereError(f"there is no webhook at {path}, or it is disabled")
        settings, now_ms = trigger.settings, backend.clock.now_ms()
        body = call.body
        if len(body) > settings.max_body_bytes:
            raise RequestRefusedError(
                413,
                "BODY_TOO_LARGE",
                f"this webhook takes bodies of {settings.max_body_bytes} bytes at most",
            )
        key = _key(backend, trigger, settings, call, now_ms)
        wait_ms = throttle.take(trigger.trigger_id, settings.per_minute, now_ms)
        if wait_ms:
            raise RequestRefusedError(
                429,
                "TOO_MANY_REQUESTS",
                f"this webhook takes {settings.per_minute} requests a minute: try again later",
                headers={"retry-after": str(-(-wait_ms // 1000))},
            )
        given = request_of(
            trigger.trigger_id,
            call.method,
            path,
            call.headers.items(),
            call.query,
            body,
        )
        firing = await firer.fire(trigger, "webhook", key, given)
        return await _answered(backend, settings, firing.execution_id)

    return call_webhook


def _key(
    backend: Backend,
    trigger: Trigger,
    settings: Webhook,
    call: Call,
    now_ms: int,
) -> str:
    """Return the name of the message; refused when it is not signed as it must be."""
    if settings.signature == "none":
        given = call.headers.get("webhook-id") or call.headers.get("idempotency-key")
        return f"webhook-{(given or backend.chance.publish_id())[:256]}"
    try:
        secrets = TriggerSecrets(backend.triggers, backend.sealer).opened(trigger)
    except CredentialError as problem:  # it is about this server, so it is for the log alone
        _LOG.error("trigger %s cannot check signatures: %s", trigger.trigger_id, problem)
        raise RequestRefusedError(
            503, "UNAVAILABLE", "this webhook cannot check signatures now: try again later"
        ) from None
    try:
        message_id = verify(
            secrets,
            call.headers,
            call.body,
            now_ms=now_ms,
            tolerance_ms=settings.tolerance_ms,
        )
    except SignatureError as problem:
        raise RequestRefusedError(401, "BAD_SIGNATURE", str(problem)) from None
    return f"webhook-{message_id}"


async def _answered(backend: Backend, settings: Webhook, execution_id: str) -> Reply:
    where = {"location": f"/api/v1/runs/{execution_id}"}
    if settings.respond != "accepted":
        node = settings.node_id if settings.respond == "node" else None
        try:
            async with asyncio.timeout(settings.timeout_ms / 1000):
                return _response(reply_of(await answer_of(backend, execution_id, node)), where)
        except TimeoutError:
            pass
        except NoAnswerError as problem:
            raise RequestRefusedError(502, problem.code, str(problem), headers=where) from None
    return json_reply(HookView(execution_id=execution_id, status="running"), 202, where)


def _response(reply: WebhookReply, where: dict[str, str]) -> Reply:
    return Reply(reply.body, reply.status, {**where, **reply.headers}, media_type=None)


def _add_events(routes: Routes, backend: Backend, firer: Firer) -> None:
    async def fire(trigger: Trigger, key: str, given: Any) -> Firing:
        return await firer.fire(trigger, "event", key, given)

    triggers = EventTriggers(backend.triggers, backend.gatherings, backend.clock, fire)
    event_schema = {"type": "object", "required": ["specversion", "id", "source", "type"]}

    @routes.post(
        "/events",
        status=202,
        summary="Take a CloudEvent",
        view=EventTakenView,
        openapi={
            "requestBody": {
                "description": "One event: structured, or its data with `ce-*` headers.",
                "content": {
                    STRUCTURED: {"schema": event_schema},
                    "application/json": {"schema": {}},
                },
            }
        },
    )
    async def take_event(call: Call) -> Reply:
        """Hand it to every run that listens to it, and fire every trigger that looks for it.

        Each once for a source and id, so an event that was not answered with 202 is sent again.
        """
        if call.content_type == BATCH:
            raise RequestRefusedError(
                415, "NO_BATCHES", "batches are not taken: send each event alone"
            )
        headers = dict(call.headers.items())
        event = read_event(headers, call.body)
        listens = await _publish_to_runs(backend, event)
        taken = await triggers.take(event)
        fired = [firing_view(firing) for firing in taken.fired]
        view = EventTakenView(fired=fired, listens=listens, failed=taken.failed)
        return json_reply(view)


async def _publish_to_runs(backend: Backend, event: Event) -> int:
    try:
        return await backend.hub.publish(event)
    except OutsideError as problem:
        raise RequestRefusedError(
            503,
            "UNAVAILABLE",
            f"the event did not reach every run that listens, so send it again: {problem}",
            headers={"retry-after": RETRY_AFTER_S},
        ) from None

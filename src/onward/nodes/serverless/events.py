"""Nodes without a protocol of their own: `emit`, the subscription of a run, its authorization."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import authorization_of
from onward.nodes.failures import RefusedError, failure_of
from onward.ports.nodes.events import Subscription
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError

LONGEST_ATTRIBUTE = 1024
"""Characters of an attribute of an event."""
_REQUIRED = ("id", "source", "type")
_TEXTS = ("id", "source", "type", "time", "subject", "datacontenttype", "dataschema")


class EmitEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Publish a CloudEvent; the output is the event."""

    event: dict[str, Any]

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Publish it. Without an id it has the idempotency key of its task."""
        attributes = {name: value for name, value in self.event.items() if value is not None}
        event = {"specversion": "1.0", "id": tools.idempotency_key, **attributes}
        wrong = _complaint(event)
        if wrong:
            return Failed(NodeError(wrong, "EVENT_INVALID"))
        if "data" in event:
            event.setdefault("datacontenttype", "application/json")
        try:
            await tools.hub.publish(event)
        except OutsideError as error:
            return failure_of(error, "the event was not published")
        return Succeeded(event)


def _complaint(event: dict[str, Any]) -> str:
    """Return why something is no event; "" if it is one."""
    if event["specversion"] != "1.0":
        return "specversion: it must be 1.0"
    for name in _TEXTS:
        value = event.get(name, "" if name in _REQUIRED else "-")
        if not isinstance(value, str) or not value or len(value) > LONGEST_ATTRIBUTE:
            return f"{name}: it must be a text of at most {LONGEST_ATTRIBUTE} characters"
    for name, value in event.items():
        if name not in (*_TEXTS, "data") and not isinstance(value, str | int | bool):
            return f"{name}: an extension is a text, a whole number or a boolean"
    return ""


class Subscribe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Subscribe a run to the events of its listens, before its first task."""

    subscriptions: tuple[Subscription, ...]

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Subscribe."""
        try:
            await tools.hub.subscribe(self.subscriptions)
        except OutsideError as error:
            return failure_of(error, "the run cannot listen to events")
        return Succeeded(None)


class Authorize(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find the Authorization header of a policy, for arguments that read it. Never recorded."""

    authentication: Authentication

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Return the scheme and the parameter."""
        try:
            header = await authorization_of(tools, self.authentication)
        except (RefusedError, OutsideError) as problem:
            return failure_of(problem)
        scheme, _, parameter = header.partition(" ")
        return Succeeded({"scheme": scheme, "parameter": parameter})

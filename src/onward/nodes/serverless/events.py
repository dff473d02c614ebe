"""`emit` of the Serverless Workflow DSL, and how a run says what it listens to."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import authorization
from onward.nodes.failures import Refused
from onward.ports.nodes.events import Subscription
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError

LONGEST = 1024
"""Characters of an attribute that events are told apart by."""
_NEEDED = ("id", "source", "type")
_TEXTS = ("id", "source", "type", "time", "subject", "datacontenttype", "dataschema")


class EmitEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Publish a CloudEvent; the output is the event."""

    event: dict[str, Any]

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Publish it. Without an id it has that of the work it is part of."""
        given = {name: one for name, one in self.event.items() if one is not None}
        event = {"specversion": "1.0", "id": tools.idempotency_key, **given}
        wrong = _complaint(event)
        if wrong:
            return Failed(NodeError(wrong, "EVENT_INVALID"))
        if "data" in event:
            event.setdefault("datacontenttype", "application/json")
        try:
            await tools.hub.publish(event)
        except OutsideError as error:
            return Failed(NodeError(f"the event was not published: {error}", error.code))
        return Succeeded(event)


def _complaint(event: dict[str, Any]) -> str:
    """Return why something is no event; "" if it is one."""
    if event["specversion"] != "1.0":
        return "specversion: it must be 1.0"
    for name in _TEXTS:
        value = event.get(name, "" if name in _NEEDED else "-")
        if not isinstance(value, str) or not value or len(value) > LONGEST:
            return f"{name}: it must be a text of at most {LONGEST} characters"
    for name, value in event.items():
        if name not in (*_TEXTS, "data") and not isinstance(value, str | int | bool):
            return f"{name}: an extension is a text, a whole number or a boolean"
    return ""


class Subscribe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Say what a run listens to. Part of every run that does, before its first task."""

    subscriptions: tuple[Subscription, ...]

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Subscribe."""
        try:
            await tools.hub.subscribe(self.subscriptions)
        except OutsideError as error:
            return Failed(NodeError(f"the run cannot listen to events: {error}", error.code))
        return Succeeded(None)


# -- What a call will show of who calls, for arguments that want to pass it on.


class Authorize(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find out what a policy puts into an Authorization header. Its output is never recorded."""

    authentication: Authentication

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Return the scheme and the parameter."""
        try:
            header = await authorization(tools, self.authentication)
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            return Failed(NodeError(str(error), error.code))
        scheme, _, parameter = header.partition(" ")
        return Succeeded({"scheme": scheme, "parameter": parameter})

"""The hub of events: a published event becomes a signal to every run that listens to it, and fires
the triggers that look for it.

Each signal is stored before it is sent, like every other, and has an id derived from the event. So
an event may be published again after a crash, and is still received once by each listen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from onward.errors import MessageError, StorageError
from onward.kernel.context import Payload
from onward.kernel.ids import derive
from onward.kernel.json import encode
from onward.kernel.messages import Token, decode_token
from onward.kernel.signal_waits import content_of, signal_token
from onward.ports.clock import Clock
from onward.ports.cluster.bus import BusError
from onward.ports.nodes.events import EventHub, Listeners, Subscription
from onward.ports.nodes.outside import Http, HttpRequest, OutsideError
from onward.ports.storage.signals import SignalLog, StoredSignal
from onward.runtime.triggers.events import EventTriggers

SENDER = "event"
SINK_TIMEOUT_S = 10.0

Send = Callable[[Token, Sequence[Payload]], Awaitable[object]]
"""Sends a token to its run, with its payloads."""


class LocalEventHub:
    """Delivers events to runs, and to a sink if there is one."""

    def __init__(
        self,
        listeners: Listeners,
        signals: SignalLog,
        send: Send,
        clock: Clock,
        sink: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None,
        triggers: EventTriggers | None = None,
    ) -> None:
        """`triggers` are fired by what is published; `sink` receives it as well."""
        self._listeners = listeners
        self._signals = signals
        self._send = send
        self._clock = clock
        self._sink = sink
        self._triggers = triggers

    async def subscribe(self, subscriptions: Sequence[Subscription]) -> None:
        try:
            await self._listeners.add(subscriptions)
        except StorageError as problem:
            raise OutsideError(str(problem), "EVENT_STORE") from None

    async def publish(self, event: Mapping[str, Any]) -> int:
        try:
            value = encode(event)
        except MessageError as problem:
            raise OutsideError(f"it cannot be sent: {problem}", "EVENT_INVALID") from None
        now_ms = self._clock.now_ms()
        sent, payload = content_of(value, now_ms)
        content = msgspec.json.encode(sent)
        signal_id = derive(event["source"], event["id"])
        payloads = [] if payload is None else [payload]
        listens = 0
        try:
            async for page in self._listeners.of(event["type"]):
                for listener in page:
                    first = decode_token(listener.token)
                    token = signal_token(first, listener.address, signal_id, sent)
                    signal = StoredSignal(
                        execution_id=listener.execution_id,
                        address=listener.address,
                        signal_id=signal_id,
                        content=content,
                        sender=SENDER,
                        sent_ms=now_ms,
                    )
                    await self._signals.keep(signal)
                    await self._send(token, payloads)
                listens += len(page)
            if self._triggers is not None:
                await self._triggers.take(dict(event))
        except (StorageError, BusError) as problem:
            raise OutsideError(str(problem), "EVENT_STORE") from None
        if self._sink is not None:
            await self._sink(event)
        return listens


class HttpSink:
    """Posts every event to a URL, in the structured mode of CloudEvents."""

    def __init__(self, http: Http, url: str) -> None:
        self._http = http
        self._url = url

    async def __call__(self, event: Mapping[str, Any]) -> None:
        """Post an event; OutsideError unless it was taken."""
        answer = await self._http.send(
            HttpRequest(
                method="POST",
                url=self._url,
                headers={"content-type": "application/cloudevents+json"},
                body=bytes(encode(event)),
                timeout_s=SINK_TIMEOUT_S,
            )
        )
        if not 200 <= answer.status < 300:
            raise OutsideError(f"the sink answered {answer.status}", "EVENT_SINK")


_conforms: type[EventHub] = LocalEventHub

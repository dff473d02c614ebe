"""A proxy in front of a service: it can cut connections, or let one direction go silent."""

from __future__ import annotations

import asyncio
import random
from typing import Literal, cast

Direction = Literal["to the service", "from the service"]


class _End(asyncio.Protocol):
    """One end of a proxied connection: what it reads, the other end writes."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _End | None = None
        self._early: list[bytes] = []
        """What came before the other end was there."""
        self._held: set[str] = set()
        """Why nothing is read from here now."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)

    def join(self, other: _End) -> None:
        """Pass on to `other` what came and comes."""
        self.other = other
        early, self._early = self._early, []
        for data in early:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on."""
        if self.other is None or self.other.transport is None:
            self._early.append(data)
        else:
            self.other.transport.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        """Close the other end too, after what it still has to write."""
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()

    def pause_writing(self) -> None:
        """This end is full: read no more from the other."""
        if self.other is not None:
            self.other.hold("full")

    def resume_writing(self) -> None:
        """There is room again."""
        if self.other is not None:
            self.other.release("full")

    def hold(self, why: str) -> None:
        """Read nothing from here until it is released for every reason it is held for."""
        self._held.add(why)
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def release(self, why: str) -> None:
        """Read on, unless it is held for another reason."""
        self._held.discard(why)
        if not self._held and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def abort(self) -> None:
        """Reset the connection."""
        if self.transport is not None:
            self.transport.abort()


class Proxy:
    """Passes everything on to a port of this machine, until told otherwise."""

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self._target_port = target_port
        self._pairs: dict[_End, _End] = {}
        self._joining: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen; `port` says where."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Reset every connection and listen no more."""
        if self._server is not None:
            self._server.close()
        for task in self._joining:
            task.cancel()
        self.cut_all()
        await asyncio.sleep(0)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._living())

    def cut_all(self) -> int:
        """Reset every connection; return how many there were."""
        pairs = self._living()
        for pair in pairs:
            _cut(pair)
        return len(pairs)

    def cut_one(self, dice: random.Random) -> int:
        """Reset one connection; return how many there were to reset."""
        pairs = self._living()
        if pairs:
            _cut(dice.choice(pairs))
        return min(1, len(pairs))

    async def stall(self, direction: Direction, seconds: float, *, then_cut: bool) -> int:
        """Let nothing through in one direction of today's connections for a while.

        Neither side is told. Then the bytes go on their way, late; or the connections are cut.
        """
        pairs = self._living()
        held = [client if direction == "to the service" else service for client, service in pairs]
        for end in held:
            end.hold("stalled")
        await asyncio.sleep(seconds)
        for end in held:
            end.release("stalled")
        if then_cut:
            for pair in pairs:
                _cut(pair)
        return len(pairs)

    def _accept(self) -> _End:
        client = _End()
        task = asyncio.get_running_loop().create_task(self._join(client))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)
        return client

    async def _join(self, client: _End) -> None:
        loop = asyncio.get_running_loop()
        service = _End()
        service.join(client)
        try:
            await loop.create_connection(lambda: service, "127.0.0.1", self._target_port)
        except OSError:
            client.abort()
            return
        client.join(service)
        self._pairs[client] = service

    def _living(self) -> list[tuple[_End, _End]]:
        gone = [
            client
            for client, service in self._pairs.items()
            if any(one.transport is None or one.transport.is_closing() for one in (client, service))
        ]
        for client in gone:
            del self._pairs[client]
        return list(self._pairs.items())


def _cut(pair: tuple[_End, _End]) -> None:
    for end in pair:
        end.abort()

"""A connection that is replaced when it is lost."""

from __future__ import annotations

import asyncio

from onward.adapters.rabbitmq.address import CONNECT_TIMEOUT_S, Address, unreachable
from onward.adapters.rabbitmq.amqp import Connection, connect
from onward.adapters.rabbitmq.topology import check_version
from onward.ports.cluster.bus import BusError
from onward.ports.nodes.outside import Log

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class ReconnectingConnection:
    """Holds one connection to the broker, and replaces it when it is lost, until it is closed."""

    def __init__(self, address: Address, purpose: str, log: Log | None) -> None:
        self.address = address
        self.trouble = "it was not opened"
        """Why there is no connection, for as long as there is none."""
        self.reconnects = 0
        """How often a lost connection was replaced."""
        self._purpose = purpose
        self._log = log
        self._connection: Connection | None = None
        self._changed = asyncio.Event()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._supervisor: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def unusable(self) -> str | None:
        """Why nothing can be sent or consumed now; None when it can, or is not in use."""
        if self._supervisor is None:
            return None
        if self._connection is None or self._connection.lost.done():
            return self.trouble
        return "it takes no messages: memory or disk alarm" if self.blocked else None

    @property
    def blocked(self) -> bool:
        """Whether the broker has said that it takes no messages now."""
        return not self._flowing.is_set()

    async def unblocked(self) -> None:
        """Return when the broker takes messages, or the connection that it blocked is gone."""
        await self._flowing.wait()

    async def open(self) -> None:
        """Connect, or raise BusError with the reason; from now on the connection is maintained."""
        self._adopt(await self._connect())
        self.start()

    def start(self) -> None:
        """Keep a connection up from now on, without waiting for the first."""
        if self._supervisor is None and not self._closing:
            self._supervisor = asyncio.create_task(self._supervise())

    async def connection(self) -> Connection | None:
        """Return an open connection, waiting until there is one; None once this is closed."""
        while not self._closing:
            if self._connection is not None and not self._connection.lost.done():
                return self._connection
            self._changed.clear()
            await self._changed.wait()
        return None

    async def close(self) -> None:
        """Disconnect and stay so; callers that wait for a connection get None."""
        self._closing = True
        self._changed.set()
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.wait([self._supervisor])
        if self._connection is not None:
            await self._connection.close()

    async def _supervise(self) -> None:
        pause_s = _FIRST_PAUSE_S
        had_one = False
        while True:
            if self._connection is not None:
                had_one = True
                self.trouble = await asyncio.shield(self._connection.lost)
                self._connection = None
                self._flowing.set()
                self._write("warning", f"RabbitMQ: lost the connection: {self.trouble}")
            try:
                self._adopt(await self._connect())
            except BusError as problem:
                if str(problem) != self.trouble:
                    self.trouble = str(problem)
                    self._write("warning", f"{problem} (trying again)")
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                pause_s = _FIRST_PAUSE_S
                self.reconnects += had_one
                self._write("info", f"RabbitMQ: connected to {self.address}")

    async def _connect(self) -> Connection:
        try:
            connection = await connect(self.address.parameters, CONNECT_TIMEOUT_S)
        except Exception as problem:  # the client library has no common root for these
            raise unreachable(self.address, problem) from None
        try:
            check_version(connection.server_version)
        except BusError:
            await connection.close()
            raise
        return connection

    def _adopt(self, connection: Connection) -> None:
        connection.on_blocked = self._on_blocked
        self._connection = connection
        self._changed.set()

    def _on_blocked(self, blocked: bool) -> None:
        if blocked:
            self._flowing.clear()
            self._write("warning", "RabbitMQ takes no messages: memory or disk alarm")
        else:
            self._flowing.set()
            self._write("info", "RabbitMQ takes messages again")

    def _write(self, level: str, message: str) -> None:
        if self._log is not None:
            self._log.write(level, message, connection=self._purpose)

"""Looking for a text in everything that a cluster keeps, sends and logs."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio.connection import AbstractConnection

from conformance.traffic import Traffic
from onward.adapters.postgres.store import PostgresStore
from support.harness import ListLog

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
_HOLDS = 'SELECT count(*) FROM "{}" AS one WHERE one::text LIKE ANY($1)'


class Commands:
    """What Redis was told."""

    def __init__(self) -> None:
        self.packed: list[bytes] = []

    def listen(self, patch: pytest.MonkeyPatch) -> None:
        """Hear every command of this process from now on."""
        send = AbstractConnection.send_packed_command

        async def noted(self_: Any, command: Any, *given: Any, **named: Any) -> Any:
            self.packed.append(command if isinstance(command, bytes) else b"".join(command))
            return await send(self_, command, *given, **named)

        patch.setattr(AbstractConnection, "send_packed_command", noted)


class Writings:
    """Everything that is written while a scenario is played, and all that PostgreSQL keeps."""

    def __init__(
        self, store: PostgresStore, traffic: Traffic, commands: Commands, log: ListLog
    ) -> None:
        self._store = store
        self._traffic = traffic
        self._commands = commands
        self._log = log

    def forget(self) -> None:
        """Begin again."""
        self._traffic.bodies.clear()
        self._commands.packed.clear()
        self._log.lines.clear()

    async def places_of(self, text: str) -> list[str]:
        """Return where a text is."""
        data = text.encode()
        places = await self._tables_with(text)
        places += ["RabbitMQ"] * any(data in body for body in self._traffic.bodies)
        places += ["Redis"] * any(data in command for command in self._commands.packed)
        return places + ["log"] * (text in repr(self._log.lines))

    async def _tables_with(self, text: str) -> list[str]:
        # Bytes are shown as digits.
        wanted = [f"%{text}%", f"%{text.encode().hex()}%"]
        async with self._store.connection() as db:
            tables = [row["tablename"] for row in await db.fetch(_TABLES)]
            return [table for table in tables if await db.fetchval(_HOLDS.format(table), wanted)]

"""A service that answers slowly and counts how many items are on their way at the same time.

An item is on its way from its first request until an answer to it has been sent in full. When the
worker that asked dies, the item stays on its way: it will be asked for again.
"""

from __future__ import annotations

import asyncio
from typing import Any

from support.documents import TRIGGER, node, transform, workflow


class StandIn:
    """Serves `/ITEM` on loopback while its context lasts."""

    def __init__(self, *, hold_s: float) -> None:
        self._hold_s = hold_s
        self._under_way: set[str] = set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.most = 0
        """How many different items were under way at once, at most."""
        self.requests = 0
        self.answered = 0

    async def __aenter__(self) -> StandIn:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        assert self._server is not None
        self._server.close()
        for writer in tuple(self._writers):
            writer.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def document(self, limit: int) -> dict[str, Any]:
        """Return a split of `$trigger.n` items, each a request to this service."""
        url = f"http://127.0.0.1:{self.port}/{{{{ $item }}}}"
        return workflow(
            TRIGGER,
            node("each", "split", input_array="{{ [range($trigger.n)] }}", max_concurrency=limit),
            node("ask", "http", url=url, raise_on_status=["4xx", "5xx"]),
            node("all", "aggregator", collect="$ask.status"),
            transform("check", "[$all[] | select(. == 200)] | length"),
            "start -> each -> ask -> all -> check",
            workflow_id="asking",
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        task.add_done_callback(self._tasks.discard)
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                item = request.split(b" ", 2)[1].decode()
                self.requests += 1
                self._under_way.add(item)
                self.most = max(self.most, len(self._under_way))
                await asyncio.sleep(self._hold_s)
                if reader.at_eof():
                    return  # whoever asked is gone: the item stays under way
                # Before it is sent: whoever reads it may start the next item at once.
                self._under_way.discard(item)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                await writer.drain()
                self.answered += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

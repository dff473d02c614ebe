"""The outside world: a small HTTP server that counts what was asked of it, by idempotency key."""

from __future__ import annotations

import asyncio
from collections import Counter

ANSWER = b'{"done":true}'
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n"


class StandIn:
    """Answers every request, and remembers each: path `/RUN/VISIT` -> key -> how often."""

    def __init__(self) -> None:
        self.asked: dict[str, dict[str, Counter[str]]] = {}
        """Run -> visit -> idempotency key -> requests."""
        self.url = ""
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen; `url` says where."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
                await reader.readexactly(int(fields.get("content-length", "0")))
                self._note(lines[0].split(" ")[1], fields.get("idempotency-key", ""))
                writer.write(HEAD.encode() + ANSWER)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()  # whoever asked is gone, or we are

    def _note(self, path: str, key: str) -> None:
        _, run, visit = path.split("/", 2)
        self.asked.setdefault(run, {}).setdefault(visit, Counter())[key] += 1

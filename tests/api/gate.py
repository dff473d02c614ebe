"""A server whose answers a test decides, and that counts who asked."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager


class Gate:
    """Answers 200 to every path, but 500 to those that fail; holds everything while it is shut."""

    def __init__(self):
        self.failing = set()
        self.asked = Counter()
        self.open = asyncio.Event()
        self.open.set()
        self.gone = 0
        self.port = 0

    @property
    def waiting(self):
        return sum(self.asked.values()) - self.answered - self.gone

    answered = 0

    async def _serve(self, reader, writer):
        try:
            while line := await reader.readline():
                path = line.split()[1].decode()
                while (await reader.readline()).strip():
                    pass
                self.asked[path] += 1
                await self._opened(reader)
                body = b'{"at": "%s"}' % path.encode()
                status = b"500 no" if path in self.failing else b"200 OK"
                writer.write(
                    b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                    % (status, len(body), body)
                )
                await writer.drain()
                self.answered += 1
        except ConnectionError:
            self.gone += 1
        finally:
            writer.close()

    async def _opened(self, reader):
        """Return when the gate is open; ConnectionError when the other side has left before."""
        opening = asyncio.ensure_future(self.open.wait())
        leaving = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({opening, leaving}, return_when=asyncio.FIRST_COMPLETED)
        left = leaving.done() and not opening.done()
        opening.cancel()
        leaving.cancel()
        await asyncio.gather(opening, leaving, return_exceptions=True)
        if left:
            raise ConnectionError


@asynccontextmanager
async def gate():
    """Open a server on a free port until the context is left."""
    one = Gate()
    server = await asyncio.start_server(one._serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        one.open.set()
        server.close()


def call(node, path, port, **more):
    """A node that asks the server for a path, which may be an expression."""
    return {
        "id": node,
        "type": "http",
        "parameters": {
            "url": f"http://127.0.0.1:{port}/{path}",
            "raise_on_status": ["4xx", "5xx"],
        },
        **more,
    }


def each_called(port, name="calls", **parameters):
    """A split that asks for `/item/N` of every item, and then for `/after`."""
    return {
        "id": name,
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            call("first", "first", port),
            {
                "id": "each",
                "type": "split",
                "parameters": {"input_array": "$trigger.items", **parameters},
            },
            call("ask", "item/{{ $item }}", port),
            {"id": "all", "type": "aggregator", "parameters": {"collect": "$ask.body.at"}},
            call("after", "after", port),
        ],
        "edges": [
            {"id": "e1", "src": "start", "dst": "first"},
            {"id": "e2", "src": "first", "dst": "each"},
            {"id": "e3", "src": "each", "dst": "ask"},
            {"id": "e4", "src": "ask", "dst": "all"},
            {"id": "e5", "src": "all", "dst": "after"},
        ],
    }

"""More sentences: about requests, and about services that are no plain HTTP."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from conformance.greeter import PROTO, start_greeter
from conformance.scenarios import Stage, step, value_of


@step("the last authorization should begin with: (.+)")
async def _(stage: Stage, text: str) -> None:
    found = stage.lab.services.requests[-1].headers["authorization"]
    assert found.startswith(text), found


@step("the body of ([0-9]+)(?:st|nd|rd|th) request should hold: (.+)")
async def _(stage: Stage, number: str, text: str) -> None:
    found = (stage.lab.services.requests[int(number) - 1].body or b"").decode()
    assert text in found, found


@step("a gRPC service that greets")
async def _(stage: Stage) -> None:
    server, port = await start_greeter()
    stage.closing.append(lambda: server.stop(None))
    stage.words["GRPC_PORT"] = str(port)
    stage.lab.services.answer(
        "GET",
        "http://docs/greeter.proto",
        {"body": PROTO, "headers": {"content-type": "text/plain"}},
    )


@step("a server of the Model Context Protocol is installed as ([^ ]+)")
async def _(stage: Stage, name: str) -> None:
    server = Path(__file__).with_name("mcp_server.py")
    program = " ".join(map(shlex.quote, (sys.executable, str(server))))
    stage.lab.install(name, f'exec {program} "$@"')


@step("a container engine that keeps a book")
async def _(stage: Stage) -> None:
    folder = TemporaryDirectory()

    async def close() -> None:
        folder.cleanup()

    stage.closing.append(close)
    stage.words["BOOK"] = book = f"{folder.name}/book"
    show = '[ "$1" != inspect ] || echo "the-id-of-$4"'
    stage.lab.install("docker", f'echo "$@" >> {shlex.quote(book)}; {show}')


@step("the container engine should have been told:")
async def _(stage: Stage, block: str) -> None:
    """Wait for it: some of it is told by processes that nobody waits for."""
    expected, book = value_of(block), Path(stage.words["BOOK"])
    async with asyncio.timeout(30):
        while not book.exists() or len(book.read_text().splitlines()) < len(expected):
            await asyncio.sleep(0.02)
    assert expected == book.read_text().splitlines()

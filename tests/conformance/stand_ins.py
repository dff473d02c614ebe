"""More sentences: about requests, and about services that are no plain HTTP."""

from __future__ import annotations

from conformance.greeter import PROTO, start_greeter
from conformance.scenarios import Stage, step


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

"""Deciding about messages in quarantine: all that are named, or none."""

import asyncio
import base64
import json

import pytest

from api.service import PATIENCE_S
from onward.api.operations.quarantine import SHOWN_BYTES
from onward.runtime.queues import EXECUTION

BROKEN = b'{"this": "is no message"}'
NESTED, DEEP = (b"[" * levels + b"]" * levels for levels in (490, 5_000))


async def put_aside(service, many, body=BROKEN):
    """Put messages aside that nobody can read, where the engine would, and wait for them."""
    backend = service.backend
    if backend.kind == "embedded":
        for _ in range(many):
            await backend._tables.rows(
                "INSERT INTO quarantine (execution_id, reason, body, at_ms)"
                " VALUES ($1, $2, $3, $4)",
                "run_gone",
                "it cannot be read",
                body,
                1,
            )
    else:
        for _ in range(many):
            await backend._cluster.bus.publish(EXECUTION, body)
    async with asyncio.timeout(PATIENCE_S):
        while len(found := (await service.get("/quarantine")).json()["items"]) < many:
            await asyncio.sleep(0.05)
    return found


async def test_messages_are_discarded_by_number_or_all_at_once(service):
    await put_aside(service, 3)

    some = await service.post("/quarantine:discard", {"numbers": [2]})
    left = (await service.get("/quarantine")).json()["items"]
    rest = await service.post("/quarantine:discard", {"all": True})

    assert (200, [2]) == (some.status_code, [one["number"] for one in some.json()["items"]])
    assert 2 == len(left) == len(rest.json()["items"])
    assert [] == (await service.get("/quarantine")).json()["items"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (BROKEN, {"message": {"this": "is no message"}, "base64": None}),
        (b"\xff\x00", {"message": None, "base64": "/wA="}),
        (NESTED, {"message": json.loads(NESTED), "base64": None}),
        (DEEP, {"message": None, "base64": base64.b64encode(DEEP).decode()}),
    ],
    ids=["JSON", "bytes", "nested", "nested too deep"],
)
async def test_a_message_is_shown_with_what_it_says(service, body, said):
    await put_aside(service, 1, body)

    shown = (await service.get("/quarantine/1")).json()
    other = await service.get("/quarantine/2")
    (listed,) = (await service.get("/quarantine")).json()["items"]

    assert {**listed, **said} == shown
    assert len(body) == shown["bytes"]
    assert 404 == other.status_code
    assert "there is no message 2 in quarantine: it holds 1" in other.json()["detail"]


async def test_of_a_large_message_the_beginning_is_shown(local):
    await put_aside(local, 1, b"[" + b"1," * SHOWN_BYTES + b"1]")

    shown = (await local.get("/quarantine/1")).json()

    assert (2 * SHOWN_BYTES + 3, None) == (shown["bytes"], shown["message"])
    assert b"[1,1" == base64.b64decode(shown["base64"])[:4]
    assert SHOWN_BYTES == len(base64.b64decode(shown["base64"]))


async def test_a_number_that_is_not_there_discards_nothing(service):
    await put_aside(service, 2)

    answer = await service.post("/quarantine:discard", {"numbers": [1, 7]})

    assert 422 == answer.status_code
    assert "there is no message 7 in quarantine: it holds 2" in answer.json()["detail"]
    assert 2 == len((await service.get("/quarantine")).json()["items"])


async def test_a_message_of_no_run_is_sent_once_more_on_a_cluster(service):
    await put_aside(service, 1)

    answer = await service.post("/quarantine:release", {"numbers": [1]})

    if service.backend.kind == "embedded":  # there its run has ended for good
        assert (409, "RUN_ENDED") == (answer.status_code, answer.json()["code"])
    else:
        assert (200, 1) == (answer.status_code, len(answer.json()["items"]))
        await put_aside(service, 0)  # it could still not be read, and is back


@pytest.mark.parametrize("given", [{}, {"numbers": [1], "all": True}, {"numbers": [0]}])
@pytest.mark.parametrize("verb", ["release", "discard"])
async def test_it_must_be_said_which(local, verb, given):
    answer = await local.post(f"/quarantine:{verb}", given)

    assert 422 == answer.status_code
    assert answer.json()["errors"][0]["pointer"].startswith("/numbers")

"""Cancelling a run: it ends once, as cancelled, and nothing of it is left."""

import asyncio

from api.documents import chain, waiting
from api.service import PATIENCE_S

WAITERS = 300


def many_waiting():
    """A split whose items all wait."""
    return {
        "id": "many",
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {"id": "each", "type": "split", "parameters": {"input_array": "$trigger.items"}},
            {"id": "pause", "type": "wait", "parameters": {"amount": 3600}},
            {"id": "all", "type": "aggregator"},
        ],
        "edges": [
            {"id": "e1", "src": "start", "dst": "each"},
            {"id": "e2", "src": "each", "dst": "pause"},
            {"id": "e3", "src": "pause", "dst": "all"},
        ],
    }


async def timers(service):
    return (await service.get("/timers", params={"limit": 200})).json()["items"]


async def test_a_run_that_is_cancelled_ends_once_and_leaves_nothing(service):
    run = await service.start(many_waiting(), {"items": list(range(WAITERS))})
    async with asyncio.timeout(PATIENCE_S):
        while len(await timers(service)) < 200:
            await asyncio.sleep(0.02)

    answers = await asyncio.gather(
        *(service.post(f"/runs/{run}:cancel", {"reason": "enough"}) for _ in range(4))
    )
    ended = await service.ended(run)
    events = await service.events(run)
    again = await service.post(f"/runs/{run}:cancel", {})

    assert {202, 409} >= {one.status_code for one in answers}
    assert 202 in [one.status_code for one in answers]
    assert ("cancelled", "enough", "CANCELLED") == (
        ended["status"],
        ended["error"]["message"],
        ended["error"]["code"],
    )
    assert ["cancelled"] == [one["status"] for one in events if one["type"] == "run.ended"]
    assert (409, "RUN_ENDED") == (again.status_code, again.json()["code"])
    async with asyncio.timeout(PATIENCE_S):
        while await timers(service):
            await asyncio.sleep(0.02)
    assert [run] == [
        one["execution_id"]
        for one in (await service.get("/runs", params={"status": "cancelled"})).json()["items"]
    ]


async def test_other_runs_go_on_when_one_is_cancelled(service):
    doomed = await service.start(waiting())
    await service.post(f"/runs/{doomed}:cancel", {})

    other = await service.ended(await service.start(chain(), {"name": "Ada"}))

    assert "completed" == other["status"]
    assert "cancelled" == (await service.ended(doomed))["status"]
    assert "it was cancelled" in (await service.get(f"/runs/{doomed}:explain")).json()["summary"]


async def test_a_run_that_has_ended_cannot_be_cancelled(service):
    run = await service.start(chain(), {"name": "Ada"})
    await service.ended(run)

    answer = await service.post(f"/runs/{run}:cancel", {})

    assert (409, "RUN_ENDED") == (answer.status_code, answer.json()["code"])
    assert "completed" == (await service.ended(run))["status"]


async def test_embedded_a_running_node_is_interrupted(local):
    called, gone = asyncio.Event(), asyncio.Event()

    async def never_answer(reader, writer):
        called.set()
        while await reader.read(4096):
            pass
        gone.set()
        writer.close()

    server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    document = chain()
    document["nodes"][1] = {
        "id": "greet",
        "type": "http",
        "parameters": {"url": f"http://127.0.0.1:{port}/"},
    }
    async with server, asyncio.timeout(PATIENCE_S):
        run = await local.start(document)
        await called.wait()
        await local.post(f"/runs/{run}:cancel", {})
        await gone.wait()

    assert "cancelled" == (await local.ended(run))["status"]

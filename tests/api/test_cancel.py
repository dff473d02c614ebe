"""Cancelling a run: it ends once, as cancelled, and nothing of it is left."""

import asyncio
import sqlite3
import time
from contextlib import closing

from api.documents import chain, waiting
from api.gate import call, gate
from api.service import PATIENCE_S
from onward.adapters.redis.keys import Keys
from support.harness import LIVE_TABLES

TOKENS = 1_000


def many(node):
    """A split whose items all come to a node."""
    return {
        "id": "many",
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {"id": "each", "type": "split", "parameters": {"input_array": "$trigger.items"}},
            node,
            {"id": "all", "type": "aggregator"},
        ],
        "edges": [
            {"id": "e1", "src": "start", "dst": "each"},
            {"id": "e2", "src": "each", "dst": node["id"]},
            {"id": "e3", "src": node["id"], "dst": "all"},
        ],
    }


async def waiting_tokens(service, place):
    """How many tokens of all runs wait for a timer, wherever that is kept."""
    if isinstance(place, list):
        return await service.backend.cluster.redis.zcard("scheduler:timers")
    return rows(place, "timer")


async def left_behind(service, place, run):
    """Return what is left of a run where its state was: but its tombstone, which expires."""
    if not isinstance(place, list):
        return {table: many for table in LIVE_TABLES if (many := rows(place, table))}
    redis = service.backend.cluster.redis
    found = {one.decode(): 1 async for one in redis.scan_iter("exec:*")}
    if 0 < await redis.ttl(Keys(run).done):
        del found[Keys(run).done]
    queued = {
        queue.name: queue.messages
        for queue in await service.backend.operations.queues()
        if queue.messages
    }
    timers = await redis.zcard("scheduler:timers")
    return found | queued | ({"scheduler:timers": timers} if timers else {})


def rows(folder, table):
    with closing(sqlite3.connect(folder / "onward.db")) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.02)


async def cancelled_for_good(service, place, run, record_property):
    """Cancel a run four times at once, and see that it ended once and left nothing."""
    began = time.perf_counter()
    answers = await asyncio.gather(
        *(service.post(f"/runs/{run}:cancel", {"reason": "enough"}) for _ in range(4))
    )
    ended = await service.ended(run)
    took_s = time.perf_counter() - began

    async def gone():
        return {} == await left_behind(service, place, run)

    await until(gone)
    tidy_s = time.perf_counter() - began
    print(f"{service.backend.kind}: cancelled in {took_s:.2f} s, tidy in {tidy_s:.2f} s")
    record_property("cancelled_s", round(took_s, 3))
    events = await service.events(run)
    again = await service.post(f"/runs/{run}:cancel", {})

    assert {202, 409} >= {answer.status_code for answer in answers}
    assert 202 in [answer.status_code for answer in answers]
    assert ("cancelled", "enough", "CANCELLED") == (
        ended["status"],
        ended["error"]["message"],
        ended["error"]["code"],
    )
    assert ["cancelled"] == [event["status"] for event in events if event["type"] == "run.ended"]
    assert (409, "RUN_ENDED") == (again.status_code, again.json()["code"])
    assert [run] == [
        one["execution_id"]
        for one in (await service.get("/runs", params={"status": "cancelled"})).json()["items"]
    ]


async def test_a_run_with_1000_tokens_that_wait_is_cancelled_and_leaves_nothing(
    service, place, record_property
):
    pause = {"id": "pause", "type": "wait", "parameters": {"amount": 3600}}
    run = await service.start(many(pause), {"items": list(range(TOKENS))})

    async def in_flight():
        return await waiting_tokens(service, place) == TOKENS

    await until(in_flight)

    await cancelled_for_good(service, place, run, record_property)


async def test_a_run_that_keeps_every_worker_busy_is_cancelled_and_leaves_nothing(
    service, place, record_property
):
    slots = (await service.get("/workers")).json()["items"][0]["slots"]
    async with gate() as server:
        server.open.clear()
        document = many(call("ask", "item/{{ $item }}", server.port))
        run = await service.start(document, {"items": list(range(TOKENS))})

        async def busy():
            return server.waiting == slots

        await until(busy)

        await cancelled_for_good(service, place, run, record_property)

        async def told():
            return server.gone == slots

        await until(told)

    assert slots == sum(server.asked.values())  # and none began that had not begun


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

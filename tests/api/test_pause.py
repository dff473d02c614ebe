"""Pausing a run: no node begins, those that run finish, and it goes on where it was."""

import asyncio

import pytest

from api.documents import chain, waiting
from api.gate import call, each_called, gate
from api.service import PATIENCE_S, distributed, embedded, serving


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.02)


async def test_a_paused_run_begins_nothing_and_goes_on_when_it_is_resumed(service):
    async with gate() as server:
        server.open.clear()
        run = await service.start(
            each_called(server.port, max_concurrency=3), {"items": [1, 2, 3, 4]}
        )
        await until(lambda: _asked(server, "/first"))

        paused = await service.post(f"/runs/{run}:pause")
        server.open.set()
        await until(lambda: _succeeded(service, run, "first"))
        explained = (await service.get(f"/runs/{run}:explain")).json()
        listed = (await service.get("/runs")).json()["items"][0]
        asked_then = dict(server.asked)
        resumed = await service.post(f"/runs/{run}:resume")
        ended = await service.ended(run)

    assert 202 == paused.status_code, paused.text
    assert paused.json()["paused_at"] is not None
    assert paused.json()["paused_at"] == listed["paused_at"]
    assert {"/first": 1} == asked_then
    assert "paused" in [one["kind"] for one in explained["waits"]]
    assert (202, None) == (resumed.status_code, resumed.json()["paused_at"])
    assert ("completed", None) == (ended["status"], ended["paused_at"])
    assert 6 == len(server.asked)
    assert {1} == set(server.asked.values())


async def _asked(server, path):
    return server.asked[path] > 0


async def _succeeded(service, run, node):
    visits = (await service.get(f"/runs/{run}/visits", params={"node_id": node})).json()["items"]
    return [visit for visit in visits if visit["status"] == "success"]


async def test_pausing_again_and_resuming_again_changes_nothing(service):
    run = await service.start(waiting())

    answers = [
        (await service.post(f"/runs/{run}:{verb}")).status_code
        for verb in ("resume", "pause", "pause", "resume", "resume", "pause")
    ]
    cancelled = await service.post(f"/runs/{run}:cancel", {})

    assert [202] * 6 == answers
    assert 202 == cancelled.status_code
    assert "cancelled" == (await service.ended(run))["status"]


async def test_a_run_that_has_ended_can_be_neither_paused_nor_resumed(service):
    run = await service.start(chain(), {"name": "Ada"})
    await service.ended(run)

    for verb in ("pause", "resume"):
        answer = await service.post(f"/runs/{run}:{verb}")
        assert (409, "RUN_ENDED") == (answer.status_code, answer.json()["code"])
    assert 404 == (await service.post("/runs/nobody:pause")).status_code


async def test_a_pause_outlives_every_process(place):
    opened = (lambda: distributed(*place)) if isinstance(place, list) else (lambda: embedded(place))
    async with gate() as server:
        document = chain()
        document["nodes"][1] = call("greet", "greet", server.port)
        document["nodes"].append({"id": "wait", "type": "wait", "parameters": {"amount": 1}})
        document["edges"] = [
            {"id": "e1", "src": "start", "dst": "wait"},
            {"id": "e2", "src": "wait", "dst": "greet"},
        ]
        async with opened() as backend, serving(backend) as service:
            run = await service.start(document)
            assert 202 == (await service.post(f"/runs/{run}:pause")).status_code
        await asyncio.sleep(1.2)  # the wait is over while nobody serves
        async with opened() as backend, serving(backend) as service:
            await until(lambda: _parked(service, run))
            assert (await service.get(f"/runs/{run}")).json()["paused_at"] is not None
            assert not server.asked
            await service.post(f"/runs/{run}:resume")
            ended = await service.ended(run)

    assert "completed" == ended["status"]
    assert {"/greet": 1} == dict(server.asked)


async def _parked(service, run):
    explained = (await service.get(f"/runs/{run}:explain")).json()
    texts = [one["text"] for one in explained["waits"] if one["kind"] == "paused"]
    return texts and ", and 1 of" in texts[0]


@pytest.mark.parametrize("place", ["distributed"], indirect=True)
async def test_a_run_that_is_rebuilt_stays_paused(place):
    async with distributed(*place) as backend, serving(backend) as service, gate() as server:
        document = chain()
        document["nodes"][1] = call("greet", "greet", server.port)
        server.open.clear()
        run = await service.start(document)
        await until(lambda: _asked(server, "/greet"))
        await service.post(f"/runs/{run}:pause")
        repairer = backend.cluster.repairer()
        execution = await backend.archive.run(run)

        assert "rebuilt" == await repairer.repair(execution, "for a test")
        server.open.set()
        await asyncio.sleep(0.3)

        assert (await service.get(f"/runs/{run}")).json()["ended_at"] is None
        assert {"/greet": 1} == dict(server.asked)
        await service.post(f"/runs/{run}:resume")
        assert "completed" == (await service.ended(run))["status"]

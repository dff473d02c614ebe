"""Steering runs: splits that are changed while they run, time limits, priority, many at once."""

import asyncio

import pytest

from api.documents import chain, waiting
from api.gate import call, each_called, gate
from api.service import PATIENCE_S, distributed, serving


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.02)


async def test_a_running_split_takes_another_window_and_budget(service):
    async with gate() as server:
        document = each_called(server.port, max_concurrency=1, tolerated_failures=0)
        server.failing = {"/item/1", "/item/2"}
        server.open.clear()
        run = await service.start(document, {"items": list(range(8))})
        server.open.set()
        await until(lambda: server.asked["/first"])
        server.open.clear()
        await until(lambda: server.asked["/item/0"])
        while (await service.get(f"/runs/{run}:explain")).json()["waits"] == []:
            await asyncio.sleep(0.02)

        answer = await service.post(
            f"/runs/{run}/splits/each:adjust", {"max_concurrency": 4, "tolerated_failures": 2}
        )
        server.open.set()
        ended = await service.ended(run)

    assert (200, {"split": "each", "changed": 1}) == (answer.status_code, answer.json())
    assert "completed" == ended["status"]


@pytest.mark.parametrize(
    "given",
    [{}, {"max_concurrency": 0}, {"any_failures": True, "tolerated_failures": 1}, {"item": "x"}],
)
async def test_a_change_that_makes_no_sense_is_refused(local, given):
    run = await local.start(waiting())

    answer = await local.post(f"/runs/{run}/splits/each:adjust", given)

    assert (422, "INVALID_REQUEST") == (answer.status_code, answer.json()["code"])


async def test_a_split_that_is_not_running_cannot_be_changed(service):
    run = await service.start(waiting())

    answer = await service.post(f"/runs/{run}/splits/each:adjust", {"max_concurrency": 2})

    assert (404, "NOT_FOUND") == (answer.status_code, answer.json()["code"])


async def test_a_run_beyond_its_time_limit_fails(service):
    started = await service.post("/runs", {"definition": waiting(), "timeout_ms": 100})
    run = started.json()["execution_id"]
    untimed = await service.start(waiting("other"))

    ended = await service.ended(run)

    assert started.json()["deadline_at"] is not None
    assert ("failed", "EXECUTION_TIMEOUT") == (ended["status"], ended["error"]["code"])
    assert (await service.get(f"/runs/{untimed}")).json()["ended_at"] is None


async def test_a_run_has_the_priority_it_was_given(service):
    started = await service.post(
        "/runs", {"definition": chain(), "input": {"name": "Ada"}, "priority": 3}
    )
    bad = await service.post("/runs", {"definition": chain(), "priority": 9})

    assert 3 == started.json()["priority"]
    assert "completed" == (await service.ended(started.json()["execution_id"]))["status"]
    assert 422 == bad.status_code


async def test_many_runs_are_steered_at_once_with_a_report_for_each(service):
    runs = {await service.start(waiting("many")) for _ in range(3)}
    other = await service.start(waiting("other"))

    paused = (await service.post("/runs:pause", {"filter": {"workflow_id": "many"}})).json()
    resumed = (
        await service.post("/runs:resume", {"filter": {"execution_ids": [*runs, "nobody"]}})
    ).json()
    some = (
        await service.post("/runs:cancel", {"filter": {"workflow_id": "many"}, "limit": 2})
    ).json()
    for one in some["items"]:
        await service.ended(one["execution_id"])
    rest = (await service.post("/runs:cancel", {"filter": {"workflow_id": "many"}})).json()
    for run in runs:
        assert "cancelled" == (await service.ended(run))["status"]
    again = (await service.post("/runs:retry", {"filter": {"workflow_id": "many"}})).json()

    assert (3, 0, False) == (paused["done"], paused["refused"], paused["more"])
    assert runs == {one["execution_id"] for one in paused["items"]}
    assert (3, 1) == (resumed["done"], resumed["refused"])
    assert ["NOT_FOUND"] == [one["code"] for one in resumed["items"] if not one["done"]]
    assert (2, True) == (some["done"], some["more"])
    assert (1, False) == (rest["done"], rest["more"])
    assert 3 == again["done"]
    for one in again["items"]:
        found = (await service.get(f"/runs/{one['attempt']}")).json()
        assert (one["execution_id"], "running") == (found["retry_of"], found["status"])
    assert (await service.get(f"/runs/{other}")).json()["ended_at"] is None


@pytest.mark.parametrize(
    "chosen", [{}, {"execution_ids": ["a"], "workflow_id": "b"}, {"started_after": "yesterday"}]
)
async def test_many_runs_must_be_named(local, chosen):
    answer = await local.post("/runs:cancel", {"filter": chosen})

    assert (422, "INVALID_REQUEST") == (answer.status_code, answer.json()["code"])


@pytest.mark.parametrize("place", ["distributed"], indirect=True)
async def test_on_a_cluster_running_nodes_are_told_that_their_run_has_ended(place):
    async with distributed(*place) as backend, serving(backend) as service, gate() as server:
        document = chain()
        document["nodes"][1] = call("greet", "greet", server.port)
        server.open.clear()
        run = await service.start(document)
        await until(lambda: server.asked["/greet"])

        await service.post(f"/runs/{run}:cancel", {})
        await until(lambda: server.gone)

        assert "cancelled" == (await service.ended(run))["status"]
        assert {"/greet": 1} == dict(server.asked)
        queues = await backend.operations.queues()
        assert 0 == sum(queue.messages or 0 for queue in queues if "execution" in queue.name)

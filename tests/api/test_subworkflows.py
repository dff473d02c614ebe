"""Workflows that run workflows: results, failures, links, cancelling, depth, and crashes."""

import asyncio

from api.service import PATIENCE_S, embedded, serving
from api.test_signals import graph, send, waits


def child(name="child", expression="$trigger.x * 2"):
    return graph(
        {"id": "work", "type": "transform", "parameters": {"expression": expression}}, name=name
    )


def parent(workflow="child", **parameters):
    given = {"workflow_id": workflow, "input": {"x": "$trigger.x"}, **parameters}
    return graph({"id": "sub", "type": "workflow", "parameters": given}, name="parent")


async def family(service, run, many=1):
    """Return the family of a run, once it has so many children."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await service.get(f"/runs/{run}/family")).json()
            if len(found["items"]) >= many:
                return found
            await asyncio.sleep(0.02)


async def test_the_output_of_a_child_is_the_output_of_the_node(service):
    await service.create(child())

    run = await service.start(parent(), {"x": 21})
    ended = await service.ended(run)
    below = await family(service, run)
    above = (await service.get(f"/runs/{below['items'][0]['execution_id']}/family")).json()

    assert ("completed", 42) == (ended["status"], ended["output"])
    assert [("sub", True, 1, "completed")] == [
        (one["node_id"], one["waits"], one["depth"], one["status"]) for one in below["items"]
    ]
    assert below["parent"] is None
    assert run == above["parent"]["execution_id"]


async def test_large_outputs_come_through(service):
    await service.create(child(expression='"x" * 100000'))

    ended = await service.ended(await service.start(parent(), {"x": 1}))

    assert ("completed", 100_000) == (ended["status"], ended["context"][-2]["bytes"] - 2)


async def test_each_item_of_a_split_has_a_child_of_its_own(service):
    await service.create(child())
    document = graph(
        {"id": "each", "type": "split", "parameters": {"input_array": [1, 2, 3]}},
        {
            "id": "sub",
            "type": "workflow",
            "parameters": {"workflow_id": "child", "input": {"x": "$item"}},
        },
        {"id": "all", "type": "aggregator"},
    )

    run = await service.start(document)

    assert [2, 4, 6] == (await service.ended(run))["output"]
    assert 3 == len((await family(service, run, 3))["items"])


async def test_a_version_can_be_named(service):
    made = await service.create(child())
    newer = {"definition": child(expression='"new"'), "publish": True}
    answer = await service.post("/workflows/child/versions", newer)

    old = await service.ended(await service.start(parent(version=1), {"x": 1}))
    new = await service.ended(await service.start(parent(), {"x": 1}))
    none = await service.ended(await service.start(parent(version=9), {"x": 1}))

    assert (1, True) == (made["latest_version"], answer.status_code < 300)
    assert (2, "new") == (old["output"], new["output"])
    assert ("halted", "NO_WORKFLOW") == (none["status"], none["error"]["code"])


async def test_the_failure_of_a_child_is_the_failure_of_the_node(service):
    await service.create(child(expression='error("boom")'))

    run = await service.start(parent(), {"x": 1})
    ended = await service.ended(run)
    below = await family(service, run)

    assert ("halted", "CHILD_FAILED") == (ended["status"], ended["error"]["code"])
    details = ended["error"]["details"]
    assert (below["items"][0]["execution_id"], "halted", "work") == (
        details["execution_id"],
        details["status"],
        details["node"],
    )


async def test_without_waiting_the_path_goes_on_at_once(service):
    await service.create(
        graph(
            {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go"}}, name="child"
        )
    )

    ended = await service.ended(await service.start(parent(wait=False), {"x": 1}))
    other = ended["output"]["execution_id"]
    await waits(service, other)
    await send(service, other, payload="done")

    assert "done" == (await service.ended(other))["output"]


async def test_cancelling_a_run_cancels_what_it_waits_for(service):
    await service.create(
        graph(
            {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go"}}, name="child"
        )
    )
    run = await service.start(parent(), {"x": 1})
    (wait,) = await waits(service, run)
    below = wait["execution_id"]
    explained = (await service.get(f"/runs/{run}:explain")).json()

    await service.post(f"/runs/{run}:cancel", {})

    assert "cancelled" == (await service.ended(below))["status"]
    assert ("run", f"run {below}") == (
        explained["waits"][0]["kind"],
        explained["waits"][0]["text"].partition("waits for ")[2].partition(" to end")[0],
    )


async def test_a_child_that_is_cancelled_fails_the_node(service):
    await service.create(
        graph(
            {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go"}}, name="child"
        )
    )
    run = await service.start(parent(), {"x": 1})
    (wait,) = await waits(service, run)

    await service.post(f"/runs/{wait['execution_id']}:cancel", {"reason": "enough"})
    ended = await service.ended(run)

    assert ("halted", "CHILD_FAILED") == (ended["status"], ended["error"]["code"])
    assert "enough" in ended["error"]["message"]


async def test_a_workflow_that_runs_itself_comes_to_an_end(service):
    document = graph(
        {"id": "sub", "type": "workflow", "parameters": {"workflow_id": "loop"}}, name="loop"
    )
    await service.create(document)

    ended = await service.ended(await service.start(document))

    assert ("halted", "CHILD_FAILED") == (ended["status"], ended["error"]["code"])
    assert "down to depth 16" in ended["error"]["message"]


async def test_embedded_a_parent_hears_of_a_child_that_ended_when_nobody_could_tell(tmp_path):
    """
    The process dies between the child's end and the parent's hearing of it.
    """
    async with embedded(tmp_path) as backend, serving(backend) as service:
        await service.create(
            graph(
                {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go"}},
                name="child",
            )
        )
        run = await service.start(parent(), {"x": 1})
        (wait,) = await waits(service, run)
        _deafen(backend)
        await send(service, wait["execution_id"], payload="late")
        await service.ended(wait["execution_id"])

    async with embedded(tmp_path) as backend, serving(backend) as service:
        assert "late" == (await service.ended(run))["output"]


def _deafen(backend):
    """Let nobody hear of the ends of runs any more."""
    backend.host._engine._observers.clear()

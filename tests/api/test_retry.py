"""Trying a run again: a new run that keeps what succeeded, and executes the rest."""

import asyncio
from itertools import pairwise

import pytest

from api.documents import chain, waiting
from api.gate import call, each_called, gate
from api.service import PATIENCE_S, distributed, serving
from api.test_events import event, listening, take
from api.test_events import waits as listens
from onward.errors import StorageError
from onward.runtime.cluster.repair import Repairer

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
ITEMS = 1_000
FAILED = {f"/item/{7 * k}" for k in range(1, 13)}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ONWARD_KEY", KEY)


async def retried(service, run, **given):
    answer = await service.post(f"/runs/{run}:retry", given)
    assert 201 == answer.status_code, answer.text
    assert answer.headers["location"].endswith(answer.json()["execution_id"])
    return answer.json()


async def test_retry_of_12_failed_items_of_1000_executes_exactly_those_and_what_follows(service):
    async with gate() as server:
        server.failing = set(FAILED)
        run = await service.start(each_called(server.port), {"items": list(range(ITEMS))})
        first = await service.ended(run)
        server.failing = set()
        server.asked.clear()

        attempt = await retried(service, run, split="each")
        ended = await service.ended(attempt["execution_id"])
        asked = dict(server.asked)
        listed = (
            await service.get(f"/runs/{attempt['execution_id']}/data?entry=all&limit=1000")
        ).json()
        events = await service.events(attempt["execution_id"])

    assert "completed" == first["status"]
    assert ("completed", run) == (ended["status"], ended["retry_of"])
    assert dict.fromkeys([*FAILED, "/after"], 1) == asked
    assert [f"/item/{k}" for k in range(ITEMS)] == listed["value"]
    assert 12 == attempt["repeated"]
    assert 12 == sum(
        one.get("succeeded", 0)
        for one in events
        if one["type"] == "node.items" and one["node_id"] == "ask"
    )
    assert [] == [one for one in events if one.get("node_id") == "first"]


async def test_a_run_that_halted_goes_on_from_the_node_that_failed(service):
    async with gate() as server:
        document = chain()
        document["nodes"] = [
            {"id": "start", "type": "manual_trigger"},
            call("one", "one", server.port),
            call("two", "two", server.port),
        ]
        document["edges"] = [
            {"id": "e1", "src": "start", "dst": "one"},
            {"id": "e2", "src": "one", "dst": "two"},
        ]
        server.failing = {"/two"}
        run = await service.start(document, {"name": "Ada"})
        assert "halted" == (await service.ended(run))["status"]
        still = await retried(service, run)
        assert "halted" == (await service.ended(still["execution_id"]))["status"]
        server.failing = set()

        again = await retried(service, still["execution_id"])
        ended = await service.ended(again["execution_id"])
        from_one = await retried(service, again["execution_id"], from_nodes=["one"])
        ended_too = await service.ended(from_one["execution_id"])

    assert ("completed", still["execution_id"]) == (ended["status"], ended["retry_of"])
    assert "completed" == ended_too["status"]
    assert {"/one": 2, "/two": 4} == dict(server.asked)


async def test_a_retry_may_have_another_input_and_the_latest_definition(service):
    broken = chain("mend", "$trigger.name | ascii_downcase")
    await service.create(broken)
    started = await service.post("/runs", {"workflow_id": "mend", "input": {"name": 7}})
    run = started.json()["execution_id"]
    assert "halted" == (await service.ended(run))["status"]

    given = await retried(service, run, input={"name": "ADA"})
    mended = chain("mend", "$trigger.name | tostring")
    added = await service.post("/workflows/mend/versions", {"definition": mended, "publish": True})
    latest = await retried(service, run, latest=True)

    assert added.status_code in (200, 201), added.text
    assert "ada" == (await service.ended(given["execution_id"]))["output"]
    assert "7" == (await service.ended(latest["execution_id"]))["output"]


async def test_an_attempt_that_failed_before_and_a_wait_that_ended_are_kept(service):
    async with gate() as server:
        document = each_called(server.port)
        retry = {"max_attempts": 2, "delay": 0.01}
        document["nodes"] = [
            {"id": "start", "type": "manual_trigger"},
            call("one", "one", server.port, retry=retry),
            {"id": "pause", "type": "wait", "parameters": {"amount": 1}},
            call("two", "two", server.port),
        ]
        document["edges"] = [
            {"id": "e1", "src": "start", "dst": "one"},
            {"id": "e2", "src": "one", "dst": "pause"},
            {"id": "e3", "src": "pause", "dst": "two"},
        ]
        server.failing = {"/two"}
        run = await service.start(document)
        assert "halted" == (await service.ended(run))["status"]
        server.failing = set()

        attempt = await retried(service, run)
        ended = await service.ended(attempt["execution_id"])

    assert "completed" == ended["status"]
    assert {"/one": 1, "/two": 2} == dict(server.asked)


async def test_what_cannot_be_tried_again_is_refused(service):
    done = await service.start(chain(), {"name": "Ada"})
    await service.ended(done)
    going = await service.start(waiting())

    refused = [
        await service.post(f"/runs/{done}:retry", {}),
        await service.post(f"/runs/{going}:retry", {}),
        await service.post(f"/runs/{done}:retry", {"from_nodes": ["nobody"]}),
        await service.post(f"/runs/{done}:retry", {"split": "greet"}),
        await service.post(f"/runs/{done}:retry", {"everything": True, "execution_id": done}),
        await service.post(f"/runs/{done}:retry", {"latest": True}),
        await service.post("/runs/nobody:retry", {}),
    ]
    everything = await retried(service, done, everything=True)

    assert [
        (409, "NOTHING_FAILED"),
        (409, "RUN_GOES_ON"),
        (422, "INVALID_INPUT"),
        (422, "INVALID_INPUT"),
        (409, "RUN_EXISTS"),
        (404, "NOT_FOUND"),
        (404, "NOT_FOUND"),
    ] == [(one.status_code, one.json()["code"]) for one in refused]
    assert "completed" == (await service.ended(everything["execution_id"]))["status"]


@pytest.mark.parametrize("place", ["distributed"], indirect=True)
async def test_an_attempt_whose_starter_died_is_repaired_and_keeps_what_it_was_given(
    place, monkeypatch
):
    async def die(self, run):
        raise StorageError("gone")

    async with distributed(*place) as backend, serving(backend) as service, gate() as server:
        server.failing = {"/item/1"}
        run = await service.start(each_called(server.port), {"items": [0, 1, 2]})
        await service.ended(run)
        server.failing = set()
        server.asked.clear()
        with monkeypatch.context() as broken:
            broken.setattr(Repairer, "begin", die)
            answer = await service.post(f"/runs/{run}:retry", {"execution_id": "again"})
        noted = await backend.archive.run("again")

        done = await backend.cluster.repairer().repair(noted, "its state was lost")
        ended = await service.ended("again")

    assert 503 == answer.status_code
    assert ("rebuilt", "completed") == (done, ended["status"])
    assert {"/item/1": 1, "/after": 1} == dict(server.asked)


async def test_a_retried_attempt_asks_nobody_again_and_waits_for_no_signal_that_came(service):
    async with gate() as server:
        document = chain()
        document["nodes"] = [
            {"id": "start", "type": "manual_trigger"},
            {"id": "paid", "type": "wait_for_signal", "parameters": {"signal": "paid"}},
            {"id": "ask", "type": "approval", "parameters": {"approvers": ["ada"]}},
            call("two", "two", server.port),
            {
                "id": "told",
                "type": "transform",
                "parameters": {"expression": "[$paid.amount, $ask.decisions[0].comment]"},
            },
        ]
        names = [one["id"] for one in document["nodes"]]
        document["edges"] = [
            {"id": f"e{number}", "src": src, "dst": dst}
            for number, (src, dst) in enumerate(pairwise(names))
        ]
        server.failing = {"/two"}
        run = await service.start(document)
        await service.post(f"/runs/{run}/signals/paid", {"payload": {"amount": 7}})
        async with asyncio.timeout(PATIENCE_S):
            while not (waits := (await service.get(f"/runs/{run}/waits")).json()["items"]) or (
                waits[0]["kind"] != "approval"
            ):
                await asyncio.sleep(0.02)
        given = {"decision": "approve", "comment": "fine"}
        await service.client.post(waits[0]["links"][0]["url"], json=given)
        assert "halted" == (await service.ended(run))["status"]
        server.failing = set()

        again = await retried(service, run)
        ended = await service.ended(again["execution_id"])

    assert ("completed", [7, "fine"]) == (ended["status"], ended["output"])
    signals = (await service.get(f"/runs/{again['execution_id']}/signals")).json()["items"]
    assert ["paid", "approval:ask"] == [signal["signal"] for signal in signals]


async def test_what_was_decided_about_what_is_executed_again_is_asked_for_again(service):
    document = chain()
    document["nodes"] = [
        {"id": "start", "type": "manual_trigger"},
        {"id": "first", "type": "wait_for_signal", "parameters": {"signal": "go"}},
        {"id": "second", "type": "wait_for_signal", "parameters": {"signal": "go"}},
    ]
    document["edges"] = [
        {"id": "e1", "src": "start", "dst": "first"},
        {"id": "e2", "src": "first", "dst": "second"},
    ]
    run = await service.start(document)
    for number in (1, 2):
        await service.post(f"/runs/{run}/signals/go", {"payload": "x" * 40_000 + str(number)})
    assert "completed" == (await service.ended(run))["status"]

    again = (await retried(service, run, from_nodes=["second"]))["execution_id"]
    async with asyncio.timeout(PATIENCE_S):
        while not (waits := (await service.get(f"/runs/{again}/waits")).json()["items"]) or (
            waits[0]["node_id"] != "second"
        ):
            await asyncio.sleep(0.02)
    await service.post(f"/runs/{again}/signals/go", {"payload": 3})
    await service.ended(again)

    came = [
        (await service.get(f"/runs/{again}/data", params={"entry": name})).json()["value"]
        for name in ("$first", "$second")
    ]
    assert ["x" * 40_000 + "1", 3] == came


async def test_a_retried_document_hears_again_what_it_had_heard(service):
    async with gate() as server:
        server.failing = {"/two"}
        document = listening("paid")
        endpoint = f"http://127.0.0.1:{server.port}/two"
        document["do"].append(
            {"two": {"call": "http", "with": {"method": "get", "endpoint": endpoint}}}
        )
        document["output"] = {"as": "${ $context }"}
        document["do"][0]["hear0"]["export"] = {"as": "${ .[0].amount }"}
        run = await service.start(document)
        await listens(service, run)
        await take(service, event("paid", "e1", {"amount": 7}))
        first = await service.ended(run)
        server.failing = set()

        again = (await retried(service, run))["execution_id"]
        ended = await service.ended(again)

    assert ("halted", "completed") == (first["status"], ended["status"])
    answer = await service.get(f"/runs/{again}/data", params={"entry": "$output"})
    assert 7 == answer.json()["value"]

"""Signals over real HTTP: before, during and after the wait, twice, by items, and by links."""

import asyncio
from itertools import pairwise

import pytest

from api.service import PATIENCE_S

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ONWARD_KEY", KEY)


def waiting(**parameters):
    """A node that waits for the signal `go`, and one behind it."""
    return graph(
        {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go", **parameters}},
        {"id": "after", "type": "transform", "parameters": {"expression": "{got: $hold}"}},
    )


def graph(*nodes, edges=None, name="signals"):
    """The nodes in a row behind a trigger, and more edges."""
    row = [{"id": "start", "type": "manual_trigger"}, *nodes]
    pairs = pairwise(row)
    found = [
        {"id": f"e{number}", "src": src["id"], "dst": dst["id"]}
        for number, (src, dst) in enumerate(pairs)
    ]
    return {"id": name, "nodes": row, "edges": [*found, *(edges or [])]}


async def waits(service, run, many=1):
    """Return what a run waits for from outside, once there are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            items = (await service.get(f"/runs/{run}/waits")).json()["items"]
            if len(items) >= many:
                return items
            await asyncio.sleep(0.02)


async def send(service, run, name="go", **given):
    return await service.post(f"/runs/{run}/signals/{name}", given)


async def test_a_signal_lets_the_run_go_on_with_what_it_brings(service):
    run = await service.start(waiting())
    (wait,) = await waits(service, run)
    explained = (await service.get(f"/runs/{run}:explain")).json()

    answer = await send(service, run, payload={"amount": 7})

    assert (202, "go", {"amount": 7}) == (
        answer.status_code,
        answer.json()["signal"],
        answer.json()["payload"],
    )
    assert {"got": {"amount": 7}} == (await service.ended(run))["output"]
    assert ("signal", "hold", "go", None) == (
        wait["kind"],
        wait["node_id"],
        wait["signal"],
        wait["expires_at"],
    )
    assert "it waits for a signal" == explained["summary"]
    assert "for signal go" in explained["waits"][0]["text"]


async def test_a_signal_that_comes_before_the_wait_is_kept_for_it(service):
    document = graph(
        {"id": "pause", "type": "wait", "parameters": {"amount": 1}},
        {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go"}},
    )
    run = await service.start(document)

    early = await send(service, run, payload="early")

    assert 202 == early.status_code
    assert "early" == (await service.ended(run))["output"]


async def test_the_same_key_is_the_same_signal(service):
    document = graph(
        {"id": "one", "type": "wait_for_signal", "parameters": {"signal": "go"}},
        {"id": "two", "type": "wait_for_signal", "parameters": {"signal": "go"}},
        {"id": "both", "type": "transform", "parameters": {"expression": "[$one, $two]"}},
    )
    run = await service.start(document)

    answers = [
        await service.post(
            f"/runs/{run}/signals/go", {"payload": number}, headers={"idempotency-key": key}
        )
        for number, key in ((1, "a"), (2, "a"), (3, "b"))
    ]

    assert [202, 200, 202] == [answer.status_code for answer in answers]
    assert [1, 1, 3] == [answer.json()["payload"] for answer in answers]
    assert [1, 3] == (await service.ended(run))["output"]
    listed = (await service.get(f"/runs/{run}/signals", params={"limit": 1})).json()
    rest = (
        await service.get(f"/runs/{run}/signals", params={"cursor": listed["next_cursor"]})
    ).json()
    assert ["a", "b"] == [one["signal_id"] for one in (*listed["items"], *rest["items"])]


async def test_waits_inside_a_split_are_addressed_by_item_or_by_key(service):
    each = {"id": "each", "type": "split", "parameters": {"input_array": ["x", "y", "z"]}}
    hold = {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go"}}
    gather = {"id": "all", "type": "aggregator"}
    by_item = await service.start(graph(each, hold, gather))
    keyed = {**hold, "parameters": {"signal": "go", "key": "$item"}}
    by_key = await service.start(graph(each, keyed, gather, name="keyed"))

    for index in (2, 0, 1):
        await send(service, by_item, payload=index, key=f"each[{index}]")
    for key in ("z", "x", "y"):
        await send(service, by_key, payload=key.upper(), key=key)

    assert [0, 1, 2] == (await service.ended(by_item))["output"]
    assert ["X", "Y", "Z"] == (await service.ended(by_key))["output"]


async def test_a_wait_that_expires_takes_its_own_branch(service):
    late = {"id": "late", "type": "transform", "parameters": {"expression": "$hold"}}
    document = waiting(timeout=0.2, expired_edge_id="x")
    document["nodes"].append(late)
    document["edges"].append({"id": "x", "src": "hold", "dst": "late"})
    branched = await service.ended(await service.start(document))
    failed = await service.ended(await service.start(waiting(timeout=0.2)))

    assert ("completed", ["late"]) == (branched["status"], branched["output_nodes"])
    assert ["expired_at"] == list(branched["output"])
    assert ("halted", "EXPIRED") == (failed["status"], failed["error"]["code"])


async def test_a_signal_in_time_takes_the_other_branches(service):
    late = {"id": "late", "type": "noop"}
    document = waiting(timeout=60, expired_edge_id="x")
    document["nodes"].append(late)
    document["edges"].append({"id": "x", "src": "hold", "dst": "late"})
    run = await service.start(document)
    (wait,) = await waits(service, run)

    await send(service, run, payload=1)
    ended = await service.ended(run)

    assert (["after"], {"got": 1}) == (ended["output_nodes"], ended["output"])
    assert wait["expires_at"] is not None


async def test_large_payloads_are_carried_by_reference(service):
    run = await service.start(waiting())
    large = "x" * 200_000

    answer = await send(service, run, payload=large)
    ended = await service.ended(run)

    assert (202, False) == (answer.status_code, answer.json()["payload_carried"])
    assert "completed" == ended["status"]
    size = (await service.get(f"/runs/{run}/data", params={"entry": "$hold"})).json()["length"]
    assert len(large) == size


async def test_a_callback_link_resumes_the_wait_once(service):
    run = await service.start(waiting())
    (wait,) = await waits(service, run)

    answers = [await service.client.post(wait["callback_url"], json={"n": n}) for n in (1, 2)]

    assert [202, 202] == [answer.status_code for answer in answers] or 409 == answers[1].status_code
    assert {"got": {"n": 1}} == (await service.ended(run))["output"]
    signals = (await service.get(f"/runs/{run}/signals")).json()["items"]
    assert [{"n": 1}] == [signal["payload"] for signal in signals]


async def test_signals_that_make_no_sense_are_refused(service):
    run = await service.start(waiting())
    done = await service.start(graph({"id": "n", "type": "noop"}, name="done"))
    await service.ended(done)

    refusals = [
        await send(service, "run_nobody", payload=1),
        await send(service, done, payload=1),
        await send(service, run, "no spaces"),
        await send(service, run, key="\n"),
        await send(service, run, more=1),
        await service.client.post("/api/v1/callbacks/forged.link", json=1),
    ]

    assert [
        (404, "NOT_FOUND"),
        (409, "RUN_ENDED"),
        (422, "INVALID_REQUEST"),
        (422, "INVALID_REQUEST"),
        (422, "INVALID_REQUEST"),
        (403, "BAD_LINK"),
    ] == [(refusal.status_code, refusal.json()["code"]) for refusal in refusals]
    assert [] == (await service.get(f"/runs/{run}/signals")).json()["items"]

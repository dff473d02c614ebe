"""Events over HTTP, to runs that listen: each has every event once, also one that comes early."""

import asyncio

import pytest

from api.service import PATIENCE_S

STRUCTURED = {"content-type": "application/cloudevents+json"}


def listening(*types, **more):
    """A document that listens to one event of each type, one after the other."""
    tasks = [
        {f"hear{number}": {"listen": {"to": {"one": {"with": {"type": kind}}}}, **more}}
        for number, kind in enumerate(types)
    ]
    return {
        "document": {"dsl": "1.0.0", "namespace": "test", "name": "hear", "version": "1.0.0"},
        "do": tasks,
    }


def event(kind, name, data=None, source="/shop"):
    return {"specversion": "1.0", "id": name, "source": source, "type": kind, "data": data}


async def take(service, one):
    answer = await service.post("/events", one, headers=STRUCTURED)
    assert 202 == answer.status_code, answer.text
    return answer.json()["listens"]


async def output(service, run):
    return (await service.get(f"/runs/{run}/data", params={"entry": "$output"})).json()["value"]


async def waits(service, run):
    """Return once a run waits for an event."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await service.get(f"/runs/{run}/waits")).json()["items"]
            if found:
                return found
            await asyncio.sleep(0.05)


async def test_an_event_over_http_comes_to_every_run_that_listens_and_to_no_other(service):
    runs = [await service.start(listening("paid")) for _ in range(2)]
    other = await service.start(listening("sent"))
    for run in (*runs, other):
        await waits(service, run)

    assert 0 == await take(service, event("nobody", "e0"))
    assert 2 == await take(service, event("paid", "e1", {"amount": 7}))

    for run in runs:
        ended = await service.ended(run)
        assert "completed" == ended["status"]
        assert [{"amount": 7}] == await output(service, run)
    assert (await service.get(f"/runs/{other}")).json()["ended_at"] is None
    assert 1 == await take(service, event("sent", "e1", source="/post"))
    await service.ended(other)


async def test_an_event_that_comes_before_its_listen_is_kept(service):
    run = await service.start(listening("first", "second"))
    await waits(service, run)

    assert 1 == await take(service, event("second", "early", 2))
    assert 1 == await take(service, event("first", "late", 1))

    assert "completed" == (await service.ended(run))["status"]
    assert [2] == await output(service, run)


async def test_an_event_of_the_same_source_and_id_is_heard_once(service):
    document = listening("beat")
    document["do"][0]["hear0"]["listen"] = {
        "to": {"any": [{"with": {"type": "beat"}}], "until": "length == 3"}
    }
    run = await service.start(document)
    await waits(service, run)

    for one in (
        event("beat", "e1", 1),
        event("beat", "e1", 1),
        event("beat", "e1", "another", "/else"),
        event("beat", "e1", 9),
        event("beat", "e2", 2),
    ):
        assert 1 == await take(service, one)

    assert "completed" == (await service.ended(run))["status"]
    assert [1, "another", 2] == await output(service, run)


async def test_a_large_event_over_http_is_heard_whole(service):
    run = await service.start(listening("large"))
    await waits(service, run)

    await take(service, event("large", "e1", {"text": "x" * 300_000}))

    assert "completed" == (await service.ended(run))["status"]
    (signal,) = (await service.get(f"/runs/{run}/signals")).json()["items"]
    assert ("event", False) == (signal["sender"], signal["payload_carried"])
    answer = await service.get(f"/runs/{run}/data", params={"entry": "$output"})
    assert answer.json()["bytes"] > 300_000


@pytest.mark.parametrize("again", [False, True])
async def test_whoever_ended_hears_nothing_more(local, again):
    run = await local.start(listening("paid"))
    await waits(local, run)
    await take(local, event("paid", "e1"))
    await local.ended(run)

    assert 0 == await take(local, event("paid", "e1" if again else "e2"))

"""Events of many runs in one order: all of them once, whoever leaves and comes back."""

import asyncio
import json
import random

import pytest

from api.documents import chain, fan_out
from api.service import API, PATIENCE_S, serving


async def told(service, *, after=None, most, to_an_end=False, **query):
    """Return events of a stream of many runs as (place, data), up to a number, or to an end."""
    found, fields = [], {}
    headers = {} if after is None else {"last-event-id": str(after)}
    path = f"{API}/events/stream"
    async with (
        asyncio.timeout(PATIENCE_S),
        service.client.stream("GET", path, headers=headers, params=query) as stream,
    ):
        assert 200 == stream.status_code
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if line and name:
                fields[name] = value
            elif not line and "data" in fields:
                found.append((int(fields["id"]), json.loads(fields["data"])))
                fields = {}
                ended = to_an_end and found[-1][1]["type"] == "run.ended"
                if len(found) >= most or ended:
                    return found
    return found


async def test_the_events_of_all_runs_are_told_in_one_order(service):
    runs = [await service.start(chain(f"c{n}"), {"name": "Ada"}) for n in range(3)]
    for run in runs:
        await service.ended(run)
    wanted = {run: await service.events(run) for run in runs}
    total = sum(map(len, wanted.values()))

    listed = (await service.get("/events", params={"limit": 1000})).json()
    streamed = await told(service, after=0, most=total)

    assert listed["items"] == [data for _, data in streamed]
    assert [one["place"] for one in listed["items"]] == [place for place, _ in streamed]
    assert sorted({place for place, _ in streamed}) == [place for place, _ in streamed]
    for run in runs:
        of_run = [one["seq"] for one in listed["items"] if one["execution_id"] == run]
        assert [one["seq"] for one in wanted[run]] == of_run


async def test_a_stream_can_be_of_one_workflow_or_of_some_runs(service):
    first = await service.start(chain("one"), {"name": "Ada"})
    second = await service.start(chain("two"), {"name": "Ada"})
    third = await service.start(chain("two"), {"name": "Bob"})
    for run in (first, second, third):
        await service.ended(run)

    of_workflow = (await service.get("/events", params={"workflow_id": "two"})).json()
    of_runs = (await service.get("/events", params={"runs": f"{first},{third}"})).json()

    assert {second, third} == {one["execution_id"] for one in of_workflow["items"]}
    assert {"two"} == {one["workflow_id"] for one in of_workflow["items"]}
    assert {first, third} == {run["execution_id"] for run in of_runs["items"]}


async def test_pages_lead_to_the_end(service):
    run = await service.start(chain(), {"name": "Ada"})
    await service.ended(run)
    wanted = await service.events(run)

    found, after, more = [], 0, True
    while more:
        query = {"after": after, "limit": 2}
        page = (await service.get("/events", params=query)).json()
        found += page["items"]
        after, more = page["last_place"], page["more"]

    # On a cluster the last statuses may come after the end, and between the two looks.
    assert [one["seq"] for one in wanted] == [one["seq"] for one in found[: len(wanted)]]
    assert list(range(1, len(found) + 1)) == [one["seq"] for one in found]


async def test_who_begins_now_hears_only_what_comes(backend):
    async with serving(backend, heartbeat_s=0.05) as service:
        old = await service.start(chain("old"), {"name": "Ada"})
        await service.ended(old)
        async with (
            asyncio.timeout(PATIENCE_S),
            service.client.stream("GET", f"{API}/events/stream") as stream,
        ):
            lines = stream.aiter_lines()
            async for line in lines:  # a sign of life: from here on it listens
                if line.startswith(":"):
                    break
            new = await service.start(chain("new"), {"name": "Ada"})
            data = [json.loads(one[6:]) async for one in _until(lines, "run.ended")]

    assert {new} == {one["execution_id"] for one in data}
    assert "run.started" == data[0]["type"]


async def _until(lines, kind):
    async for line in lines:
        if line.startswith("data: "):
            yield line
            if json.loads(line[6:])["type"] == kind:
                return


async def test_who_leaves_and_comes_back_at_random_misses_nothing(service):
    dice = random.Random(11)
    runs = [
        await service.start(fan_out(f"f{n}"), {"items": list(range(10, 210))}) for n in range(4)
    ]
    found, after = [], 0
    while sum(data["type"] == "run.ended" for _, data in found) < len(runs):
        page = await told(service, after=after, most=dice.randint(1, 9), to_an_end=True)
        found += page
        after = page[-1][0]

    places = [place for place, _ in found]
    assert sorted(set(places)) == places
    for run in runs:
        seqs = [data["seq"] for _, data in found if data["execution_id"] == run]
        assert list(range(1, len(seqs) + 1)) == seqs


@pytest.mark.parametrize(
    "query",
    [{"runs": "a b"}, {"runs": ",".join(f"r{n}" for n in range(201))}, {"after": -1}],
    ids=["no id", "too many", "below zero"],
)
async def test_a_bad_choice_of_runs_is_refused(local, query):
    for path in ("/events", "/events/stream"):
        answer = await local.get(path, params=query)

        assert 422 == answer.status_code
        assert answer.json()["errors"][0]["parameter"] in query

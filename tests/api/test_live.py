"""Following runs: every number once and in order, whoever leaves and wherever they come back."""

import asyncio
import json
import random
from contextlib import asynccontextmanager

import httpx2
import pytest
from websockets.asyncio.client import connect

from api.documents import chain, fan_out, waiting
from api.service import API, PATIENCE_S, distributed, embedded, serving


async def follow(service, run, after=0, most=None):
    """Return the events of a stream as (id, event, data), up to a number of them."""
    found = []
    headers = {"last-event-id": str(after)} if after else {}
    path = f"{API}/runs/{run}/events/stream"
    async with (
        asyncio.timeout(PATIENCE_S),
        service.client.stream("GET", path, headers=headers) as stream,
    ):
        if stream.status_code == 204:
            return found
        assert "text/event-stream" in stream.headers["content-type"]
        fields = {}
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if line and name:
                fields[name] = value
            elif not line and "data" in fields:
                found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                fields = {}
                if most is not None and len(found) >= most:
                    return found
    return found


async def test_a_stream_tells_everything_and_ends_with_the_run(service):
    run = await service.start(fan_out(), {"items": [1, 2, 3, 4]})

    told = await follow(service, run)
    kept = await service.events(run)

    assert [one["seq"] for one in kept] == [number for number, _, _ in told]
    assert kept == [data for _, _, data in told]
    assert "run.ended" in [kind for _, kind, _ in told]
    assert (3, 1) == _sums(kept, "double")


async def test_who_has_seen_it_all_is_told_to_stay_away(service):
    run = await service.start(chain(), {"name": "Ada"})
    last = (await follow(service, run))[-1][0]

    answer = await service.get(f"/runs/{run}/events/stream", headers={"last-event-id": str(last)})

    assert (204, b"") == (answer.status_code, answer.content)


async def test_a_bad_number_is_refused(local):
    run = await local.start(chain(), {"name": "Ada"})

    answer = await local.get(f"/runs/{run}/events/stream", headers={"last-event-id": "x"})

    assert 422 == answer.status_code


async def test_a_quiet_stream_gives_signs_of_life(backend):
    async with serving(backend, heartbeat_s=0.05) as service:
        run = await service.start(waiting())
        beats = 0
        async with (
            asyncio.timeout(PATIENCE_S),
            service.client.stream("GET", f"{API}/runs/{run}/events/stream") as stream,
        ):
            async for line in stream.aiter_lines():
                beats += line.startswith(":")
                if beats == 3:
                    break

    assert 3 == beats


async def test_a_socket_tells_the_same_as_a_stream(service):
    run = await service.start(fan_out(), {"items": [1, 2, 3, 4]})
    url = service.url.replace("http", "ws") + f"{API}/runs/{run}/events/socket"

    async with asyncio.timeout(PATIENCE_S), connect(url) as socket:
        told = [json.loads(one) async for one in socket]

    assert await service.events(run) == told


@pytest.mark.parametrize("path", ["/runs/none/events/socket", "/runs/bad id/events/socket"])
async def test_a_socket_for_a_run_that_is_not_there_is_refused(local, path):
    url = local.url.replace("http", "ws") + API + path.replace(" ", "%20")

    with pytest.raises(Exception, match=r"403|4404|HTTP"):
        async with connect(url) as socket:
            await socket.recv()


async def test_a_socket_of_a_foreign_page_is_refused(local):
    run = await local.start(waiting())
    url = local.url.replace("http", "ws") + f"{API}/runs/{run}/events/socket"

    with pytest.raises(Exception, match="403"):
        async with connect(url, origin="http://evil.example"):
            pass


async def test_on_several_masters_everyone_sees_everything(rabbitmq_url, redis_url, postgres_url):
    places = (rabbitmq_url, redis_url, postgres_url)
    async with (
        distributed(*places) as one,
        distributed(*places) as other,
        serving(one) as here,
        serving(other) as there,
    ):
        run = await here.start(fan_out(), {"items": list(range(10, 510))})
        told = await asyncio.gather(
            follow(here, run), follow(there, run), follow(there, run), _sockets(there, run)
        )
        kept = await there.events(run)

    assert list(range(1, len(kept) + 1)) == [one["seq"] for one in kept]
    assert (500, 0) == _sums(kept, "double")
    for stream in told[:3]:
        assert kept[: len(stream)] == [data for _, _, data in stream]
        assert "run.ended" in [kind for _, kind, _ in stream]
    assert kept[: len(told[3])] == told[3]


@asynccontextmanager
async def two_masters(place):
    """Open two servers: on one embedded engine, or each with a cluster's processes of its own."""
    if not isinstance(place, list):
        async with embedded(place) as one, serving(one) as here, serving(one) as there:
            yield here, there
        return
    async with (
        distributed(*place) as one,
        distributed(*place) as other,
        serving(one) as here,
        serving(other) as there,
    ):
        yield here, there


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("items", "longest"), [(1_000, 4), pytest.param(10_000, 40, marks=pytest.mark.slow)]
)
async def test_who_leaves_and_comes_back_elsewhere_at_random_sees_every_number_once(
    place, items, longest
):
    dice = random.Random(11)
    async with two_masters(place) as masters:
        run = await masters[0].start(fan_out(), {"items": list(range(10, 10 + items))})

        async def restless(*ways):
            seen, visits = [], set()
            while not any(one["type"] == "run.ended" for one in seen):
                service, way = dice.choice(masters), dice.choice(ways)
                after = seen[-1]["seq"] if seen else 0
                seen += await way(service, run, after, dice.randint(1, longest))
                visits.add((service.url, way))
            return seen, visits

        async with asyncio.timeout(500):
            told = await asyncio.gather(
                restless(_data), restless(_sockets), *(restless(_data, _sockets) for _ in range(4))
            )
            kept = await masters[0].events(run)
            while (items, 0) != _sums(kept, "double"):  # on a cluster some may follow the end
                await asyncio.sleep(0.05)
                kept = await masters[0].events(run)

    for seen, _ in told:
        assert kept[: len(seen)] == seen
    assert list(range(1, len(kept) + 1)) == [one["seq"] for one in kept]
    assert len(kept) < items  # they are counted, not listed
    assert 4 == len(set().union(*(visits for _, visits in told)))  # both servers, in both ways


async def test_a_run_that_was_interrupted_goes_on_with_the_next_number(tmp_path):
    async with embedded(tmp_path) as backend, serving(backend) as service:
        run = await service.start(waiting(seconds=0.3))
        before = [data for _, _, data in await follow(service, run, most=2)]
    async with embedded(tmp_path) as backend, serving(backend) as service:
        await service.ended(run)
        whole = await service.events(run)

    assert before == whole[:2]
    assert list(range(1, len(whole) + 1)) == [one["seq"] for one in whole]
    assert "run.ended" == whole[-1]["type"]


async def test_a_follower_that_does_not_read_holds_nobody_up(service):
    run = await service.start(fan_out(), {"items": list(range(10, 1010))})
    limits = httpx2.Limits(max_connections=50)
    async with httpx2.AsyncClient(base_url=service.url, limits=limits, timeout=60) as client:
        lazy = [client.stream("GET", f"{API}/runs/{run}/events/stream") for _ in range(20)]
        streams = [await one.__aenter__() for one in lazy]
        ended = await service.ended(run)
        told = await follow(service, run)
        for one in lazy:
            await one.__aexit__(None, None, None)

    assert {200} == {stream.status_code for stream in streams}
    assert "completed" == ended["status"]
    assert "run.ended" in [kind for _, kind, _ in told]


async def _sockets(service, run, after=0, most=None):
    url = service.url.replace("http", "ws") + f"{API}/runs/{run}/events/socket?after={after}"
    found = []
    async with asyncio.timeout(PATIENCE_S), connect(url) as socket:
        async for one in socket:
            if one != "{}":
                found.append(json.loads(one))
            if most is not None and len(found) >= most:
                break
    return found


async def _data(service, run, after, most):
    return [data for _, _, data in await follow(service, run, after, most)]


def _sums(events, node):
    """Return how many visits of a node inside a split succeeded and failed, by the counters."""
    counts = [
        event for event in events if event["type"] == "node.items" and event["node_id"] == node
    ]
    return (
        sum(count.get("succeeded") or 0 for count in counts),
        sum(count.get("failed") or 0 for count in counts),
    )

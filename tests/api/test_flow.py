"""Flow control: runs start as the rule of their workflow allows, the others are parked in order."""

import asyncio

from api.documents import chain, waiting
from api.service import API, PATIENCE_S, distributed, embedded, serving


async def ruled(service, name="ruled", document=None, **rule):
    await service.create(document or waiting(name))
    answer = await service.client.put(f"{API}/workflows/{name}/flow", json=rule)
    assert 200 == answer.status_code, answer.text


async def begin(service, name="ruled", given=None, **more):
    answer = await service.post("/runs", {"workflow_id": name, "input": given, **more})
    assert 201 == answer.status_code, answer.text
    return answer.json()


async def status(service, run):
    return (await service.get(f"/runs/{run}")).json()["status"]


async def becomes(service, run, wanted):
    async with asyncio.timeout(PATIENCE_S):
        while await status(service, run) != wanted:
            await asyncio.sleep(0.05)


async def test_no_more_runs_of_a_key_go_on_than_may_and_the_others_follow_in_order(service):
    await ruled(service, key="$trigger.customer", concurrency=1)

    runs = [(await begin(service, given={"customer": "a"}))["execution_id"] for _ in range(3)]
    other = await begin(service, given={"customer": "b"})
    listed = (await service.get("/runs", params={"status": "parked"})).json()["items"]
    explained = (await service.get(f"/runs/{runs[2]}:explain")).json()

    assert ["running", "parked", "parked"] == [await status(service, run) for run in runs]
    assert "running" == other["status"]
    assert runs[:0:-1] == [one["execution_id"] for one in listed]
    assert "parked" == explained["status"]
    assert ["1 run parked before it", "1 of at most 1 runs of its key are running"] == [
        one["text"] for one in explained["waits"]
    ]

    await service.post(f"/runs/{runs[0]}:cancel", {})
    await becomes(service, runs[1], "running")
    assert "parked" == await status(service, runs[2])
    await service.post(f"/runs/{runs[1]}:cancel", {})
    await becomes(service, runs[2], "running")


async def test_a_parked_run_can_be_cancelled_and_not_be_paused(service):
    await ruled(service, concurrency=1)
    first = (await begin(service))["execution_id"]
    parked = (await begin(service))["execution_id"]

    paused = await service.post(f"/runs/{parked}:pause")
    cancelled = await service.post(f"/runs/{parked}:cancel", {"reason": "no need"})
    events = await service.events(parked)
    ended = await service.ended(parked)

    assert (409, "RUN_PARKED") == (paused.status_code, paused.json()["code"])
    assert 202 == cancelled.status_code, cancelled.text
    assert ("cancelled", "no need") == (ended["status"], ended["error"]["message"])
    assert ["run.started", "run.ended"] == [event["type"] for event in events]
    assert "running" == await status(service, first)


async def test_no_more_runs_start_within_a_time_than_may(service):
    await ruled(service, document=chain("ruled"), rate=2, per_ms=1500)

    runs = [(await begin(service, given={"name": "Ada"}))["execution_id"] for _ in range(3)]
    before = await status(service, runs[2])
    for run in runs:
        assert "completed" == (await service.ended(run))["status"]
    starts = sorted([(await service.get(f"/runs/{run}")).json()["started_at"] for run in runs])

    assert "parked" == before
    assert starts[0] < starts[2]


async def test_others_are_served_for_as_long_as_a_key_takes(local):
    await ruled(local, key="{{ until(false; .) }}", concurrency=1)

    starting = asyncio.create_task(local.post("/runs", {"workflow_id": "ruled"}))
    served = 0
    while not starting.done():
        assert 200 == (await local.get("/workflows/ruled")).status_code
        served += 1
    refused = await starting

    assert 422 == refused.status_code
    assert "the key {{ until(false; .) }} of ruled has no value" in refused.json()["detail"]
    assert served > 3


async def test_a_singleton_is_alone(service):
    await ruled(service, singleton=True)
    first = (await begin(service))["execution_id"]

    second = await service.post("/runs", {"workflow_id": "ruled"})
    await service.post(f"/runs/{first}:cancel", {})
    await service.ended(first)
    third = await begin(service)

    assert (409, "NOT_ALONE") == (second.status_code, second.json()["code"])
    assert first in second.json()["detail"]
    assert "running" == third["status"]


async def test_of_runs_that_come_in_quick_succession_the_last_one_starts(service):
    await ruled(service, document=chain("ruled"), debounce_ms=700)

    runs = [
        (await begin(service, given={"name": name}))["execution_id"] for name in ("A", "B", "C")
    ]
    ended = [await service.ended(run) for run in runs]

    assert ["cancelled", "cancelled", "completed"] == [one["status"] for one in ended]
    assert {"text": "Hello, C"} == ended[2]["output"]


async def test_parked_runs_outlive_every_process(place):
    opened = (lambda: distributed(*place)) if isinstance(place, list) else (lambda: embedded(place))
    async with opened() as backend, serving(backend) as service:
        await ruled(service, concurrency=1)
        first = (await begin(service))["execution_id"]
        second = (await begin(service, timeout_ms=60_000, priority=2))["execution_id"]
    async with opened() as backend, serving(backend) as service:
        assert ["running", "parked"] == [await status(service, one) for one in (first, second)]
        await service.post(f"/runs/{first}:cancel", {})
        await becomes(service, second, "running")
        found = (await service.get(f"/runs/{second}")).json()

    assert 2 == found["priority"]
    assert found["deadline_at"] is not None


async def test_what_was_let_go_and_never_started_is_started_by_the_next(service):
    await ruled(service, concurrency=1)
    flow, clock = service.backend.steering.flow, service.backend.clock
    first = (await begin(service))["execution_id"]
    second = (await begin(service))["execution_id"]
    rule = await flow.rule("ruled")
    await service.post(f"/runs/{first}:cancel", {})
    await service.ended(first)

    # Somebody lets it go and dies before it starts.
    long_ago = clock.now_ms()
    while not (gone := await flow.let_go("ruled", rule, long_ago)):
        if await status(service, second) == "running":
            return  # another was faster, and did not die
        long_ago = clock.now_ms()
    again = await flow.let_go("ruled", rule, long_ago + 31_000)

    assert [second] == [one.execution_id for one in gone]
    assert [second] == [one.execution_id for one in again]


async def test_without_its_rule_everything_parked_starts(service):
    await ruled(service, concurrency=1)
    await begin(service)
    parked = (await begin(service))["execution_id"]

    dropped = await service.client.delete(f"{API}/workflows/ruled/flow")
    gone = await service.get("/workflows/ruled/flow")

    assert (204, 404) == (dropped.status_code, gone.status_code)
    await becomes(service, parked, "running")


async def test_a_rule_that_means_nothing_is_refused(local):
    await local.create(waiting("ruled"))
    for rule in (
        {},
        {"concurrency": 0},
        {"key": "{{ nonsense(", "concurrency": 1},
        {"singleton": True, "debounce_ms": 5},
        {"what": 1},
    ):
        answer = await local.client.put(f"{API}/workflows/ruled/flow", json=rule)
        assert 422 == answer.status_code, rule
    assert 404 == (await local.client.put(f"{API}/workflows/no/flow", json={"rate": 1})).status_code

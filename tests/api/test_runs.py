"""Runs over HTTP: started once, listed in pages, inspected in parts."""

import asyncio

from api.documents import chain, fan_out, waiting


async def test_a_run_is_started_and_inspected(service):
    await service.create(chain())

    answer = await service.post("/runs", {"workflow_id": "hello", "input": {"name": "Ada"}})
    run = answer.json()
    ended = await service.ended(run["execution_id"])

    assert 201 == answer.status_code
    assert f"/api/v1/runs/{run['execution_id']}" == answer.headers["location"]
    assert ("completed", {"text": "Hello, Ada"}) == (ended["status"], ended["output"])
    assert ["greet"] == ended["output_nodes"]
    assert "$greet" in [one["name"] for one in ended["context"]]


async def test_a_run_that_failed_says_where_and_why(service):
    run = await service.start(chain(expression='error("no")'))

    ended = await service.ended(run)

    assert ("halted", "greet") == (ended["status"], ended["error"]["node_id"])
    assert "no" in ended["error"]["message"]


async def test_of_many_requests_with_one_key_one_run_comes(service):
    await service.create(chain())
    given = {"workflow_id": "hello", "input": {"name": "Ada"}}

    answers = await asyncio.gather(
        *(service.post("/runs", given, headers={"idempotency-key": "k1"}) for _ in range(6))
    )
    later = await service.post("/runs", given, headers={"idempotency-key": "k1"})
    other = await service.post("/runs", given, headers={"idempotency-key": "k2"})

    assert {answers[0].json()["execution_id"]} == {
        one.json()["execution_id"] for one in (*answers, later)
    }
    assert 1 == sum(answer.status_code == 201 for answer in answers)
    assert 200 == later.status_code
    assert other.json()["execution_id"] != later.json()["execution_id"]
    assert 2 == len((await service.get("/runs")).json()["items"])


async def test_a_key_that_was_used_for_something_else_is_refused(service):
    given = {"definition": chain(), "input": {"name": "Ada"}}
    headers = {"idempotency-key": "k1"}
    await service.post("/runs", given, headers=headers)

    answer = await service.post("/runs", {**given, "input": {"name": "Bo"}}, headers=headers)

    assert (422, "IDEMPOTENCY_KEY_REUSED") == (answer.status_code, answer.json()["code"])


async def test_an_id_of_ones_own_must_be_new(service):
    given = {"definition": chain(), "execution_id": "mine", "input": {"name": "Ada"}}

    first = await service.post("/runs", given)
    second = await service.post("/runs", given)

    assert "mine" == first.json()["execution_id"]
    assert (409, "RUN_EXISTS") == (second.status_code, second.json()["code"])


async def test_runs_are_filtered_and_listed_in_pages_newest_first(service):
    started = []
    for name in ("a", "b", "a", "b", "a"):
        started.append(await service.start(chain(name), {"name": "x"}))
        await service.ended(started[-1])
    stuck = await service.start(waiting())

    async def listed(**params):
        found, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = (await service.get("/runs", params={"limit": 2, **params, **more})).json()
            found += [one["execution_id"] for one in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    assert [stuck, *reversed(started)] == await listed()
    assert started[::-2] == await listed(workflow_id="a")
    assert [stuck] == await listed(status="running")
    assert [stuck, *reversed(started)] == await listed(status="running,completed")
    assert [started[1]] == await listed(q=started[1][8:])
    assert [] == await listed(started_before="2001-01-01T00:00:00Z")
    assert 6 == len(await listed(started_after="2001-01-01T00:00:00Z"))


async def test_nodes_visits_and_items_of_a_fan_out(service):
    run = await service.start(fan_out(), {"items": [1, 2, 3, 4]})
    await service.ended(run)
    await _settled(service, run, 4)

    nodes = (await service.get(f"/runs/{run}/nodes")).json()["items"]
    items = (await service.get(f"/runs/{run}/items", params={"split": "each"})).json()["items"]
    failed = (await service.get(f"/runs/{run}/visits", params={"status": "failed"})).json()["items"]
    inside = (
        await service.get(f"/runs/{run}/visits", params={"item": "each[1]", "node_id": "double"})
    ).json()["items"]

    visits = {node["node_id"]: node["visits"] for node in nodes}
    assert {"success": 3, "failed": 1} == visits["double"]
    assert ["start", "each", "double", "all"] == [node["node_id"] for node in nodes]
    assert {0: 0, 1: 0, 2: 1, 3: 0} == {item["index"]: item["failed_visits"] for item in items}
    assert ["each[2]"] == [one["item"] for one in failed]
    assert "three" in failed[0]["error"]["message"]
    assert ["each[1]"] == [one["item"] for one in inside]


async def test_visits_come_in_pages_that_neither_miss_nor_repeat(service):
    run = await service.start(fan_out(), {"items": list(range(10, 40))})
    await service.ended(run)
    await _settled(service, run, 30)

    found, cursor = [], None
    while True:
        more = {"cursor": cursor} if cursor else {}
        params = {"limit": 7, "node_id": "double", **more}
        page = (await service.get(f"/runs/{run}/visits", params=params)).json()
        found += [one["item"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert 30 == len(found)
    assert {f"each[{n}]" for n in range(30)} == set(found)


async def test_data_is_read_by_pointer_and_in_pages(service):
    big = {"rows": [{"n": n, "text": "x" * 100} for n in range(5000)], "name": "Ada"}
    run = await service.start(chain(expression="$trigger"), big)
    ended = await service.ended(run)

    async def data(**params):
        return (await service.get(f"/runs/{run}/data", params=params)).json()

    name = await data(entry="greet", pointer="/name")
    row = await data(entry="$greet", pointer="/rows/4999/n")
    page = await data(entry="greet", pointer="/rows", offset=4990, limit=100)
    whole = await data(entry="greet")
    visit = (await service.get(f"/runs/{run}/visits", params={"node_id": "greet"})).json()["items"][
        0
    ]
    by_visit = await data(token_id=visit["token_id"], node_id="greet", pointer="/name")
    by_ref = await data(ref=visit["output_ref"], pointer="/name")
    nowhere = await service.get(
        f"/runs/{run}/data", params={"entry": "greet", "pointer": "/rows/5000"}
    )

    assert not ended["output_carried"]
    assert ("Ada", 4999) == (name["value"], row["value"])
    assert (5000, 10, None) == (page["length"], len(page["value"]), page["next_offset"])
    assert {"rows": None, "name": "Ada"} == whole["value"]
    assert whole["bytes"] > 500_000
    assert ["Ada", "Ada"] == [by_visit["value"], by_ref["value"]]
    assert (404, "NOTHING_THERE") == (nowhere.status_code, nowhere.json()["code"])


async def test_explain_says_what_a_run_waits_for(service):
    run = await service.start(waiting())
    async with asyncio.timeout(60):
        while True:
            found = (await service.get(f"/runs/{run}:explain")).json()
            if found["waits"] and found["waits"][0]["kind"] == "timer":
                break
            await asyncio.sleep(0.02)

    timers = (await service.get("/timers")).json()["items"]

    assert "pause" == found["waits"][0]["node"]
    assert [run] == [timer["execution_id"] for timer in timers]


async def test_expressions_are_evaluated_on_the_data_of_a_run(service):
    run = await service.start(chain(), {"name": "Ada"})
    await service.ended(run)

    answer = await service.post(
        "/expressions:evaluate",
        {"template": {"a": "{{ $greet.text | length }}"}, "execution_id": run},
    )

    assert ({"a": 10}, ["greet"]) == (answer.json()["value"], answer.json()["names"])


async def test_runs_are_counted(service):
    for _ in range(3):
        await service.ended(await service.start(chain(), {"name": "Ada"}))

    counts = (await service.get("/stats")).json()["runs"]

    assert [{"workflow_id": "hello", "status": "completed", "runs": 3}] == counts


async def test_queues_workers_and_quarantine_can_be_looked_at(service):
    queues = (await service.get("/queues")).json()["items"]
    workers = await service.get("/workers")
    quarantine = (await service.get("/quarantine")).json()["items"]
    ready = await service.client.get("/readyz")

    assert 0 < len(queues)
    assert 200 == workers.status_code
    assert [] == quarantine
    assert {"status": "ok"} == ready.json()


async def _settled(service, run, visits):
    """Wait until the history has all visits of `double`: on a cluster, the end may come first."""
    async with asyncio.timeout(60):
        while True:
            params = {"node_id": "double", "limit": 200}
            page = (await service.get(f"/runs/{run}/visits", params=params)).json()
            if len(page["items"]) >= visits:
                return
            await asyncio.sleep(0.02)

"""What nodes wrote to the log, kept with the history of the run."""

from api.documents import chain

LINES = {
    "id": "talk",
    "nodes": [
        {"id": "start", "type": "manual_trigger"},
        {"id": "each", "type": "split", "parameters": {"input_array": "$trigger.items"}},
        {"id": "say", "type": "log", "parameters": {"message": "item {{ $item }}"}},
        {"id": "all", "type": "aggregator"},
        {"id": "warn", "type": "log", "parameters": {"message": "done", "level": "warning"}},
    ],
    "edges": [
        {"id": "e1", "src": "start", "dst": "each"},
        {"id": "e2", "src": "each", "dst": "say"},
        {"id": "e3", "src": "say", "dst": "all"},
        {"id": "e4", "src": "all", "dst": "warn"},
    ],
}


async def lines(service, run, **query):
    found, cursor = [], None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        page = (await service.get(f"/runs/{run}/logs", params={**query, **more})).json()
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def test_lines_are_kept_with_their_place(service):
    run = await service.start(LINES, {"items": [7, 8, 9]})
    await service.ended(run)
    # On a cluster the last statuses may be folded after the end.
    while len(found := await lines(service, run)) < 4:
        pass

    said = {(one["node_id"], one["item"], one["level"], one["message"]) for one in found}
    assert {
        ("say", "each[0]", "info", "item 7"),
        ("say", "each[1]", "info", "item 8"),
        ("say", "each[2]", "info", "item 9"),
        ("warn", "", "warning", "done"),
    } == said
    assert {1} == {one["attempt"] for one in found}


async def test_lines_come_in_pages_and_by_node_and_level(service):
    run = await service.start(LINES, {"items": list(range(25))})
    await service.ended(run)
    while len(await lines(service, run)) < 26:
        pass

    assert 26 == len(await lines(service, run, limit=3))
    assert 25 == len(await lines(service, run, node_id="say", limit=7))
    assert ["done"] == [line["message"] for line in await lines(service, run, level="warning")]


async def test_a_run_that_said_nothing_has_no_lines(service):
    run = await service.start(chain(), {"name": "Ada"})
    await service.ended(run)

    assert [] == await lines(service, run)


async def test_bad_questions_about_lines_are_refused(local):
    run = await local.start(chain(), {"name": "Ada"})

    assert 422 == (await local.get(f"/runs/{run}/logs", params={"level": "loud"})).status_code
    assert 422 == (await local.get(f"/runs/{run}/logs", params={"cursor": "x"})).status_code
    assert 404 == (await local.get("/runs/none/logs")).status_code

"""Documents that say when they run, and what is told of their runs: over HTTP, in both modes."""

import asyncio
import json
from contextlib import suppress

from api.service import PATIENCE_S
from onward.adapters.host.clock import HostClock
from onward.adapters.host.log import HostLog
from onward.adapters.sql.publish_positions import TablePublishPositions
from onward.runtime.cluster.run_control import LATE_MS
from onward.runtime.signals.lifecycle_publisher import LifecyclePublisher
from onward.runtime.tasks import cancel
from onward.runtime.triggers.clock import TriggerClock

STRUCTURED = {"content-type": "application/cloudevents+json"}
PREFIX = "io.serverlessworkflow."


def document(name, *tasks, **more):
    head = {"dsl": "1.0.3", "namespace": "shop", "name": name, "version": "1.0.0"}
    return {"document": head, **more, "do": [{f"t{n}": one} for n, one in enumerate(tasks)]}


REPORT = document(
    "report", {"set": "${ {ids: map(.id)} }"}, schedule={"on": {"one": {"with": {"type": "paid"}}}}
)
HEARING = document("hearing", {"listen": {"to": {"one": {"with": {"type": "paid"}}}}})
PAYING = document("paying", {"emit": {"event": {"with": {"type": "paid", "id": "emitted"}}}})


async def until(look):
    async with asyncio.timeout(PATIENCE_S):
        while not (found := await look()):
            await asyncio.sleep(0.05)
        return found


async def test_events_start_the_runs_that_a_document_asks_for(service):
    firing = asyncio.create_task(TriggerClock(service.backend, HostLog()).run())
    try:
        await service.create(REPORT)
        trigger = (await service.get("/triggers/schedule_shop_report")).json()
        assert (True, "on") == (trigger["of_document"], trigger["settings"]["kind"])
        refused = await service.client.delete("/api/v1/triggers/schedule_shop_report")
        assert (409, "TRIGGER_OF_DOCUMENT") == (refused.status_code, refused.json()["code"])
        listening = await service.start(HEARING)

        async def waits():
            return any(event["type"] == "node.waiting" for event in await service.events(listening))

        await until(waits)
        event = {"specversion": "1.0", "id": "1", "source": "test", "type": "paid", "data": 7}
        taken = await service.post("/events", content=json.dumps(event), headers=STRUCTURED)
        (fired,) = taken.json()["fired"]
        assert "completed" == (await service.ended(fired["execution_id"]))["status"]
        assert "completed" == (await service.ended(listening))["status"]

        await service.ended(await service.start(PAYING))

        async def both():
            found = (await service.get("/triggers/schedule_shop_report/firings")).json()["items"]
            return [one for one in found if one["state"] == "started"][1:]

        await until(both)
        await service.post("/workflows/shop_report:disable")
        assert 404 == (await service.get("/triggers/schedule_shop_report")).status_code
    finally:
        await cancel(firing)


class Sink:
    """Takes events, and refuses some of them at first."""

    def __init__(self):
        self.events = []
        self.offered = 0

    async def __call__(self, event):
        self.offered += 1
        if self.offered in (1, 4, 6, 12):
            raise OSError("not now")
        self.events.append(event)


async def test_what_happens_to_a_run_is_told_at_least_once(service):
    backend = service.backend
    embedded = backend.kind == "embedded"
    tables = backend.archive._tables if embedded else backend.cluster.tables
    outlets, sink, name = TablePublishPositions(tables), Sink(), "lifecycle"
    await outlets.take(name, "", first=0, now_ms=0, until_ms=0)
    run = await service.start(document("resting", {"set": {"n": 1}}, {"wait": "PT2S"}))

    async def waits():
        return any(event["type"] == "node.waiting" for event in await service.events(run))

    await until(waits)
    assert 202 == (await service.post(f"/runs/{run}:pause")).status_code
    assert 202 == (await service.post(f"/runs/{run}:resume")).status_code
    await service.ended(run)

    async def told():
        late_ms = 0 if embedded else LATE_MS
        publisher = LifecyclePublisher(
            backend.archive, outlets, sink, HostClock(), HostLog(), "me", late_ms=late_ms
        )
        with suppress(OSError):  # another process goes on from there
            await publisher.turn(name)
        return [event for event in sink.events if event["type"].endswith("workflow.completed.v1")]

    await until(told)
    distinct = {event["id"]: event for event in sink.events}
    found = [
        one["type"].removeprefix(PREFIX).removesuffix(".v1")
        for one in distinct.values()
        if "status-changed" not in one["type"]
    ]
    assert [
        "task.completed",
        "task.completed",
        "task.created",
        "task.created",
        "task.resumed",
        "task.started",
        "task.started",
        "task.suspended",
        "workflow.completed",
        "workflow.resumed",
        "workflow.started",
        "workflow.suspended",
    ] == sorted(found)
    assert "workflow.completed" == found[-1]
    assert f"resting-{run}.shop" == next(iter(distinct.values()))["data"]["name"]

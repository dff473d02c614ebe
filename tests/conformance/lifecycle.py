"""Sentences about lifecycle events: what is told of a run while it goes on and when it is over."""

from __future__ import annotations

from typing import Any

from conformance.scenarios import Stage, step, value_of, within
from serverless.lab import File
from weft.adapters.access.outlets import TableOutlets
from weft.adapters.embedded.archive import SqliteArchive
from weft.adapters.embedded.tables import SqliteTables
from weft.kernel.effects import Pause
from weft.runtime.lifecycle_publisher import LifecyclePublisher

NAME = "lifecycle"
PREFIX = "io.serverlessworkflow."


class _Sink:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def __call__(self, event: Any) -> None:
        self.events.append(dict(event))


@step("lifecycle events are kept")
async def _(stage: Stage) -> None:
    stage.lab.keeps_events = True


async def _told(stage: Stage, *, changes: bool = False) -> list[dict[str, Any]]:
    """Return the lifecycle events of the file; those about a status only if they are wanted."""
    if "told" not in stage.more:
        stage.more["told"] = await _published(stage)
    return [one for one in stage.more["told"] if changes or "status-changed" not in one["type"]]


async def _published(stage: Stage) -> list[dict[str, Any]]:
    file: Any = File(stage.lab.path)
    outlets, sink, clock = TableOutlets(SqliteTables(file)), _Sink(), stage.lab.clock
    await outlets.take(NAME, "", first=0, now_ms=0, until_ms=0)
    publisher = LifecyclePublisher(SqliteArchive(file), outlets, sink, clock, stage.lab.log, "me")
    while await publisher.turn(NAME):
        pass
    for one in sink.events:
        one["type"] = one["type"].removeprefix(PREFIX).removesuffix(".v1")
    return sink.events


@step("these lifecycle events should be told:")
async def _(stage: Stage, block: str) -> None:
    found = await _told(stage)
    expected = [
        {"type": kind, "data": data or {}}
        for one in value_of(block)
        for kind, data in (one.items() if isinstance(one, dict) else [(one, None)])
    ]
    assert [one["type"] for one in expected] == [one["type"] for one in found], found
    assert all(map(within, expected, found)), found


@step("the statuses told of (the workflow|[^ ]+) should be: (.+)")
async def _(stage: Stage, whose: str, phases: str) -> None:
    family = "workflow" if whose == "the workflow" else "task"
    found = [
        one["data"]["status"]
        for one in await _told(stage, changes=True)
        if one["type"] == f"{family}.status-changed"
        and (family == "workflow" or one["data"]["task"].endswith(f"/{whose}"))
    ]
    assert phases.split(", ") == found, found


@step("the workflow is executed, paused while it waits, and goes on")
async def _(stage: Stage) -> None:
    lab = stage.lab
    async with lab.engine() as engine:
        lab.clock.hold()
        run = await lab.start(engine, stage.definition, stage.given)
        await lab.book.until(lambda: any(one.status == "waiting" for one in lab.news))
        await engine.ask(run, Pause(on=True))
        await engine.ask(run, Pause(on=True))
        await engine.ask(run, Pause(on=False))
        lab.clock.release()
        stage.ended = await lab.finish(engine, run)


@step("the workflow is executed and cancelled while it waits")
async def _(stage: Stage) -> None:
    lab = stage.lab
    async with lab.engine() as engine:
        lab.clock.hold()
        run = await lab.start(engine, stage.definition, stage.given)
        await lab.book.until(lambda: any(one.status == "waiting" for one in lab.news))
        await engine.cancel(run, "enough")
        stage.ended = await lab.finish(engine, run)

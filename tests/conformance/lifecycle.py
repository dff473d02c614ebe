"""Sentences about lifecycle events: what is told of a run while it goes on and when it is over."""

from __future__ import annotations

from typing import Any

from conformance.scenarios import Stage, step, value_of, within

PREFIX = "io.serverlessworkflow."


@step("lifecycle events are kept")
async def _(stage: Stage) -> None:
    await stage.lab.keep_events()


async def _told(stage: Stage, *, changes: bool = False) -> list[dict[str, Any]]:
    """Return the lifecycle events of the run; those about a status only if they are wanted."""
    if "told" not in stage.more:
        stage.more["told"] = await stage.lab.lifecycle_events()
        for one in stage.more["told"]:
            one["type"] = one["type"].removeprefix(PREFIX).removesuffix(".v1")
    return [one for one in stage.more["told"] if changes or "status-changed" not in one["type"]]


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
    stage.ended = await stage.lab.run_with_a_pause(stage.definition, stage.given)


@step("the workflow is executed and cancelled while it waits")
async def _(stage: Stage) -> None:
    stage.ended = await stage.lab.run_and_cancel(stage.definition, stage.given)

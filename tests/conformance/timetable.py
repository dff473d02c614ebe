"""Sentences about schedules: documents are published, time passes, and runs start by themselves."""

from __future__ import annotations

from typing import Any

from conformance.laboratory import Timetable
from conformance.scenarios import HEAD, Stage, step, value_of, within
from onward.errors import DefinitionError
from onward.languages.serverless.read.document import parse


async def _timetable(stage: Stage) -> Timetable:
    """Return the master of a scenario, which works until the scenario ends."""
    if "timetable" not in stage.more:
        opened = stage.lab.timetable()
        stage.more["timetable"] = await opened.__aenter__()
        stage.closing.append(lambda: opened.__aexit__(None, None, None))
    table: Timetable = stage.more["timetable"]
    return table


async def _publish(stage: Stage, source: str) -> Timetable | None:
    try:
        parse(source)
    except DefinitionError as refused:
        stage.refused = refused
        return None
    table = await _timetable(stage)
    await table.publish(source)
    return table


async def _pass_by(table: Timetable, seconds: str) -> None:
    await table.pass_by(round(float(seconds) * 1000))


@step("the workflow is published and ([0-9.]+) seconds pass")
async def _(stage: Stage, seconds: str) -> None:
    table = await _publish(stage, stage.definition)
    if table is not None:
        await _pass_by(table, seconds)


@step("a version with this body is published and ([0-9.]+) seconds pass:")
async def _(stage: Stage, seconds: str, block: str) -> None:
    table = await _publish(stage, HEAD.replace("1.0.0", "1.1.0") + block)
    assert table is not None
    await _pass_by(table, seconds)


@step("these events come and ([0-9.]+) seconds pass:")
async def _(stage: Stage, seconds: str, block: str) -> None:
    table = await _timetable(stage)
    await table.tell(value_of(block))
    await _pass_by(table, seconds)


@step("the workflow is (enabled|disabled) and ([0-9.]+) seconds pass")
async def _(stage: Stage, how: str, seconds: str) -> None:
    table = await _timetable(stage)
    await table.enable(how == "enabled")
    await _pass_by(table, seconds)


@step("runs should have started after these seconds: (.*)")
async def _(stage: Stage, seconds: str) -> None:
    table = await _timetable(stage)
    assert [float(one) for one in seconds.split(",") if one.strip()] == table.starts


@step("the inputs of these runs should be:")
async def _(stage: Stage, block: str) -> None:
    """In any order: what comes in the same millisecond starts as it likes."""
    table = await _timetable(stage)
    left = list(table.inputs)
    for one in value_of(block):
        found = [given for given in left if _fits(one, given)]
        assert found, (one, left)
        left.remove(found[0])
    assert [] == left


def _fits(expected: Any, given: Any) -> bool:
    if not isinstance(expected, list):
        return bool(expected == given)
    return len(expected) == len(given) and all(map(within, expected, given))


@step("the workflow should have (no|one) trigger of its own")
async def _(stage: Stage, many: str) -> None:
    table = await _timetable(stage)
    assert (many == "one") == await table.has_trigger()

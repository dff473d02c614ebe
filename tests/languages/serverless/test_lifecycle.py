"""Where lifecycle events go: what is refused, what a file holds, and what a slow sink loses."""

import json

import pytest

from conformance.scenarios import HEAD
from languages.serverless.lab import File
from onward.adapters.host.event_file import EventFile
from onward.adapters.sql.publish_positions import TablePublishPositions
from onward.adapters.sqlite.connection import SqliteDatabase
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.bootstrap.telemetry import check_sink
from onward.errors import InputError
from onward.ports.nodes.outside import OutsideError
from onward.runtime.signals import lifecycle_publisher
from onward.runtime.signals.lifecycle_publisher import LifecyclePublisher

TASKS = HEAD + "do: [{one: {set: {n: 1}}}, {two: {wait: PT1S}}, {three: {set: {n: 3}}}]"


@pytest.mark.parametrize(
    "target", ["ftp://there", "events.jsonl", "file:", "file:/nowhere/at/all/x"]
)
def test_a_place_where_nothing_can_be_told_is_refused(target):
    with pytest.raises(InputError, match="--lifecycle-events"):
        check_sink(target)


def test_urls_and_files_are_places(tmp_path):
    check_sink("https://example.com/events")
    check_sink(f"file:{tmp_path}/events.jsonl")


async def _publisher(lab, send, holder="me"):
    lab.keeps_events = True
    await lab.run(TASKS)
    file = File(lab.path)
    outlets = TablePublishPositions(SqliteDatabase(file))
    await outlets.take("it", "", first=0, now_ms=0, until_ms=0)
    archive = SqliteRunQueries(file)
    return LifecyclePublisher(archive, outlets, send, lab.clock, lab.log, holder), outlets


async def test_a_file_holds_an_event_in_each_line(lab, tmp_path):
    publisher, _ = await _publisher(lab, EventFile(tmp_path / "events"))
    await publisher.turn("it")
    lines = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]

    assert "io.serverlessworkflow.workflow.started.v1" == lines[0]["type"]
    assert len(lines) == len({line["id"] for line in lines})


async def test_what_was_told_is_not_told_again(lab):
    told = []

    async def send(event):
        told.append(event["id"])

    publisher, _ = await _publisher(lab, send)
    await publisher.turn("it")
    known = list(told)
    await publisher.turn("it")

    assert known == told


async def test_another_waits_until_the_one_that_tells_has_been_silent_for_long(lab):
    told = []

    async def send(event):
        told.append(event["id"])

    publisher, outlets = await _publisher(lab, send)
    now = lab.clock.now
    assert await outlets.take("it", "other", first=0, now_ms=now, until_ms=now + 60_000) is not None
    assert not await publisher.turn("it")
    assert [] == told
    lab.clock.now += 60_001
    await publisher.turn("it")
    assert told
    assert not await outlets.move("it", "other", 5, until_ms=0)


async def test_a_sink_that_stays_behind_loses_the_oldest_and_the_log_says_so(lab, monkeypatch):
    monkeypatch.setattr(lifecycle_publisher, "MOST_BEHIND", 2)
    told = []

    async def send(event):
        told.append(event["type"])

    publisher, _ = await _publisher(lab, send)
    await publisher.turn("it")

    assert "io.serverlessworkflow.workflow.started.v1" not in told
    assert "io.serverlessworkflow.workflow.completed.v1" in told
    assert any(level == "error" and "dropped" in text for level, text, _ in lab.log.lines)


async def test_a_sink_that_refuses_is_offered_the_same_again(lab):
    offered = []

    async def send(event):
        offered.append(event["id"])
        if len(offered) == 4:
            raise OutsideError("not now", "EVENT_SINK")

    publisher, _ = await _publisher(lab, send)
    with pytest.raises(OutsideError):
        await publisher.turn("it")
    await publisher.turn("it")

    assert offered[3] in offered[4:]

"""Retention by time, on every store: what ended too long ago goes, all else stays."""

import click
import pytest

from onward.cli.output.durations import span
from onward.errors import StorageError
from onward.kernel.messages import CompletionMessage
from onward.kernel.timestamps import to_iso
from onward.runtime.control.retention import Retention

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS


class Noon:
    """A clock that stands still."""

    def now_ms(self):
        return NOW_MS


class Lines:
    """A log that keeps its lines."""

    def __init__(self):
        self.lines = []

    def write(self, level, message, **fields):
        self.lines.append((level, message))


def ended(run, days_ago):
    return CompletionMessage(
        workflow_id="flow",
        execution_id=run,
        status="completed",
        final_context={},
        completed_at=to_iso(NOW_MS - round(days_ago * DAY_MS)),
        total_duration_ms=5,
    )


async def test_runs_that_ended_longer_ago_than_history_is_kept_are_dropped(store):
    runs = [ended("old", 31), ended("older", 300), ended("young", 29)]
    await store.fold([], runs)
    log = Lines()

    dropped = await Retention(store, Noon(), log, 30 * DAY_MS).turn()
    again = await Retention(store, Noon(), log, 30 * DAY_MS).turn()

    assert (2, 0) == (dropped, again)
    assert ["young"] == [execution.execution_id for execution in await store.executions()]
    assert [("info", "dropped 2 runs that ended too long ago to be kept")] == log.lines


async def test_more_than_one_batch_is_dropped_in_one_turn(store):
    await store.fold([], [ended(f"old-{n}", 40) for n in range(450)])

    assert 450 == await Retention(store, Noon(), Lines(), 30 * DAY_MS).turn()
    assert [] == await store.executions()


async def test_a_store_that_is_away_is_asked_again_next_time():
    class Away:
        async def prune(self, before_ms):
            raise StorageError("PostgreSQL is starting")

    log = Lines()

    assert 0 == await Retention(Away(), Noon(), log, DAY_MS).turn()
    assert [("warning", "old runs could not be dropped: PostgreSQL is starting")] == log.lines


@pytest.mark.parametrize(
    ("written", "expected"),
    [("90s", 90_000), ("15m", 900_000), ("12h", 43_200_000), ("30d", 30 * DAY_MS)],
)
def test_a_span_is_written_as_a_number_and_a_unit(written, expected):
    assert expected == span(None, None, written)


@pytest.mark.parametrize("written", ["30", "d", "0d", "-1d", "1.5d", "30 d", "1w", ""])
def test_what_is_no_span_is_told_how_one_is_written(written):
    with pytest.raises(click.BadParameter, match="such as 90s, 15m, 12h or 30d"):
        span(None, None, written)

"""What becomes of firings that wait: the decision alone, and then with runs that take time."""

import asyncio

import pytest

from onward.ports.storage.triggers import Firing, Interval, Standing
from onward.runtime.triggers.clock import settle
from onward.runtime.triggers.firing import scheduled

MINUTE = 60_000


def firing(number, overlap="skip", cause="schedule", state="waiting"):
    return Firing(
        trigger_id="t",
        key=str(number),
        cause=cause,
        due_ms=number,
        at_ms=number,
        execution_id=f"run-{number}",
        state=state,
        overlap=overlap,
    )


def decided(active, waiting, enabled=True):
    verdict = settle(Standing(enabled=enabled, active=tuple(active), waiting=tuple(waiting)))
    return (
        [int(one.key) for one in verdict.start],
        [int(one.key) for one in verdict.skip],
        list(verdict.cancel),
    )


@pytest.mark.parametrize(
    ("overlap", "free", "busy"),
    [
        ("skip", ([2], [3], []), ([], [2, 3], [])),
        ("queue", ([2], [], []), ([], [], [])),
        ("allow", ([2, 3], [], []), ([2, 3], [], [])),
        ("cancel", ([3], [2], []), ([], [2], ["run-1"])),
    ],
)
def test_each_policy_decides_about_two_that_wait(overlap, free, busy):
    waiting = [firing(2, overlap), firing(3, overlap)]

    assert free == decided([], waiting)
    assert busy == decided([firing(1, overlap, state="started")], waiting)


def test_what_starts_is_not_cancelled_before_it_has():
    assert ([], [], []) == decided([firing(1, "cancel", state="starting")], [firing(2, "cancel")])


def test_a_backfill_is_in_nobodys_way():
    old = firing(1, "queue", "backfill", "started")

    assert ([2], [], []) == decided([old], [firing(2), firing(3, "queue", "backfill")])


def test_what_waits_for_a_trigger_that_was_disabled_is_given_up():
    assert ([], [2, 3], []) == decided([], [firing(2, "allow"), firing(3, "queue")], enabled=False)


# -- with runs -----------------------------------------------------------------------------------


async def lived(world, overlap, minutes):
    """Let a minutely schedule live, whose runs do not end by themselves."""
    await world.add("t", Interval(every_ms=MINUTE, overlap=overlap))
    master = world.master()
    for _ in range(minutes):
        world.clock.now += MINUTE
        for _ in range(3):
            await master.turn()
    return [firing.state for firing in await world.firings("t")]


async def test_skipped_while_the_run_before_goes_on(world):
    assert ["started", "skipped", "skipped"] == await lived(world, "skip", 3)
    notes = [firing.note for firing in await world.firings("t")]
    assert f"run {next(iter(world.started))} had not ended" == notes[1]


async def test_queued_until_the_run_before_has_ended(world):
    assert ["started", "waiting", "waiting"] == await lived(world, "queue", 3)
    first, master = next(iter(world.started)), world.master()
    await world.end(first)
    await master.turn()

    states = [firing.state for firing in await world.firings("t")]
    assert ["ended", "started", "waiting"] == states


async def test_beside_the_run_before(world):
    assert ["started"] * 3 == await lived(world, "allow", 3)


async def test_the_run_before_is_cancelled(world):
    assert ["ended", "ended", "started"] == await lived(world, "cancel", 3)
    assert list(world.started)[:2] == world.cancelled


async def test_what_is_missed_is_told_in_one_line(world):
    await world.add("t", Interval(every_ms=MINUTE, misfire="skip", grace_ms=1_000))
    world.clock.now += 60 * MINUTE + 30_000
    await world.master().turn()
    world.clock.now += 30_000
    await world.master().turn()

    missed, fired = await world.firings("t")
    assert ("skipped", "started") == (missed.state, fired.state)
    assert missed.note.startswith("60 times since")


async def test_what_was_left_half_done_is_started_by_another_and_only_after_a_while(world):
    trigger = await world.add("t", Interval(every_ms=MINUTE))
    world.clock.now += MINUTE
    due = trigger.next_due_ms
    await world.triggers.advance(trigger, due + MINUTE, [scheduled(trigger, due, world.clock.now)])
    await world.triggers.settle("t", settle)  # and then it died
    await world.master().turn()
    assert {} == world.started

    world.clock.now += 6_000
    await world.master().turn()
    assert ["started"] == [firing.state for firing in await world.firings("t")]
    assert 1 == len(world.started)


async def test_firings_are_forgotten_after_a_week_but_not_those_that_wait(world):
    await lived(world, "queue", 2)
    world.clock.now += 8 * 24 * 60 * MINUTE
    trigger = await world.triggers.trigger("t")
    await world.triggers.advance(trigger, world.clock.now + MINUTE, [])
    await world.end(next(iter(world.started)))
    await world.triggers.drop_firings(world.clock.now - 7 * 24 * 60 * MINUTE)

    assert ["waiting"] == [firing.state for firing in await world.firings("t")]


async def test_of_many_who_move_a_schedule_on_one_does(world):
    trigger = await world.add("t", Interval(every_ms=MINUTE))
    moves = [world.triggers.advance(trigger, trigger.next_due_ms + MINUTE, []) for _ in range(8)]

    assert 1 == sum(await asyncio.gather(*moves))

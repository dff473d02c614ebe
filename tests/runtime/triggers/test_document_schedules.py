"""Schedules of documents on real stores: what is published decides, whoever dies when."""

import asyncio
from random import Random

import pytest

from onward.errors import InputError, StateConflictError
from onward.ports.storage.triggers import After, Interval, On
from onward.runtime.triggers.events import EventTriggers
from onward.runtime.triggers.service import TriggerService
from onward.runtime.workflows.document_schedules import DocumentSchedules, trigger_of
from onward.runtime.workflows.service import WorkflowService
from runtime.triggers.world import KilledError

EVERY = Interval(every_ms=60_000, overlap="allow", input={}, of_document=True)
PAIR = {
    "all": [
        {"with": {"type": "made"}, "correlate": {"order": {"from": ".data.order"}}},
        {"with": {"type": "paid"}, "correlate": {"order": {"from": ".data.order"}}},
    ]
}
TRIGGER = trigger_of("wf")


async def follow(world):
    await DocumentSchedules(world).follow("wf")


def event(kind, order, source="shop"):
    return {
        "specversion": "1.0",
        "id": f"{kind}-{order}",
        "source": source,
        "type": kind,
        "data": {"order": order},
    }


async def test_what_a_dead_publisher_left_is_made_up_for(world):
    world.schedules["wf"] = EVERY
    assert await world.triggers.trigger(TRIGGER) is None

    await DocumentSchedules(world).follow_all(world.log)

    assert EVERY == (await world.triggers.trigger(TRIGGER)).settings


async def test_one_schedule_that_cannot_be_kept_holds_up_no_other(world):
    await world.publish("aa")
    await world.add(trigger_of("aa"), Interval(every_ms=5_000))
    world.schedules |= {"aa": EVERY, "wf": EVERY}

    await DocumentSchedules(world).follow_all(world.log)

    assert EVERY == (await world.triggers.trigger(TRIGGER)).settings
    assert [("warning", True)] == [
        (level, "schedule_aa" in text) for level, text in world.log.lines
    ]


async def test_following_again_changes_nothing(world):
    world.schedules["wf"] = EVERY
    await follow(world)
    first = await world.triggers.trigger(TRIGGER)
    world.clock.now += 90_000
    await follow(world)

    assert first == await world.triggers.trigger(TRIGGER)


async def test_of_two_who_publish_at_once_the_last_one_decides(world):
    """Whoever was held up between publishing and changing the trigger does not change it back."""
    world.schedules["wf"] = EVERY
    late = DocumentSchedules(world)
    real, asked = world.registry.workflow, []

    async def workflow(name):
        found = await real(name)
        if not asked:
            asked.append(name)
            await WorkflowService(world).enable("wf", False, None)
        return found

    world.registry.workflow = workflow
    await late.follow("wf")

    assert await world.triggers.trigger(TRIGGER) is None


async def test_disabling_the_workflow_removes_the_trigger(world):
    world.schedules["wf"] = EVERY
    await follow(world)
    await WorkflowService(world).enable("wf", False, None)

    assert await world.triggers.trigger(TRIGGER) is None


async def test_only_publishing_changes_the_trigger_of_a_document(world):
    world.schedules["wf"] = EVERY
    await follow(world)
    changes = TriggerService(world)

    with pytest.raises(StateConflictError, match="publish a version"):
        await changes.remove(TRIGGER, None)
    with pytest.raises(StateConflictError, match="publish a version"):
        await changes.change(TRIGGER, Interval(every_ms=5_000), True, None)
    assert not (await changes.enable(TRIGGER, False, None)).enabled


async def test_nobody_else_can_have_its_name(world):
    with pytest.raises(InputError, match="schedules of documents"):
        await TriggerService(world).create(TRIGGER, "wf", Interval(every_ms=5_000))


async def test_a_trigger_of_that_name_from_before_is_not_overwritten(world):
    await world.add(TRIGGER, Interval(every_ms=5_000))
    world.schedules["wf"] = EVERY

    with pytest.raises(StateConflictError, match="remove it"):
        await follow(world)
    world.schedules.clear()
    await follow(world)

    assert Interval(every_ms=5_000) == (await world.triggers.trigger(TRIGGER)).settings


def test_a_long_name_still_has_a_trigger():
    assert 128 >= len(trigger_of("n" * 127))
    assert trigger_of("n" * 127) != trigger_of("m" * 127)


async def test_the_next_run_starts_a_while_after_the_last_ended_and_never_beside_it(world):
    """Two masters, killed at random calls: runs follow each other, each after the whole delay."""
    await world.add("t", After(delay_ms=10_000, input={}))
    dice, killed = Random(7), 0
    begun, ends, running = [], [], None
    for _ in range(600):
        world.clock.now += 1_000
        if running is not None and world.clock.now - begun[-1] >= 25_000:
            await world.end(running)
            ends.append(world.clock.now)
            running = None
        for _ in range(2):
            known = len(world.started)
            try:
                await world.master(dice, 0.03).turn()
            except KilledError:
                killed += 1
            if len(world.started) > known:
                assert running is None, "two at once"
                running = list(world.started)[-1]
                begun.append(world.clock.now)

    assert killed > 10
    assert len(begun) > 12
    pauses = [start - end for end, start in zip(ends, begun[1:], strict=False)]
    # A firing that a dead master left is started five seconds later by another.
    assert all(10_000 <= pause <= 21_000 for pause in pauses), pauses


async def test_a_run_that_takes_longer_than_firings_are_kept_still_holds_up_the_next(world):
    await world.add("t", After(delay_ms=10_000, input={}))
    world.clock.now += 11_000
    await world.master().turn()
    world.clock.now += 8 * 24 * 3_600_000
    await world.master().turn()
    world.clock.now += 24 * 3_600_000
    await world.master().turn()

    assert 1 == len(world.started)


async def test_a_delay_that_outlives_the_firing_is_kept(world):
    day = 24 * 3_600_000
    await world.add("t", After(delay_ms=30 * day, input={}))
    world.clock.now += 30 * day
    await world.master().turn()
    world.clock.now += 2 * day
    await world.end(next(iter(world.started)))
    ended = world.clock.now
    while len(world.started) < 2:
        world.clock.now += day // 2
        assert world.clock.now < ended + 40 * day
        await world.master().turn()

    assert 30 * day == world.clock.now - ended


async def test_events_that_belong_together_start_one_run_however_many_take_them(world):
    await world.add(TRIGGER, On(strategy=PAIR, types=("made", "paid")))
    events = [event(kind, order) for order in range(12) for kind in ("made", "paid")]
    Random(3).shuffle(events)
    takers = [EventTriggers(world.triggers, world.gatherings, world.clock) for _ in range(3)]

    async def take(taker, some):
        for one in some:
            await taker.take(one)

    # Each event comes to two of the three, at the same time.
    await asyncio.gather(
        *(take(taker, [*events[n::3], *events[(n + 1) % 3 :: 3]]) for n, taker in enumerate(takers))
    )
    while (await world.master().turn()) and len(world.started) < 12:
        world.clock.now += 1_000

    found = sorted(tuple(sorted(one["id"] for one in given)) for given in world.started.values())
    assert sorted((f"made-{order}", f"paid-{order}") for order in range(12)) == found
    assert () == (await world.gatherings.read(TRIGGER)).open


async def test_a_gathering_that_is_too_old_is_given_up(world):
    await world.add(TRIGGER, On(strategy=PAIR, types=("made", "paid")))
    taking = EventTriggers(world.triggers, world.gatherings, world.clock)
    await taking.take(event("made", 1))
    world.clock.now += 8 * 24 * 3_600_000
    await taking.take(event("made", 2))

    assert ["made-2"] == [
        event["id"]
        for gathering in (await world.gatherings.read(TRIGGER)).open
        for event in await world.gatherings.events(TRIGGER, gathering.name)
    ]

"""RFC 006: a wait costs nothing while it lasts, survives a restart, and ends once."""

import pytest

from support.documents import TRIGGER, node, transform, workflow
from support.jumping import START_MS

HOUR_MS = 3_600_000


def waiting(**how):
    return workflow(
        TRIGGER,
        node("pause", "wait", **how),
        node("after", "probe", tag="after", value="$pause"),
        "start -> pause -> after",
    )


@pytest.mark.parametrize(
    ("amount", "unit", "ms"),
    [(5, "seconds", 5_000), (2, "minutes", 120_000), (3, "hours", 10_800_000),
     (1.5, "days", 129_600_000), (0, "seconds", 0)],
)  # fmt: skip
async def test_a_wait_lasts_its_amount_of_units(lab, amount, unit, ms):
    ended = await lab.run(waiting(amount=amount, unit=unit))

    assert "completed" == ended.status
    assert START_MS + ms == lab.book.executions[0].at_ms


async def test_a_wait_until_a_date_resumes_then(lab):
    ended = await lab.run(waiting(resume="until", until="2025-06-16T09:00:00+02:00"))

    assert {"resumed_at": "2025-06-16T07:00:00.000Z"} == ended.output("after")


async def test_a_wait_until_a_date_in_the_past_resumes_at_once(lab):
    ended = await lab.run(waiting(resume="until", until="1999-12-31"))

    assert {"resumed_at": "2025-06-15T15:06:40.000Z"} == ended.output("after")
    assert START_MS == lab.clock.now


async def test_the_amount_may_be_an_expression(lab):
    await lab.run(waiting(amount="$trigger.hours", unit="hours"), {"hours": 4})

    assert START_MS + 4 * HOUR_MS == lab.clock.now


async def test_a_date_that_is_none_fails_the_node_and_names_the_parameter(lab):
    ended = await lab.run(waiting(resume="until", until="$trigger"), "tomorrow")

    assert ("halted", "BAD_PARAMETER") == (ended.status, ended.message.error.code)
    assert "until" in ended.message.error.message


async def test_a_wait_as_the_last_node_ends_the_run_when_it_is_over(lab):
    document = workflow(TRIGGER, node("pause", "wait", amount=1, unit="days"), "start -> pause")

    ended = await lab.run(document)

    assert ("completed", ("pause",)) == (ended.status, ended.message.output_nodes)
    assert START_MS + 24 * HOUR_MS == lab.clock.now
    assert 24 * HOUR_MS == ended.message.total_duration_ms


async def test_a_wait_as_the_last_node_of_an_item_fills_its_slot(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("pause", "wait", amount="$item"),
        node("all", "aggregator"),
        transform("after", "$all | length"),
        "start -> each -> pause",
        "each -> all -> after",
    )

    ended = await lab.run(document, [60, 10])

    assert ("completed", 2) == (ended.status, ended.output("after"))
    assert START_MS + 60_000 == lab.clock.now


async def test_an_item_that_waits_does_not_hold_up_the_others(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("pause", "wait", amount="$item"),
        node("p", "probe", tag="$item"),
        node("all", "aggregator"),
        "start -> each -> pause -> p -> all",
    )

    await lab.run(document, [300, 1, 20, 1])

    assert [1, 1, 20, 300] == lab.book.tags()
    assert [1_000, 1_000, 20_000, 300_000] == [
        execution.at_ms - START_MS for execution in lab.book.executions
    ]


async def test_a_short_wait_behind_a_long_one_is_not_blocked_by_it(lab):
    document = workflow(
        TRIGGER,
        node("long", "wait", amount=6),
        node("short", "wait", amount=1),
        node("a", "probe", tag="long"),
        node("b", "probe", tag="short"),
        "start -> long -> a",
        "start -> short -> b",
    )

    await lab.run(document)

    assert [("short", 1_000), ("long", 6_000)] == [
        (execution.tag, execution.at_ms - START_MS) for execution in lab.book.executions
    ]


async def test_a_wait_goes_on_after_a_restart_and_is_not_started_anew(lab):
    lab.clock.hold()
    async with lab.engine() as engine:
        run = await lab.start(engine, waiting(amount=1, unit="hours"))
        await lab.book.until(lambda: any(getattr(new, "metadata", None) for new in lab.news))
    lab.clock.now += HOUR_MS // 2
    lab.clock.release()

    ended = await lab.resume(run)

    assert "completed" == ended.status
    assert [START_MS + HOUR_MS] == [execution.at_ms for execution in lab.book.executions]
    assert 1 == ended.states("pause").count("waiting")


async def test_a_wait_that_was_due_while_nobody_served_it_resumes_at_once(lab):
    lab.clock.hold()
    async with lab.engine() as engine:
        run = await lab.start(engine, waiting(amount=1, unit="hours"))
        await lab.book.until(lambda: any(getattr(new, "metadata", None) for new in lab.news))
    lab.clock.now += 48 * HOUR_MS

    ended = await lab.resume(run)

    assert "completed" == ended.status
    assert {"resumed_at": "2025-06-15T16:06:40.000Z"} == ended.output("after")


async def test_a_thousand_timers_due_in_the_same_second_all_fire_once(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("pause", "wait", amount=10),
        node("all", "aggregator", collect="$item"),
        "start -> each -> pause -> all",
    )

    ended = await lab.run(document, list(range(1000)))

    assert list(range(1000)) == ended.output("all")
    assert 1000 == len(ended.outputs("pause"))


async def test_a_halted_run_leaves_no_timer_behind(lab):
    document = workflow(
        TRIGGER,
        node("pause", "wait", amount=99, unit="days"),
        node("p", "probe", gate="g"),
        node("bad", "fail"),
        "start -> pause",
        "start -> p -> bad",
    )
    lab.clock.hold()
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until_parked(1)
        lab.book.gate("g").set()
        ended = await lab.finish(engine, run)

    assert ("halted", START_MS) == (ended.status, lab.clock.now)

"""A stored message that can never be handled ends its own run, with the reason, and no other."""

import pytest

from support.documents import TRIGGER, node, workflow

WAITING = workflow(
    TRIGGER, node("p", "probe", gate="g", value=1), node("after", "noop"), "start -> p -> after"
)
SLEEPING = workflow(TRIGGER, node("pause", "wait", amount=60), "start -> pause")


async def parked(lab, document=WAITING):
    """Return two runs of which the engine was stopped while a message of each was stored."""
    async with lab.engine() as engine:
        first = await lab.start(engine, document)
        second = await lab.start(engine, document)
        await lab.book.until_parked(2)
    lab.book.gate("g").set()
    return first, second


async def both(lab, first, second):
    """Return how both runs end on one engine."""
    async with lab.engine() as engine:
        engine.resume(first)
        engine.resume(second)
        return await lab.finish(engine, first), await lab.finish(engine, second)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b"[]",
        b"{}",
        b'{"workflow_id": 5}',
        b"[" * 100_000,
    ],
    ids=["empty", "text", "binary", "array", "object", "wrong type", "deep"],
)
async def test_a_message_that_does_not_decode_ends_its_run_and_no_other(lab, body):
    first, second = await parked(lab)
    assert 1 == lab.tamper("UPDATE message SET body = ? WHERE execution_id = ?", body, first)

    bad, good = await both(lab, first, second)

    assert ("failed", "QUARANTINED") == (bad.status, bad.message.error.code)
    assert "completed" == good.status


async def test_a_message_for_an_unknown_node_ends_its_run_and_names_the_node(lab):
    first, second = await parked(lab)
    changed = lab.tamper(
        "UPDATE message SET body = CAST(replace(body, ?, ?) AS BLOB) WHERE execution_id = ?",
        '"current_node":"p"',
        '"current_node":"ghost"',
        first,
    )
    assert 1 == changed

    bad, good = await both(lab, first, second)

    assert ("failed", "QUARANTINED") == (bad.status, bad.message.error.code)
    assert "ghost" in bad.message.error.message
    assert "completed" == good.status


async def test_what_is_in_quarantine_keeps_the_message_and_the_reason(lab):
    first, second = await parked(lab)
    lab.tamper("UPDATE message SET body = ? WHERE execution_id = ?", b"garbage", first)
    await both(lab, first, second)

    journal = lab.open_journal(lab.path)
    (one,) = journal.quarantine()
    journal.close()

    assert (first, b"garbage") == (one.execution_id, one.body)
    assert "malformed" in one.reason


async def test_an_undecodable_message_is_met_also_when_every_slot_is_taken(lab):
    first, second = await parked(lab)
    lab.tamper("UPDATE message SET body = ? WHERE execution_id = ?", b"\xff", first)
    lab.book.gates.clear()
    async with lab.engine(slots=1) as engine:
        engine.resume(second)
        await lab.book.until_parked(1)
        engine.resume(first)
        bad = await lab.finish(engine, first)
        lab.book.gate("g").set()
        good = await lab.finish(engine, second)

    assert ("failed", "completed") == (bad.status, good.status)


@pytest.mark.parametrize(
    "body", [b"garbage", b"\xff", b"[" * 100_000], ids=["text", "binary", "deep"]
)
async def test_a_timer_whose_message_does_not_decode_ends_its_run_and_no_other(lab, body):
    lab.clock.hold()
    async with lab.engine() as engine:
        first = await lab.start(engine, SLEEPING)
        second = await lab.start(engine, SLEEPING)
        await lab.book.until(lambda: 2 == sum(bool(getattr(o, "metadata", 0)) for o in lab.news))
    assert 1 == lab.tamper("UPDATE timer SET body = ? WHERE execution_id = ?", body, first)
    lab.clock.release()

    bad, good = await both(lab, first, second)

    assert ("failed", "QUARANTINED") == (bad.status, bad.message.error.code)
    assert "completed" == good.status


async def test_a_payload_that_is_gone_ends_its_run_and_no_other(lab):
    document = workflow(
        TRIGGER,
        node("p", "probe", gate="g"),
        node("q", "probe", tag="{{ $trigger | length }}"),
        "start -> p -> q",
    )
    async with lab.engine() as engine:
        first = await lab.start(engine, document, "x" * 50_000)
        second = await lab.start(engine, document, "y" * 50_000)
        await lab.book.until_parked(2)
    lab.book.gate("g").set()
    assert lab.tamper("DELETE FROM payload WHERE execution_id = ?", first)

    bad, good = await both(lab, first, second)

    assert ("failed", "completed") == (bad.status, good.status)
    assert "payload" in bad.message.error.message


@pytest.mark.parametrize("kind", ["head", "origin", "live"])
async def test_damaged_coordination_state_ends_its_run_and_no_other(lab, kind):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", gate="g"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )
    async with lab.engine() as engine:
        first = await lab.start(engine, document, [1])
        second = await lab.start(engine, document, [1])
        await lab.book.until_parked(2)
    lab.book.gate("g").set()
    broken = b"\xa4junk"  # the text "junk" in MessagePack
    lab.tamper("UPDATE cell SET value = ? WHERE execution_id = ? AND kind = ?", broken, first, kind)

    bad, good = await both(lab, first, second)

    assert "completed" == good.status
    assert bad.status in ("failed", "completed")

"""What a judgement has sent is waited for, and waiting disturbs nobody else."""

import asyncio

import pytest

from onward.runtime.cluster.effects import EffectSender
from onward.runtime.cluster.status_outbox import StatusBatch


def batch():
    """Return statuses on their way."""
    return StatusBatch(asyncio.get_running_loop().call_later(0, lambda: None))


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_is_confirmed_when_the_last_confirm_has_come():
    loop = asyncio.get_running_loop()
    confirms = [loop.create_future() for _ in range(3)]
    told = batch()

    async def publish(confirm):
        await confirm

    sender = EffectSender()
    for confirm in confirms:
        sender.publish(publish(confirm))
    sender.await_status(told)
    waiting = asyncio.create_task(sender.all_confirmed())
    seen = []
    for one in (*confirms, told.done):
        await settle()
        seen.append(waiting.done())
        one.set_result(None)
    await waiting

    assert [False] * 4 == seen


async def test_a_publish_that_fails_is_raised():
    async def refused():
        raise ConnectionError("no")

    sender = EffectSender()
    sender.publish(refused())

    with pytest.raises(ConnectionError, match="no"):
        await sender.all_confirmed()


async def test_something_else_is_done_only_after_a_message_has_left():
    left = []

    async def publish():
        left.append("message")

    sender = EffectSender()
    sender.publish(publish())
    sender.start_next()
    await settle()

    assert ["message"] == left
    await sender.all_confirmed()


async def test_who_stops_waiting_for_a_status_leaves_it_to_the_others():
    told = batch()
    first, second = EffectSender(), EffectSender()
    for sender in (first, second):
        sender.await_status(told)
    waiting = [asyncio.create_task(sender.all_confirmed()) for sender in (first, second)]
    await settle()
    waiting[0].cancel()
    await settle()
    told.done.set_result(None)
    await waiting[1]

    assert waiting[0].cancelled()


async def test_a_message_that_was_never_begun_is_forgotten():
    left = []

    async def publish():
        left.append("message")

    sender = EffectSender()
    sender.publish(publish())
    sender.close()
    await sender.all_confirmed()

    assert [] == left


async def test_a_status_is_heard_when_its_confirm_has_come():
    sender, told = EffectSender(), batch()
    sender.await_status(told)
    heard = asyncio.create_task(sender.statuses_confirmed())
    await settle()
    assert not heard.done()
    told.done.set_result(None)
    await heard

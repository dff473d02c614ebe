"""The event loop turns between two evaluations that take long."""

import asyncio

from onward.runtime.activity.evaluators import LONG_S, LoopFairness


async def order_of(seconds):
    """Return the order in which three evaluations and three turns of the loop happened."""
    courtesy, happened = LoopFairness(), []

    async def evaluate(number):
        await courtesy.wait()
        happened.append(number)
        courtesy.spent(seconds)

    def turned():
        happened.append("turn")
        if happened.count("turn") < 3:
            asyncio.get_running_loop().call_soon(turned)

    tasks = [asyncio.create_task(evaluate(number)) for number in range(3)]
    asyncio.get_running_loop().call_soon(turned)
    await asyncio.gather(*tasks)
    while happened.count("turn") < 3:
        await asyncio.sleep(0)
    return happened


async def test_only_one_long_evaluation_goes_between_two_turns():
    assert [0, "turn", 1, "turn", 2, "turn"] == await order_of(2 * LONG_S)


async def test_short_evaluations_go_together():
    assert [0, 1, 2, "turn", "turn", "turn"] == await order_of(LONG_S / 2)

"""The same promises on quorum queues: no priorities, dead letters that are confirmed, a limit."""

import asyncio
import base64
import json

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.adapters.rabbitmq.topology import DELIVERY_LIMIT, Topology
from onward.runtime.queues import EXECUTION, QUARANTINE
from runtime.cluster import test_runs
from runtime.cluster.lab import held, laboratory, publish, take, until
from runtime.cluster.test_messages import plain
from support.documents import TRIGGER, node, transform, workflow

ACCEPTANCE = [
    test_runs.test_a_chain_carries_every_output_to_its_end,
    test_runs.test_a_trigger_with_two_edges_into_a_merge_is_two_arrivals,
    test_runs.test_items_that_end_early_behind_an_if_are_null,
    test_runs.test_a_nested_split_of_two_times_three,
    test_runs.test_an_empty_split_goes_on_after_its_aggregator,
    test_runs.test_item_two_of_three_fails_and_is_an_error_object_in_the_list,
    test_runs.test_two_leaves_of_which_one_fails_halt_the_run_once,
    test_runs.test_an_error_branch_is_followed_and_no_success_edge,
    test_runs.test_a_fork_inside_an_item_is_one_slot,
    test_runs.test_wait_for_any_goes_on_with_the_first_and_its_losers_end_quietly,
    test_runs.test_a_split_inside_a_merge_branch,
    test_runs.test_large_values_travel_by_reference_and_are_whole_at_the_end,
    test_runs.test_many_runs_at_once_do_not_mix,
]


@pytest.fixture
async def lab(rabbitmq_url, redis_url, postgres_url):
    async with laboratory(rabbitmq_url, redis_url, postgres_url, "quorum") as one:
        yield one


@pytest.mark.parametrize("promise", ACCEPTANCE, ids=lambda promise: promise.__name__[5:])
async def test_what_holds_on_classic_queues_holds_on_quorum_queues(lab, promise):
    await promise(lab)


async def test_a_wait_ends_when_its_time_has_come(lab):
    document = workflow(
        TRIGGER, node("pause", "wait", amount=0.1), transform("a", "1"), "start -> pause -> a"
    )

    ended = await lab.run(document)

    assert ("completed", 1) == (ended.status, ended.output("a"))


async def test_a_plain_message_runs_and_poison_is_quarantined(lab, rabbitmq_url):
    poison = plain("poison", current_node="ghost")
    publish(rabbitmq_url, EXECUTION, b"nonsense", poison, plain("good"))

    good, bad = await lab.finish_all("good", "poison")

    async def both_there():
        return 2 == held(rabbitmq_url).get(QUARANTINE)

    await until(both_there)
    kept = [base64.b64decode(json.loads(one)["body"]) for one in take(rabbitmq_url, QUARANTINE)]
    assert ("completed", "failed") == (good.status, bad.status)
    assert sorted([b"nonsense", poison]) == sorted(kept)


async def test_a_message_that_is_given_back_too_often_ends_in_quarantine(rabbitmq_url):
    """
    A message that kills every worker would go round for ever; here the deliveries are counted.
    """
    bus = RabbitBus(rabbitmq_url, topology=Topology("quorum"))
    await bus.open()
    await bus.declare()
    await bus.publish(EXECUTION, plain("killer"))
    deliveries = 0

    async def give_back_whatever_comes():
        nonlocal deliveries
        async for delivery in bus.consume(EXECUTION, prefetch=1):
            deliveries += 1
            await delivery.give_back()

    async def given_up():
        return held(rabbitmq_url).get(QUARANTINE)

    giving_back = asyncio.create_task(give_back_whatever_comes())
    await until(given_up)
    giving_back.cancel()
    await asyncio.wait([giving_back])
    await bus.close()

    assert DELIVERY_LIMIT + 1 == deliveries
    assert [plain("killer")] == take(rabbitmq_url, QUARANTINE)

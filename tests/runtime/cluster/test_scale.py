"""Large splits, limits that hold through crashes, and runs that do not wait for them."""

import asyncio

import msgspec
import pytest

from onward.adapters.redis.timers import RedisTimers
from onward.bootstrap.host import now_ms
from onward.kernel.messages import (
    NodeStatusMessage,
    Token,
    decode_token,
    encode_message,
    item_frame,
)
from onward.runtime.cluster.master import BATCH_BYTES, Master
from onward.runtime.queues import EXECUTION, STATUS, level_of
from runtime.cluster.lab import Folding, Quiet, held, take, until
from support.documents import TRIGGER, node, transform, workflow
from support.standing_in import StandIn


def a_token(name, lineage=(), **given):
    fields = {"token_id": name, "publish_id": name, "parent": "p", "outcome": "ok", **given}
    return Token(
        workflow_id="flow",
        execution_id="run",
        current_node="n",
        accumulated_context={},
        lineage_stack=lineage,
        **fields,
    )


def items(depth):
    return tuple(item_frame("run", f"s{n}", "each", 0, 9) for n in range(depth))


async def test_a_split_of_thousands_comes_back_in_order_and_leaves_nothing(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="{{ [range(2500)] }}"),
        transform("double", "$item * 2"),
        node("all", "aggregator"),
        "start -> each -> double -> all",
    )

    ended = await lab.run(document)

    assert ("completed", [2 * n for n in range(2500)]) == (ended.status, ended.output("all"))


async def test_a_large_split_tells_how_far_it_is_a_hundred_times(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="{{ [range(300)] }}"),
        transform("same", "$item"),
        node("all", "aggregator"),
        "start -> each -> same -> all",
    )

    await lab.run(document)
    await until(lambda: _told(lab.folded.statuses, "all", "success"))

    told = [
        status.progress.processed
        for status in lab.folded.statuses
        if status.status == "waiting" and status.progress
    ]
    assert list(range(3, 301, 3)) == sorted(told)


async def _told(statuses, name, status):
    return any((one.node_id, one.status) == (name, status) for one in statuses)


async def test_a_master_folds_no_more_at_once_than_it_may(idle):
    """
    Statuses travel many to a message: without a bound on bytes one fold would take them all.
    """
    one = NodeStatusMessage(
        workflow_id="flow",
        execution_id="run",
        node_id="n",
        status="running",
        executed_at="2030-01-01T00:00:00.000Z",
        duration_ms=0,
    )
    each = BATCH_BYTES // len(msgspec.json.encode(one)) // 2
    folds = []

    class Counting(Folding):
        async def fold(self, statuses, completions):
            await super().fold(statuses, completions)
            folds.append(len(statuses))

    body = msgspec.json.encode([one] * each)
    await asyncio.gather(*(idle.cluster.bus.publish(STATUS, body) for _ in range(8)))

    async def folded():
        return sum(folds) == 8 * each

    async with idle.running(Master(idle.cluster.bus, Counting(idle.cluster.store), Quiet()).run()):
        await until(folded)

    assert max(folds) <= 3 * each


async def test_splits_in_splits_come_back_in_order_and_leave_nothing(lab):
    document = workflow(
        TRIGGER,
        node("outer", "split", input_array="{{ [range(30)] }}"),
        node("inner", "split", input_array="{{ $item as $x | [range(30) | [$x, .]] }}"),
        transform("cell", "$item[0] * 30 + $item[1]"),
        node("row", "aggregator"),
        node("rows", "aggregator", collect="$row"),
        "start -> outer -> inner -> cell -> row -> rows",
    )

    ended = await lab.run(document)

    expected = [[30 * x + y for y in range(30)] for x in range(30)]
    assert ("completed", expected) == (ended.status, ended.output("rows"))


@pytest.mark.parametrize(
    ("items_", "limit", "hold_s", "kills"),
    [
        pytest.param(30, 3, 0.05, 1, id="one-death"),
        pytest.param(500, 7, 0.2, 12, id="many-deaths", marks=pytest.mark.slow),
    ],
)
async def test_the_limit_of_a_split_holds_while_workers_die(
    idle, fleet, items_, limit, hold_s, kills
):
    """
    An item whose worker died counts as on its way until its request is answered.
    """
    async with StandIn(hold_s=hold_s) as server:
        fleet.start("master").says("ready")
        workers = [fleet.start("worker") for _ in range(2)]
        for worker in workers:
            await asyncio.to_thread(worker.says, "ready")
        run = await idle.start(server.document(limit), {"n": items_})
        for number in range(1, kills + 1):
            await until(lambda after=number * items_ // (kills + 1): _answered(server, after))
            workers[0].process.kill()
            workers.append(fleet.start("worker"))
            del workers[0]
            await asyncio.to_thread(workers[-1].says, "ready")
        ended = await idle.finish(run)

    assert ("completed", items_) == (ended.status, ended.output("check"))
    assert limit == server.most


async def _answered(server, count):
    return server.answered >= count


@pytest.mark.parametrize(
    ("token", "level"),
    [
        (a_token("a new run"), 5),
        (a_token("one that matters", priority=3), 8),
        (a_token("beyond all bounds", priority=99), 10),
        (a_token("an item", items(1)), 0),
        (a_token("an item of an item", items(2)), 1),
        (a_token("deeper", items(7)), 2),
        (a_token("an item that matters", items(1), priority=99), 4),
        (a_token("more items", signal="page"), 0),
        (a_token("a look for messages", signal="probe", priority=9), 0),
    ],
    ids=lambda one: getattr(one, "token_id", None),
)
def test_what_is_outside_splits_goes_before_what_is_inside(token, level):
    assert level == level_of(token)


async def test_a_new_run_overtakes_the_items_that_wait(idle):
    bus = idle.cluster.bus
    for number in range(50):
        token = a_token(f"item{number}", items(1))
        await bus.publish(EXECUTION, encode_message(token), priority=level_of(token))
    run = await idle.start(workflow(TRIGGER, transform("one", "1"), "start -> one"))

    deliveries = bus.consume(EXECUTION, prefetch=1)
    first = await anext(deliveries)

    assert run == decode_token(first.body).execution_id
    await deliveries.aclose()


async def test_a_timer_goes_by_the_level_of_its_token(idle, rabbitmq_url):
    item = a_token("item", items(1))
    await idle.cluster.bus.publish(EXECUTION, encode_message(item), priority=level_of(item))
    timers = RedisTimers(idle.cluster.redis)
    await timers.set("run", "t", now_ms(), encode_message(a_token("t", signal="resume")))

    assert 1 == await idle.cluster.scheduler().turn()

    names = [decode_token(body).token_id for body in take(rabbitmq_url, EXECUTION)]
    assert ["t", "item"] == names


async def test_timers_due_at_the_same_instant_fire_once_each(idle, rabbitmq_url):
    timers, count = RedisTimers(idle.cluster.redis), 1_700
    due_ms = now_ms()
    bodies = {f"t{n}": encode_message(a_token(f"t{n}", signal="resume")) for n in range(count)}
    setting = [
        timers.set(f"run{n % 7}", name, due_ms, bodies[name]) for n, name in enumerate(bodies)
    ]
    await asyncio.gather(*setting)

    assert count == await idle.cluster.scheduler().turn()

    fired = [decode_token(body).token_id for body in take(rabbitmq_url, EXECUTION)]
    assert sorted(bodies) == sorted(fired)
    assert {} == held(rabbitmq_url)
    assert set() == await idle.keys()

"""State and messages that are lost for good, and runs that go on all the same."""

import asyncio

import msgspec

from onward.adapters.redis.keys import Keys
from onward.runtime.cluster.reconciler import Patience
from onward.runtime.queues import COMPLETION, EXECUTION, STATUS
from runtime.cluster.lab import held, publish, take, until
from support.documents import TRIGGER, node, workflow

AT_ONCE = Patience(lost_ms=-1_000, stuck_ms=-1_000)
"""Every run that has not ended counts as silent."""
FAN = workflow(
    TRIGGER,
    node("each", "split", input_array="$trigger"),
    node("work", "probe", tag="work", value="$item"),
    node("gate", "probe", gate="g", value="$item"),
    node("all", "aggregator"),
    node("after", "probe", value="$all"),
    "start -> each -> work -> gate -> all -> after",
)


async def folded(lab, execution_id, node_id, count):
    """Wait until history knows `count` visits of a node."""

    async def known():
        history = await lab.cluster.store.node_runs(execution_id)
        return sum(one.node_id == node_id for one in history) >= count

    await until(known)


async def wiped(lab):
    """Lose everything that Redis knows."""
    await lab.cluster.redis.flushdb()


async def woken(lab):
    """Wait for the one timer there is, and let its time come."""
    redis = lab.cluster.redis

    async def there():
        return await redis.zcard("scheduler:timers") == 1

    await until(there)
    (name,) = await redis.zrange("scheduler:timers", 0, -1)
    await redis.zadd("scheduler:timers", {name: 1})


async def test_a_run_whose_state_was_wiped_is_rebuilt_and_repeats_nothing_that_history_knows(lab):
    run = await lab.start(FAN, [1, 2, 3])
    await lab.book.until_parked(3)
    await folded(lab, run, "work", 3)
    await wiped(lab)
    assert {run: "rebuilt"} == await lab.cluster.reconciler(AT_ONCE).sweep()
    lab.book.gate("g").set()
    ended = await lab.finish(run)
    assert [1, 2, 3] == ended.output("after")
    assert {"work": 3, "gate": 3, "after": 1} == {
        name: ended.visits(name) for name in ("work", "gate", "after")
    }
    assert 3 == lab.book.tags().count("work")


async def test_what_history_knows_is_not_executed_again(lab):
    document = workflow(
        TRIGGER,
        node("once", "probe", value="done"),
        node("nap", "wait", amount=1, unit="hours"),
        node("end", "probe", value="$once"),
        "start -> once -> nap -> end",
    )
    run = await lab.start(document)
    await folded(lab, run, "nap", 1)
    await wiped(lab)
    reconciler = lab.cluster.reconciler(AT_ONCE)
    assert {run: "rebuilt"} == await reconciler.sweep()

    await woken(lab)
    ended = await lab.finish(run)
    assert "done" == ended.output("end")
    assert 2 == len(lab.book.executions)


async def test_messages_of_a_lost_state_are_void(idle):
    document = workflow(
        TRIGGER,
        node("left", "probe", value=1),
        node("right", "probe", value=2),
        node("both", "merge"),
        "start -> left -> both",
        "start -> right -> both",
    )
    run = await idle.start(document)
    await wiped(idle)
    async with idle.processes():
        await until(lambda: _drained(idle, EXECUTION))
        assert [] == idle.book.executions
        assert {run: "rebuilt"} == await idle.cluster.reconciler(AT_ONCE).sweep()
        ended = await idle.finish(run)
    assert "completed" == ended.status
    assert 2 == len(idle.book.executions)


async def test_a_run_whose_message_was_lost_is_found_by_a_probe_and_rebuilt(idle, rabbitmq_url):
    run = await idle.start(workflow(TRIGGER, node("a", "probe", value=1), "start -> a"))
    (lost,) = take(rabbitmq_url, EXECUTION)
    reconciler = idle.cluster.reconciler(AT_ONCE)
    assert {run: "probed"} == await reconciler.sweep()
    assert {run: "waiting"} == await reconciler.sweep()
    assert {EXECUTION: 1} == held(rabbitmq_url)
    async with idle.processes():
        await until(lambda: _drained(idle, EXECUTION))

        async def repaired():
            return await reconciler.sweep() == {run: "rebuilt"}

        await until(repaired)
        ended = await idle.finish(run)
        assert 1 == ended.output("a")
        # The one that was lost comes after all.
        publish(rabbitmq_url, EXECUTION, lost)
        await until(lambda: _drained(idle, EXECUTION))
    assert 1 == len(idle.book.executions)


async def test_a_run_that_is_alive_is_left_alone(lab):
    waiting = await lab.start(
        workflow(TRIGGER, node("nap", "wait", amount=1, unit="hours"), "start -> nap")
    )
    working = await lab.start(workflow(TRIGGER, node("p", "probe", gate="g"), "start -> p"))
    await lab.book.until_parked(1)
    await folded(lab, waiting, "nap", 1)
    assert {} == await lab.cluster.reconciler(AT_ONCE).sweep()
    lab.book.gate("g").set()
    await woken(lab)
    lab.ended.append(waiting)
    await lab.finish(working)
    await lab.finish(lab.ended.pop(0))
    assert 1 == len(lab.book.executions)


async def test_a_repair_that_comes_for_nothing_harms_nothing(lab):
    run = await lab.start(FAN, [1, 2])
    await lab.book.until_parked(2)
    await folded(lab, run, "work", 2)
    repairer = lab.cluster.repairer()
    execution = await lab.cluster.store.execution(run)
    both = await asyncio.gather(
        repairer.repair(execution, "a test"), repairer.repair(execution, "a test")
    )
    assert ["left", "rebuilt"] == sorted(both)
    lab.book.gate("g").set()
    ended = await lab.finish(run)
    assert [1, 2] == ended.output("after")
    assert 2 == ended.visits("gate")


async def test_an_end_that_nobody_was_told_is_told(idle, rabbitmq_url):
    run = await idle.start(workflow(TRIGGER, node("a", "probe", value=1), "start -> a"))
    worker = idle.cluster.worker()
    async with idle.running(worker.run(), idle.cluster.scheduler().run()):
        await until(lambda: _waits(rabbitmq_url, COMPLETION))
    await worker.drain(5)
    take(rabbitmq_url, COMPLETION)
    take(rabbitmq_url, STATUS)
    # It died between the end and the clean-up: the end is still known.
    assert b"by" in await idle.cluster.redis.hgetall(Keys(run).done)
    async with idle.processes():
        assert {run: "rebuilt"} == await idle.cluster.reconciler(AT_ONCE).sweep()
        ended = await idle.finish(run)
    assert "completed" == ended.status


async def test_a_run_that_history_cannot_rebuild_fails_with_the_cause(idle):
    run = await idle.start(workflow(TRIGGER, node("a", "probe", value=1), "start -> a"))
    await wiped(idle)
    async with idle.cluster.store.connection() as db:
        await db.execute("UPDATE execution SET start = NULL")
    async with idle.processes():
        assert {run: "failed"} == await idle.cluster.reconciler(AT_ONCE).sweep()
        ended = await idle.finish(run)
    assert "failed" == ended.status
    assert "STATE_LOST" == ended.message.error.code
    assert "its state was lost" in ended.message.error.message


async def test_a_bare_message_is_noted_so_that_its_run_can_be_rebuilt(lab, rabbitmq_url):
    document = workflow(TRIGGER, node("p", "probe", gate="g", value=7), "start -> p")
    body = {
        "workflow_id": "bare",
        "execution_id": "bare-1",
        "current_node": "start",
        "accumulated_context": {"$trigger": {}},
        "workflow_definition": document,
    }
    publish(rabbitmq_url, EXECUTION, msgspec.json.encode(body))
    await lab.book.until_parked(1)
    await wiped(lab)
    assert {"bare-1": "rebuilt"} == await lab.cluster.reconciler(AT_ONCE).sweep()
    lab.book.gate("g").set()
    ended = await lab.finish("bare-1")
    assert 7 == ended.output("p")


async def _drained(lab, queue):
    return await lab.cluster.bus.depth(queue) == 0


async def _waits(url, queue):
    return held(url).get(queue, 0) > 0

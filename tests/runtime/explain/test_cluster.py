"""What a run on a cluster waits for: every kind of wait, on the real services."""

import re

import msgspec
import pytest

from onward.bootstrap.cluster import ClusterSettings, open_cluster
from onward.kernel.timestamps import from_iso
from onward.runtime.queues import EXECUTION
from runtime.cluster.lab import idle_laboratory, until
from support.documents import TRIGGER, chosen, node, transform, workflow


@pytest.fixture
async def lab(rabbitmq_url, redis_url, postgres_url):
    """A cluster at work; runs that still wait at the end are let go."""
    async with idle_laboratory(rabbitmq_url, redis_url, postgres_url) as one, one.processes():
        yield one
        for gate in one.book.gates.values():
            gate.set()


@pytest.fixture
async def idle(rabbitmq_url, redis_url, postgres_url):
    """A cluster on which nothing runs."""
    async with idle_laboratory(rabbitmq_url, redis_url, postgres_url) as one:
        yield one


async def explained(lab, run, *texts):
    """Return the explanation of a run as soon as it says all of `texts`, and nothing else."""
    seen = []

    async def told():
        seen[:] = [await lab.cluster.explain(run)]
        return sorted(texts) == sorted(map(plain, seen[0].waits))

    try:
        await until(told)
    except TimeoutError:
        assert sorted(texts) == sorted(map(plain, seen[0].waits))
    return seen[0]


TIME = r"\d{4}-\d\d-\d\dT[\d:.]+Z"
AT_WORK = "its message is unacked on worker W since T"


def plain(wait):
    """Return the text of a wait with any worker called W and any time called T."""
    return re.sub(TIME, "T", re.sub(r"on worker [^ ,]+", "on worker W", wait.text))


async def test_a_split_names_the_items_that_are_missing(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", gate="$item"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )
    lab.book.gate("open").set()
    run = await lab.start(document, ["open", "shut", "open", "shut"])

    found = await explained(
        lab,
        run,
        "split each has 2 of 4 items at all, missing each[1], each[3]",
        f"node p at each[1], each[3]: {AT_WORK}",
    )

    assert "it waits for the items of a split, nodes at work" == found.summary
    assert (2, 4, ("each[1]", "each[3]")) == (
        found.waits[0].done,
        found.waits[0].total,
        found.waits[0].missing,
    )


async def test_a_split_that_was_sent_in_pages_names_the_one_item_it_lacks(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", gate="$item"),
        node("all", "aggregator"),
        transform("after", "1"),
        "start -> each -> p -> all -> after",
    )
    lab.book.gate("open").set()
    run = await lab.start(document, ["open"] * 249 + ["shut"])

    await explained(
        lab,
        run,
        "split each has 249 of 250 items at all, missing each[249]",
        f"node p at each[249]: {AT_WORK}",
    )


async def test_a_split_inside_a_split_names_the_whole_lineage(lab):
    document = workflow(
        TRIGGER,
        node("users", "split", input_array="$trigger"),
        node("orders", "split", input_array="$item"),
        node("p", "probe", gate="$item"),
        node("of_one", "aggregator"),
        node("of_all", "aggregator"),
        "start -> users -> orders -> p -> of_one -> of_all",
    )
    lab.book.gate("open").set()
    run = await lab.start(document, [["open"], ["open", "open", "shut"]])

    await explained(
        lab,
        run,
        "split users has 1 of 2 items at of_all, missing users[1]",
        "split orders (users[1]) has 2 of 3 items at of_one, missing users[1] > orders[2]",
        f"node p at users[1] > orders[2]: {AT_WORK}",
    )


async def test_a_window_says_what_has_not_started(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger", max_concurrency=2),
        node("p", "probe", gate="shut"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )
    run = await lab.start(document, [1, 2, 3, 4, 5])

    await explained(
        lab,
        run,
        "split each has 0 of 5 items at all, missing each[0], each[1];"
        " 3 not started yet, at most 2 run at once",
        f"node p at each[0], each[1]: {AT_WORK}",
    )


async def test_a_merge_names_the_edge_that_is_missing_and_the_one_that_is_dead(lab):
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("held", "probe", gate="shut"),
        chosen("either", "false", yes="yes"),
        node("join", "merge"),
        "start -> quick -> join",
        "start -> held",
        "late: held -> join",
        "start -> either",
        "yes: either -> join",
    )
    run = await lab.start(document)

    found = await explained(
        lab,
        run,
        "merge join has 1 of 3 branches, missing late from held; not taken: yes",
        f"node held: {AT_WORK}",
    )

    assert ("late",) == found.waits[0].missing


async def test_a_merge_inside_an_item_says_which(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        transform("quick", "1"),
        node("held", "probe", gate="shut"),
        node("join", "merge"),
        node("all", "aggregator"),
        "each -> quick -> join",
        "start -> each -> held",
        "late: held -> join",
        "join -> all",
    )
    run = await lab.start(document, [1])

    await explained(
        lab,
        run,
        "split each has 0 of 1 items at all, missing each[0]",
        "merge join (each[0]) has 1 of 2 branches, missing late from held",
        f"node held at each[0]: {AT_WORK}",
    )


async def test_a_wait_says_when_it_is_over_and_a_merge_when_it_gives_up(lab):
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("pause", "wait", amount=1, unit="hours"),
        node("join", "merge", timeout=60),
        "start -> quick -> join",
        "start -> pause",
        "late: pause -> join",
    )
    run = await lab.start(document)

    async def waiting():
        found = await lab.cluster.explain(run)
        return ["merge", "limit", "timer"] == [wait.kind for wait in found.waits]

    await until(waiting)
    merge, limit, timer = (await lab.cluster.explain(run)).waits
    started = (await lab.cluster.store.execution(run)).started_ms

    assert "merge join has 1 of 2 branches, missing late from pause" == merge.text
    assert f"join gives up at {limit.due_at} if it still waits then" == limit.text
    assert 60_000 <= from_iso(limit.due_at) - started < 90_000
    assert f"pause waits until {timer.due_at}" == timer.text
    assert 3_600_000 <= from_iso(timer.due_at) - started < 3_630_000


async def test_a_retry_says_when_and_after_which_error(lab):
    retry = {"max_attempts": 3, "delay": 600, "backoff": "constant"}
    document = workflow(TRIGGER, node("p", "probe", fail_first=1, retry=retry), "start -> p")
    run = await lab.start(document)

    async def recorded():
        found = await lab.cluster.explain(run)
        return found.waits and "after attempt 1" in found.waits[0].text

    await until(recorded)
    found = await lab.cluster.explain(run)

    (wait,) = found.waits
    assert "timer" == wait.kind
    assert (
        f"p is tried again at {wait.due_at}, attempt 2, after attempt 1 fails [PROBE]" == wait.text
    )
    assert ("p", "failed", 1) == (
        found.recent[0].node,
        found.recent[0].status,
        found.recent[0].attempt,
    )


async def test_a_timer_that_no_scheduler_sends_is_overdue(idle):
    document = workflow(TRIGGER, node("pause", "wait", amount=0.01), "start -> pause")
    run = await idle.start(document)
    worker = idle.cluster.worker()
    async with idle.running(worker.run()):

        async def overdue():
            found = await idle.cluster.explain(run)
            return any("overdue: does a scheduler run?" in wait.text for wait in found.waits)

        await until(overdue)


async def test_before_any_worker_has_claimed_it_a_run_waits_for_one(idle):
    run = await idle.start(workflow(TRIGGER, transform("a", "1"), "start -> a"))

    await explained(
        idle,
        run,
        "no worker has claimed its first message (start): queued, is a worker running?",
    )


async def test_what_no_worker_has_a_slot_for_is_queued(idle, rabbitmq_url, redis_url, postgres_url):
    document = workflow(
        TRIGGER,
        node("a", "probe", gate="shut"),
        node("b", "probe", gate="shut"),
        "start -> a",
        "start -> b",
    )
    settings = ClusterSettings(
        rabbitmq_url=rabbitmq_url, redis_url=redis_url, postgres_url=postgres_url, slots=1
    )
    async with open_cluster(settings, catalogue=idle.cluster.languages.catalogue) as narrow:
        worker = narrow.worker()
        async with idle.running(worker.run()):
            run = await idle.start(document)

            await explained(
                idle,
                run,
                f"node a: {AT_WORK}",
                "node b: queued, no worker has claimed it",
            )

            idle.book.gate("shut").set()
        await worker.drain(5)


async def test_a_run_whose_state_was_wiped_is_lost(lab):
    document = workflow(
        TRIGGER, transform("a", "1"), node("p", "probe", gate="shut"), "start -> a -> p"
    )
    run = await lab.start(document)

    async def recorded():
        return len(await lab.cluster.store.node_runs(run)) == 2

    await until(recorded)
    await lab.cluster.redis.flushdb()

    found = await explained(
        lab,
        run,
        "its coordination state is gone: a master rebuilds it from its history, and it"
        " continues; `onward repair` does so at once. Do not start it again",
    )
    assert "its state was lost, and is rebuilt from its history" == found.summary


async def test_a_run_that_has_ended_says_how_and_when(lab):
    document = workflow(
        TRIGGER, node("p", "probe", fail_first=1), transform("a", "1"), "start -> p -> a"
    )
    ended = await lab.run(document)

    found = await lab.cluster.explain(ended.execution_id)

    assert ("halted", ()) == (found.status, found.waits)
    assert f"it was halted at {found.ended_at} at node p: attempt 1 fails [PROBE]" == found.summary


async def test_a_message_in_quarantine_is_told_and_stays_there(lab):
    document = workflow(TRIGGER, node("p", "probe", gate="shut"), "start -> p")
    run = await lab.start(document)
    program = lab.program(document)
    token = program.start(run, b"null", now_ms=0)[0][0]
    stray = msgspec.structs.replace(token, current_node="nowhere", token_id="t", publish_id="x")
    await lab.cluster.bus.publish(EXECUTION, msgspec.json.encode(stray))

    async def told():
        found = await lab.cluster.explain(run)
        return found.status == "failed" and found.waits

    await until(told)
    for _ in range(2):
        found = await lab.cluster.explain(run)
        (wait,) = found.waits
        assert "quarantine" == wait.kind
        assert wait.text.endswith(": the workflow has no node 'nowhere'")
        assert "[QUARANTINED]" in found.summary


async def test_a_run_that_nobody_knows_is_not_explained(idle):
    assert None is await idle.cluster.explain("nobody")


async def test_a_run_that_was_rebuilt_is_explained_by_the_state_that_it_has_now(lab):
    """
    The state that it had before was looked at, and that is over: it was explained as ended.
    """
    document = workflow(TRIGGER, node("nap", "wait", amount=1, unit="hours"), "start -> nap")
    run = await lab.start(document)
    nap = "nap waits until T"
    await explained(lab, run, nap)

    async def known():
        return any(visit.node_id == "nap" for visit in await lab.cluster.store.node_runs(run))

    await until(known)
    record = await lab.cluster.store.execution(run)
    assert "rebuilt" == await lab.cluster.repairer().repair(record, "for a test")

    await explained(lab, run, nap)

"""The event log: what comes twice adds nothing, numbers have no gaps, and counts are exact."""

import asyncio
import random

import pytest

from onward.adapters.postgres.connection import PostgresDatabase
from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.postgres.store import open_store
from onward.kernel.messages import Progress, item_frame
from onward.kernel.run_events import EventDrafts, events_of_batch, visit_of
from support.ledger import completion, execution, status


def item(index, node="a", **fields):
    """Return the status of a visit inside an item of a split."""
    frame = item_frame("x1", "split-token", "each", index, 1000)
    return status(node_id=node, visit=f"t{index}", lineage_stack=(frame,), **fields)


def told(events):
    return [(event.type, event.node_id) for event in events]


# -- rules ---------------------------------------------------------------------------------------


def test_visits_inside_a_split_are_counted():
    drafts = EventDrafts()
    for index in range(500):
        drafts.add_status(item(index))
        drafts.add_status(item(index, node="b", status="running"))

    (events,) = drafts.take().values()

    assert [("node.items", "a")] == told(events)
    assert (500, 0) == (events[0].succeeded, events[0].failed)
    assert "each[]" == events[0].item
    assert not drafts


def test_of_progress_only_the_newest_is_kept():
    drafts = EventDrafts()
    for done in range(1, 100):
        drafts.add_status(status(node_id="all", status="waiting", progress=Progress(done, 100)))

    (events,) = drafts.take().values()

    assert [("node.progress", "all")] == told(events)
    assert 99 == events[0].processed


def test_an_attempt_that_is_followed_by_another_is_not_counted():
    drafts = EventDrafts()
    drafts.add_status(item(1, status="failed", metadata={"next_attempt": 2}))

    assert {} == drafts.take()


def test_a_task_begins_before_what_happens_inside_of_it():
    drafts = EventDrafts()
    drafts.add_status(status(node_id="/do/0/try", status="running"))
    drafts.add_status(status("t2", node_id="/do/0/try/try/0/ask", status="running"))
    drafts.add_status(status("t2", node_id="/do/0/try/try/0/ask", status="failed"))
    drafts.add_status(status(node_id="/do/0/try", status="waiting"))

    (events,) = drafts.take().values()

    inside = ("node.failed", "/do/0/try/try/0/ask")
    assert [("node.running", "/do/0/try"), inside, ("node.waiting", "/do/0/try")] == told(events)


def test_what_happens_elsewhere_does_not_make_the_beginning_of_a_task_news():
    drafts = EventDrafts()
    drafts.add_status(status(node_id="/do/0/a", status="running"))
    drafts.add_status(status("t2", node_id="/do/0/ab/do/0/c"))
    drafts.add_status(status(node_id="/do/0/a"))

    (events,) = drafts.take().values()

    assert [("node.succeeded", "/do/0/ab/do/0/c"), ("node.succeeded", "/do/0/a")] == told(events)


def test_news_of_a_visit_that_is_in_the_history_is_no_news():
    old, new = status("t1", status="running"), status("t2")

    events = events_of_batch(
        [old, new, new], [], fresh={visit_of(new)}, stale={visit_of(old)}, ended_now=()
    )

    assert [("node.succeeded", "a")] == told(events["x1"])


# -- on PostgreSQL -------------------------------------------------------------------------------


@pytest.fixture
async def masters(postgres_url):
    """Two stores on one database, as two masters have."""
    stores = [await open_store(postgres_url) for _ in range(2)]
    yield stores
    for store in stores:
        await store.close()


async def log_of(store, run="x1"):
    archive = PostgresRunQueries(PostgresDatabase(store.pool, store.place))
    return await archive.events(run, after=0, limit=10_000)


async def test_a_run_begins_its_log_once(masters):
    await masters[0].begin(execution())
    await masters[1].begin(execution())

    assert [("run.started", "")] == told(await log_of(masters[0]))


async def test_a_run_that_nobody_announced_begins_its_log_with_its_first_message(masters):
    await masters[0].fold([status(status="running")], [])
    await masters[0].fold([status()], [completion()])

    found = await log_of(masters[0])

    assert ["run.started", "node.running", "node.succeeded", "run.ended"] == [
        event.type for event in found
    ]
    assert [1, 2, 3, 4] == [event.seq for event in found]


async def test_a_visit_that_begins_and_ends_within_one_batch_is_told_once(masters):
    await masters[0].fold([status(status="running"), status()], [completion()])

    found = await log_of(masters[0])

    assert ["run.started", "node.succeeded", "run.ended"] == [event.type for event in found]
    assert [1, 2, 3] == [event.seq for event in found]


async def test_a_batch_that_is_folded_again_adds_nothing(masters):
    batch = [status(status="running"), status(), *(item(n) for n in range(20))]
    await masters[0].fold(batch, [completion()])
    before = await log_of(masters[0])

    await masters[1].fold(batch, [completion()])

    assert before == await log_of(masters[0])


async def test_masters_that_fold_the_same_messages_at_once_write_one_log(masters):
    dice = random.Random(3)
    statuses = [item(n) for n in range(400)]
    batches = [statuses[n : n + 40] for n in range(0, 400, 20)]
    dice.shuffle(batches)

    await asyncio.gather(
        *(
            dice.choice(masters).fold(batch, [completion()] if n % 4 == 0 else [])
            for n, batch in enumerate(batches)
        )
    )
    found = await log_of(masters[0])

    assert list(range(1, len(found) + 1)) == [event.seq for event in found]
    assert 400 == sum(event.succeeded or 0 for event in found)
    assert 1 == sum(event.type == "run.ended" for event in found)


async def test_what_is_pruned_takes_its_log_along(masters):
    await masters[0].fold([status()], [completion()])

    await masters[0].prune(10**15)

    assert [] == await log_of(masters[0])

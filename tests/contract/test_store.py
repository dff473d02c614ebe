"""What every store promises: in whatever order and however often messages come, one history."""

import asyncio
from itertools import count, pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from onward.adapters.postgres.store import PRUNED_AT_ONCE
from onward.errors import InputError, MessageError
from onward.kernel.context import Ref
from onward.kernel.messages import (
    CompletionMessage,
    NodeStatusMessage,
    Progress,
    encode_message,
    item_frame,
)
from onward.kernel.outcome import NodeError
from onward.kernel.records import Definition, VisitRecord
from support.ledger import completion, execution, status

DEFINITION = Definition("ref", "wf", b'{"id": "wf"}')


def ended(message, ended_ms=9_000, **fields):
    """Return the run that a completion ends."""
    return execution(
        message.execution_id,
        status=message.status,
        ended_ms=ended_ms,
        completion=encode_message(message),
        **fields,
    )


async def visits(store, name="x1"):
    return [(run.token_id, run.node_id, run.status) for run in await store.node_runs(name)]


# -- definitions and runs ------------------------------------------------------------------------


async def test_a_definition_is_found_by_its_content_however_often_it_is_saved(store):
    await store.save_definition(DEFINITION)
    await store.save_definition(DEFINITION)

    assert DEFINITION == await store.definition("ref")
    assert await store.definition("unknown") is None


async def test_a_run_begins_once(store):
    assert await store.begin(execution())
    assert not await store.begin(execution(started_ms=77))

    assert execution() == await store.execution("x1")
    assert await store.execution("x2") is None


async def test_of_many_who_begin_the_same_run_one_is_told_yes(opener):
    stores = [await opener() for _ in range(3)]

    answers = await asyncio.gather(*(store.begin(execution()) for store in stores * 3))

    assert 1 == sum(answers)


async def test_runs_are_listed_newest_first_by_status_and_up_to_a_limit(store):
    for name, started_ms in [("x1", 10), ("x2", 30), ("x3", 20), ("x4", 30)]:
        await store.begin(execution(name, started_ms=started_ms))
    await store.fold([], [completion("x3")])

    def names(runs):
        return [run.execution_id for run in runs]

    assert ["x4", "x2", "x3", "x1"] == names(await store.executions())
    assert ["x4", "x2"] == names(await store.executions(limit=2))
    assert ["x3"] == names(await store.executions(status="completed"))
    assert ["x4", "x2", "x1"] == names(await store.executions(status="running"))
    assert [] == await store.executions(status="halted")


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [({"status": "done"}, "no status 'done'"), ({"limit": 0}, "0"), ({"limit": 2**70}, "100000")],
)
async def test_a_list_that_cannot_be_made_is_refused_with_the_reason(store, request_, complaint):
    with pytest.raises(InputError, match=complaint):
        await store.executions(**request_)


# -- folding -------------------------------------------------------------------------------------


async def test_everything_a_status_says_of_a_visit_comes_back(store, opener):
    frames = (item_frame("x1", "s", "each", 1, 3), item_frame("x1", "u", "inner", 0, 2))
    error = NodeError("bad", "CODE", {"n": 2**53 + 1})
    big = Raw(b'{"text":"\\u0000 \xc3\xa9","n":9007199254740993,"e":[]}')
    messages = [
        status("t1", output=big, lineage_stack=frames, attempt=3),
        status("t2", output=None, output_ref=Ref("h", 99_999), duration_ms=-4),
        status("t3", status="failed", output=None, error=error, node_id="/do/0/é"),
        status("t4", status="waiting", output=None, metadata={"resume_at": 1}),
    ]

    await store.fold(messages, [])

    def line(visit, **fields):
        given = {"node_id": "a", "status": "success", "attempt": 1, "at_ms": 1_000}
        given |= {"duration_ms": 10, "lineage": (), "output": None, "output_ref": None}
        return VisitRecord(execution_id="x1", token_id=visit, **{**given, "error": None, **fields})

    assert [
        line("t1", output=big, lineage=frames, attempt=3),
        line("t2", output_ref=Ref("h", 99_999), duration_ms=-4),
        line("t3", status="failed", node_id="/do/0/é", error=msgspec.json.encode(error)),
        line("t4", status="waiting"),
    ] == await (await opener()).node_runs("x1")


async def test_news_of_progress_is_not_history_but_shows_that_the_run_exists(store):
    await store.fold(
        [
            status("t1", status="running", output=None, duration_ms=0, at_ms=700),
            status("t2", status="waiting", output=None, progress=Progress(1, 2), at_ms=900),
        ],
        [],
    )

    assert [] == await store.node_runs("x1")
    assert execution(definition_ref="", started_ms=700) == await store.execution("x1")


async def test_of_two_statuses_of_one_visit_the_first_stands(store):
    await store.fold([status("t"), status("t", status="failed")], [])
    await store.fold([status("t", status="failed"), status("t", node_id="b")], [])

    assert [("t", "a", "success"), ("t", "b", "success")] == await visits(store)


async def test_node_runs_come_in_the_order_they_were_recorded(store):
    await store.fold([status("t9"), status("t1"), status("t5")], [])
    await store.fold([status("t0")], [])

    assert ["t9", "t1", "t5", "t0"] == [run.token_id for run in await store.node_runs("x1")]


async def test_a_completion_ends_its_run(store):
    await store.begin(execution())

    await store.fold([], [completion()])

    assert ended(completion()) == await store.execution("x1")


@pytest.mark.parametrize("together", [True, False])
async def test_of_two_endings_the_first_stands(store, together):
    first, second = completion(ending="halted"), completion(ending="completed", ended_ms=9_999)
    await store.begin(execution())

    if together:
        await store.fold([], [first, second])
    else:
        await store.fold([], [first])
        await store.fold([], [second])

    assert ended(first) == await store.execution("x1")


async def test_a_run_that_ended_before_it_was_announced_keeps_its_ending(store):
    await store.fold([], [completion()])
    assert ended(completion(), definition_ref="", started_ms=8_900) == await store.execution("x1")

    assert await store.begin(execution())

    assert ended(completion()) == await store.execution("x1")
    assert not await store.begin(execution())


async def test_a_status_after_the_ending_is_recorded_and_does_not_wake_the_run(store):
    await store.begin(execution())
    await store.fold([], [completion()])

    await store.fold([status("late"), status("later", status="running")], [])

    assert [("late", "a", "success")] == await visits(store)
    assert ended(completion()) == await store.execution("x1")


async def test_a_run_nobody_announced_starts_at_the_earliest_its_messages_imply(store):
    await store.fold([status("t1", at_ms=3_000)], [])
    await store.fold([status("t2", at_ms=2_000)], [])
    await store.fold([status("t3", at_ms=4_000)], [])

    assert execution(definition_ref="", started_ms=1_990) == await store.execution("x1")


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (status(executed_at="yesterday"), "executed_at 'yesterday' of x1"),
        (status(node_id="a\0b"), "node_id"),
        (status("t" * 300), "token_id"),
        (status(node_id="é" * 600), "node_id"),
        (status(node_id="\ud800"), "node_id"),
        (status(name="x 1"), "execution_id"),
        (status(duration_ms=2**80), "duration_ms"),
        (status(attempt=2**31), "attempt"),
        (completion(completed_at="never"), "completed_at"),
        (completion(total_duration_ms=2**80), "total_duration_ms"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_message_no_store_can_keep_is_named_and_nothing_of_its_batch_is_written(
    store, bad, complaint
):
    is_status = isinstance(bad, NodeStatusMessage)
    statuses, endings = ([status("good"), bad], []) if is_status else ([status("good")], [bad])

    with pytest.raises(MessageError, match=complaint):
        await store.fold(statuses, endings)

    assert [] == await store.executions()
    assert [] == await store.node_runs("x1")


async def test_an_empty_batch_is_nothing(store):
    await store.fold([], [])

    assert [] == await store.executions()


async def test_masters_that_fold_the_same_messages_at_once_write_one_history(opener):
    """
    Each meets the runs in another order: without one order of locking they would wait in a circle.
    """
    stores = [await opener() for _ in range(3)]
    names = [f"x{n}" for n in range(20)]
    statuses = [status(f"t{n}", name) for name in names for n in range(5)]
    endings = [completion(name) for name in names]

    await asyncio.gather(
        *(
            store.fold(statuses[::way], endings[::way])
            for store in stores
            for way in (1, -1)
            for _ in range(3)
        )
    )

    for name in names:
        assert [f"t{n}" for n in range(5)] == sorted(
            run.token_id for run in await stores[0].node_runs(name)
        )
    assert 20 == len(await stores[0].executions(status="completed"))


# -- any order, any number of times --------------------------------------------------------------

BEGIN = "begin"
MESSAGES = [
    BEGIN,
    *(status(f"t{n}", status="running", output=None, at_ms=1_000 + n) for n in range(3)),
    *(status(f"t{n}", at_ms=2_000 - n) for n in range(3)),
    status("t3", status="failed", output=None, error=NodeError("bad", "CODE")),
    status("t4", status="waiting", output=None, metadata={"resume_at": 5}),
    completion(),
]


@st.composite
def deliveries(draw):
    """Every message at least once, some again, in any order, in batches of any size."""
    again = draw(st.lists(st.sampled_from(range(len(MESSAGES))), max_size=12))
    order = draw(st.permutations([*range(len(MESSAGES)), *again]))
    cuts = sorted(draw(st.sets(st.integers(1, len(order)), max_size=6)))
    edges = [0, *cuts, len(order)]
    return [order[a:b] for a, b in pairwise(edges)]


async def told(store, name, batches):
    """Deliver the batches about a run called `name`; return the history that comes of it."""
    begun = 0
    for batch in batches:
        chosen = [MESSAGES[n] for n in batch]
        begun += sum([await store.begin(execution(name)) for message in chosen if message is BEGIN])
        named = [replace(message, execution_id=name) for message in chosen if message is not BEGIN]
        await store.fold(
            [message for message in named if isinstance(message, NodeStatusMessage)],
            [message for message in named if isinstance(message, CompletionMessage)],
        )
    lines = [replace(run, execution_id="x") for run in await store.node_runs(name)]
    return begun, await store.execution(name), sorted(lines, key=lambda run: run.token_id)


async def test_any_order_and_repetition_of_the_messages_makes_the_same_history(store):
    loop, numbers = asyncio.get_running_loop(), count()
    _, _, in_order = await told(store, "plain", [range(len(MESSAGES))])
    assert ["t0", "t1", "t2", "t3", "t4"] == [run.token_id for run in in_order]

    @settings(max_examples=60)
    @given(deliveries())
    def told_in_any_way(batches):
        name = f"x{next(numbers)}"
        history = asyncio.run_coroutine_threadsafe(told(store, name, batches), loop).result(30)
        assert (1, ended(completion(name)), in_order) == history

    await asyncio.to_thread(told_in_any_way)


# -- retention -----------------------------------------------------------------------------------


async def test_pruning_drops_runs_that_ended_before_a_moment_and_nothing_else(store):
    await store.save_definition(DEFINITION)
    await store.begin(execution("alive"))
    ends = [completion("old", ended_ms=99), completion("edge", ended_ms=100)]
    await store.fold([status("t", name) for name in ("alive", "old", "edge")], ends)

    assert 1 == await store.prune(100)

    assert ["alive", "edge"] == sorted(run.execution_id for run in await store.executions())
    assert [] == await store.node_runs("old")
    assert 1 == len(await store.node_runs("edge"))
    assert 1 == len(await store.node_runs("alive"))
    assert DEFINITION == await store.definition("ref")
    assert 0 == await store.prune(100)


async def test_pruning_takes_more_runs_than_fit_into_one_transaction(store):
    many = 2 * PRUNED_AT_ONCE + 1
    names = [f"x{n}" for n in range(many)]
    await store.fold([status("t", name) for name in names], [completion(name) for name in names])

    assert many == await store.prune(10_000)

    assert [] == await store.executions()


# -- opening -------------------------------------------------------------------------------------


async def test_many_who_open_a_new_store_at_once_all_succeed(opener):
    stores = await asyncio.gather(*(opener() for _ in range(6)))

    assert [[]] * 6 == [await store.executions() for store in stores]


# -- runs that can be begun again ------------------------------------------------------------------


async def test_the_tokens_a_run_began_with_are_kept_and_the_first_stand(store):
    await store.begin(execution(), b"[1]")
    assert not await store.begin(execution(), b"[2]")

    assert b"[1]" == await store.start_of("x1")
    assert b"" == await store.start_of("unknown")


async def test_a_run_that_was_only_seen_gets_its_tokens_when_it_is_begun(store):
    await store.fold([status()], [])
    assert b"" == await store.start_of("x1")
    await store.begin(execution(), b"[1]")

    assert b"[1]" == await store.start_of("x1")


async def test_the_next_generation_is_taken_once(opener):
    stores = [await opener(), await opener()]
    await stores[0].begin(execution())

    answers = await asyncio.gather(*(store.regenerate("x1", 0, 7_000) for store in stores * 3))

    assert 1 == sum(answers)
    assert 1 == (await stores[0].execution("x1")).generation
    assert [1] == [run.generation for run in await stores[0].executions()]
    assert not await stores[0].regenerate("x1", 0, 7_000)
    assert await stores[0].regenerate("x1", 1, 7_000)


async def test_a_run_that_ended_or_is_unknown_has_no_next_generation(store):
    await store.fold([], [completion()])

    assert not await store.regenerate("x1", 0, 7_000)
    assert not await store.regenerate("unknown", 0, 7_000)


async def test_a_run_is_silent_since_the_last_message_that_spoke_of_it(store):
    await store.begin(execution(started_ms=1_000))
    assert [("x1", 1_000)] == await silent(store, 60_000)
    assert [] == await silent(store, 1_000)

    await store.fold([status(at_ms=40_000)], [])
    assert [("x1", 40_000)] == await silent(store, 60_000)
    assert [] == await silent(store, 40_000)

    await store.fold([status("t2", at_ms=20_000)], [])
    assert [("x1", 40_000)] == await silent(store, 60_000)

    await store.regenerate("x1", 0, 55_000)
    assert [("x1", 55_000)] == await silent(store, 60_000)

    await store.fold([], [completion()])
    assert [] == await silent(store, 60_000)


async def test_silent_runs_come_in_pages_by_their_ids(store):
    for name in ("b", "a", "c"):
        await store.begin(execution(name))

    assert ["a", "b"] == [name for name, _ in await silent(store, 60_000, limit=2)]
    assert ["c"] == [name for name, _ in await silent(store, 60_000, after="b", limit=2)]


async def silent(store, before_ms, **page):
    found = await store.quiet(before_ms, **page)
    return [(silence.execution.execution_id, silence.heard_ms) for silence in found]

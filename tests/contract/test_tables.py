"""The storage ports on tables promise the same on a file and on PostgreSQL."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from onward.adapters.postgres.connection import PostgresDatabase
from onward.adapters.postgres.start_rules import PostgresStartRules
from onward.adapters.postgres.store import open_store
from onward.adapters.sql.run_decisions import TableRunDecisions
from onward.adapters.sql.triggers import FIRINGS_AT_ONCE, TableTriggers
from onward.adapters.sql.workflows import TableWorkflows
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.journal import prepare_file
from onward.adapters.sqlite.start_rules import SqliteStartRules
from onward.kernel.records import Definition
from onward.ports.storage.run_decisions import RunDecision
from onward.ports.storage.start_rules import AGAIN_MS, Ahead, ParkedRun, StartRule
from onward.ports.storage.triggers import Firing, Interval, Trigger, Verdict, Webhook
from onward.ports.storage.workflows import WorkflowRecord, WorkflowVersion
from support.ledger import completion

DEFINITION = Definition("ref", "wf", b"{}")
BEGIN = {
    SqliteDatabase: "INSERT INTO execution VALUES ($1, 'wf', 'ref', $2, 1, $3, NULL)",
    PostgresDatabase: "INSERT INTO execution VALUES ($1, 'wf', 'ref', $2, 1, $3, NULL, true)",
}


@pytest.fixture
async def tables(place):
    if isinstance(place, Path):
        prepare_file(place)
        with closing(SqliteConnection(place)) as connection:
            yield SqliteDatabase(connection)
    else:
        store = await open_store(place)
        yield PostgresDatabase(store.pool, store.place)
        await store.close()


@pytest.fixture
def rules(tables):
    kind = SqliteStartRules if isinstance(tables, SqliteDatabase) else PostgresStartRules
    return kind(tables)


async def run(tables, name, status="running"):
    """Write a run, as its engine or a master would."""
    await tables.rows("DELETE FROM execution WHERE execution_id = $1", name)
    await tables.rows(BEGIN[type(tables)], name, status, None if status == "running" else 5)


# -- workflows -----------------------------------------------------------------------------------


def workflow(name="wf", revision=1, **changes):
    fields = {"latest": revision, "published": None, "enabled": True, "created_ms": 5}
    return WorkflowRecord(
        workflow_id=name, revision=revision, **{**fields, "changed_ms": 5 + revision, **changes}
    )


def version(number, name="wf"):
    return WorkflowVersion(
        workflow_id=name, number=number, definition_ref="ref", created_ms=number, note=f"n{number}"
    )


async def test_a_workflow_is_written_on_the_revision_before_it_with_all_its_parts_or_none(tables):
    registry = TableWorkflows(tables)

    assert await registry.save(workflow(), version(1), DEFINITION)
    assert not await registry.save(workflow(enabled=False), version(9))
    assert not await registry.save(workflow(revision=3), version(3))
    changed = workflow(revision=2, published=1, enabled=False)
    assert await registry.save(changed, version(2), DEFINITION)

    assert changed == await registry.workflow("wf")
    assert (await registry.workflow("wf")).enabled is False
    assert await registry.workflow("other") is None
    assert version(2) == await registry.version("wf", 2)
    assert await registry.version("wf", 9) is None
    assert [version(1)] == await registry.versions("wf", before=2, limit=9)
    assert [version(2)] == await registry.versions("wf", before=9, limit=1)


async def test_of_many_who_change_a_workflow_one_succeeds(tables):
    registry = TableWorkflows(tables)
    await registry.save(workflow())

    answers = await asyncio.gather(*(registry.save(workflow(revision=2)) for _ in range(5)))

    assert 1 == sum(answers)


async def test_workflows_come_in_pages_by_id_and_by_a_part_of_it(tables):
    registry = TableWorkflows(tables)
    for name in ("b%_", "a1", "c1"):
        await registry.save(workflow(name))

    async def page(**query):
        found = await registry.workflows(**{"after": "", "containing": "", "limit": 9, **query})
        return [record.workflow_id for record in found]

    assert ["a1", "b%_"] == await page(limit=2)
    assert ["c1"] == await page(after="b%_")
    assert ["a1", "c1"] == await page(containing="1")
    assert ["b%_"] == await page(containing="%_")


# -- decisions about runs ------------------------------------------------------------------------


async def test_the_first_decision_before_a_run_stands_and_a_pause_changes_nothing_else(tables):
    decisions = TableRunDecisions(tables)
    first = RunDecision(execution_id="x1", retry_of="x0", root="x0", priority=3, deadline_ms=50)
    await decisions.note(first)
    await decisions.note(RunDecision(execution_id="x1"))

    await decisions.pause("x1", 7)
    await decisions.pause("x2", 8)

    paused = RunDecision(execution_id="x2", paused_ms=8)
    assert {"x1": replace(first, paused_ms=7), "x2": paused} == await decisions.controls(
        ["x1", "x2", "x3"]
    )
    assert {} == await decisions.controls([])
    assert RunDecision(execution_id="x3") == await decisions.control("x3")
    await decisions.pause("x1", None)
    assert first == await decisions.control("x1")
    assert ["x1"] == await decisions.attempts("x0")


async def test_running_runs_beyond_their_deadline_are_overdue_the_oldest_first(tables):
    decisions = TableRunDecisions(tables)
    for name, deadline_ms in (("a", 30), ("b", 20), ("c", 10), ("d", 99), ("e", None)):
        await decisions.note(RunDecision(execution_id=name, deadline_ms=deadline_ms))
        await run(tables, name, "completed" if name == "c" else "running")

    assert ["b", "a"] == await decisions.overdue(30, 9)
    assert ["b"] == await decisions.overdue(30, 1)


# -- start rules and parked runs -----------------------------------------------------------------


def parked(name, due_ms=5, key="k"):
    return ParkedRun(
        execution_id=name,
        workflow_id="wf",
        definition_ref="ref",
        flow_key=key,
        at_ms=5,
        due_ms=due_ms,
        start=b"{}",
    )


async def released(rules, rule, now_ms=10, key="k"):
    return [run.execution_id for run in await rules.let_go(key, rule, now_ms)]


async def test_a_rule_is_set_replaced_and_taken_away(rules):
    for rule in (StartRule(concurrency=2), StartRule(rate=3, per_ms=9), None):
        await rules.set_rule("wf", rule)
        assert rule == await rules.rule("wf")


async def test_as_many_runs_are_released_as_there_is_room_for_in_their_order(tables, rules):
    rule = StartRule(concurrency=2)
    for name in ("c", "a", "b"):
        assert await rules.park(parked(name), rule, DEFINITION) is None
    await rules.park(parked("elsewhere", key="other"), rule, DEFINITION)
    await rules.park(parked("late", due_ms=50), rule, DEFINITION)

    assert ["c", "a"] == await released(rules, rule)
    assert [] == await released(rules, rule)
    assert Ahead(going_on=2, before=0, due_ms=5) == await rules.ahead("b")
    assert Ahead(going_on=2, before=1, due_ms=50) == await rules.ahead("late")
    await run(tables, "c", "completed")
    assert ["b"] == await released(rules, rule)
    assert await rules.ahead("unknown") is None
    assert {("wf", "k"), ("wf", "other")} == set(await rules.waiting(60))


async def test_a_release_that_never_started_is_repeated_after_a_while(tables, rules):
    rule = StartRule(concurrency=2)
    for name in ("a", "b"):
        await rules.park(parked(name), rule, DEFINITION)
    assert ["a", "b"] == await released(rules, rule, 10)
    await run(tables, "b")

    assert [] == await released(rules, rule, 10 + AGAIN_MS)
    assert ["a"] == await released(rules, rule, 11 + AGAIN_MS)


async def test_a_rate_counts_releases_also_of_runs_that_have_ended(tables, rules):
    rule = StartRule(rate=1, per_ms=100)
    for name in ("a", "b"):
        await rules.park(parked(name), rule, DEFINITION)
    assert ["a"] == await released(rules, rule, 10)
    await run(tables, "a", "completed")

    assert [] == await released(rules, rule, 109)
    assert ["b"] == await released(rules, rule, 111)


async def test_of_a_singleton_another_is_refused_while_one_is_parked_or_runs(tables, rules):
    rule = StartRule(singleton=True)
    parkings = (rules.park(parked(name), rule, DEFINITION) for name in ("a", "b", "c"))
    answers = await asyncio.gather(*parkings)

    (alive,) = {answer for answer in answers if answer is not None}
    assert [None, alive, alive] == sorted(answers, key=lambda answer: answer is not None)
    assert await rules.park(parked(alive), rule, DEFINITION) is None
    await run(tables, alive)
    assert alive == await rules.park(parked("d"), rule, DEFINITION)
    await run(tables, alive, "failed")
    assert await rules.park(parked("d"), rule, DEFINITION) is None


async def test_a_parked_run_is_dropped_once_and_one_that_was_released_not(tables, rules):
    rule = StartRule(concurrency=1)
    for name in ("a", "b", "c"):
        await rules.park(parked(name), rule, DEFINITION)
    await released(rules, rule)

    assert ["b"] == await rules.older("k")
    assert not await rules.drop(completion("a", ending="cancelled"), 20)
    assert not await rules.drop(completion("unknown", ending="cancelled"), 20)
    drops = (rules.drop(completion("b", ending="cancelled"), 20) for _ in range(3))
    assert 1 == sum(await asyncio.gather(*drops))
    assert [] == await rules.older("k")
    select = "SELECT status, started_ms, ended_ms FROM execution WHERE execution_id = $1"
    assert [("cancelled", 5, 20)] == await tables.rows(select, "b")


# -- triggers ------------------------------------------------------------------------------------


def trigger(name, settings=None, revision=1, **more):
    return Trigger(
        trigger_id=name,
        workflow_id="wf",
        revision=revision,
        enabled=True,
        settings=settings or Interval(every_ms=10),
        created_ms=1,
        changed_ms=revision,
        **more,
    )


def firing(key, state="waiting", name="t", **more):
    return Firing(
        trigger_id=name,
        key=key,
        cause="schedule",
        due_ms=1,
        at_ms=2,
        execution_id=f"run {key}",
        state=state,
        **more,
    )


async def test_a_path_belongs_to_one_webhook(tables):
    triggers = TableTriggers(tables)
    first, second = Webhook(path="/a"), Webhook(path="/b")

    assert await triggers.save(trigger("one", first))
    assert not await triggers.save(trigger("two", first))
    assert await triggers.save(trigger("two", second))
    assert not await triggers.save(trigger("two", first, revision=2))

    assert trigger("two", second) == await triggers.trigger("two")
    assert "one" == (await triggers.at_path("/a")).trigger_id


async def test_many_firings_are_added_at_once_and_none_twice(tables):
    triggers = TableTriggers(tables)
    many = [firing(f"{number:04}") for number in range(2 * FIRINGS_AT_ONCE + 1)]

    assert 1 == await triggers.add(many[7:8])
    assert len(many) - 1 == await triggers.add(many)
    assert 0 == await triggers.add([])
    known = await triggers.record(firing("0003", state="skipped"))
    assert many[3] == known
    assert firing("new", input=b"1") == await triggers.record(firing("new", input=b"1"))


async def test_a_schedule_advances_once_with_its_firings(tables):
    triggers = TableTriggers(tables)
    due = trigger("t", next_due_ms=10)
    await triggers.save(due)

    moves = (triggers.advance(due, 20, [firing("10"), firing("15")]) for _ in range(3))
    assert 1 == sum(await asyncio.gather(*moves))

    assert 20 == await triggers.next_due()
    assert ["15", "10"] == [
        found.key for found in await triggers.firings("t", before=(9, ""), limit=9)
    ]


async def test_settling_sees_what_is_there_and_writes_the_verdict(tables):
    triggers = TableTriggers(tables)
    await triggers.save(trigger("t"))
    await triggers.add([firing("a"), firing("b"), firing("c")])
    await triggers.add([firing("over", "started", overlap="skip")])
    await triggers.add([firing("active", "started", overlap="skip")])
    await run(tables, "run active")
    seen = []

    def decide(standing):
        seen.append(standing)
        skipped = replace(standing.waiting[1], note="not now")
        return Verdict(start=standing.waiting[:1], skip=(skipped,))

    await triggers.settle("t", decide)

    (standing,) = seen
    assert standing.enabled is True
    assert ["active"] == [found.key for found in standing.active]
    assert ["a", "b", "c"] == [found.key for found in standing.waiting]
    states = {key: (await triggers.firing("t", key)).state for key in ("a", "b", "c", "over")}
    assert {"a": "starting", "b": "skipped", "c": "waiting", "over": "ended"} == states
    assert "not now" == (await triggers.firing("t", "b")).note


async def test_a_run_keeps_the_trigger_that_started_it(tables):
    triggers = TableTriggers(tables)
    await triggers.save(trigger("t"))
    await triggers.add([firing("a", "starting", input=b"1"), firing("b", "starting")])

    await triggers.mark(firing("a"), "started")
    await triggers.mark(firing("b"), "refused", "why")

    origins = await triggers.origins(["run a", "run b", "other"])
    assert [("run a", "t", "interval")] == [
        (origin.execution_id, origin.trigger_id, origin.kind) for origin in origins
    ]
    assert (await triggers.firing("t", "a")).input is None
    assert await triggers.remove("t", 1)
    assert await triggers.firing("t", "a") is None
    assert not await triggers.remove("t", 1)

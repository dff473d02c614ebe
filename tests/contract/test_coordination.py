"""What every coordinator promises (DESIGN.md section 4), whatever its cells are kept in."""

import pytest

from kernel.builders import (
    abort,
    again,
    arrive,
    completion,
    fill,
    item,
    leave,
    scatter,
    token,
    try_open,
)
from onward.kernel.effects import (
    Aborted,
    Close,
    Closed,
    DiscardMerge,
    DiscardSplit,
    ExpireMerge,
    Forget,
    Late,
    Open,
    Opened,
    Overdue,
    Pending,
    Record,
    Skip,
    SlotFilled,
    Stands,
    Superseded,
    Values,
)
from onward.kernel.verdicts import CLOSED, DUPLICATE, SETTLED, SUPERSEDED, Execute, Finish
from support.coordinators import InMemory, InSqlite


@pytest.fixture(params=["memory", "sqlite"])
def run(request):
    if request.param == "memory":
        return InMemory()
    return InSqlite(request.getfixturevalue("journal"), "x1")


def record(name, tag="ok", siblings=2, outcome=b"first"):
    return Record(scope="", token_id=name, tag=tag, siblings=siblings, outcome=outcome)


# -- claim ---------------------------------------------------------------------------------------


def test_the_first_copy_of_a_token_runs_its_redelivery_too_and_no_other_copy(run):
    assert Execute() == run.claim(token())
    assert Execute() == run.claim(token())
    assert DUPLICATE == run.claim(again(token()))


def test_the_first_child_seen_fixes_its_parents_outcome(run):
    assert Execute() == run.claim(token("a", parent="p", outcome="yes"))
    assert SUPERSEDED == run.claim(token("b", parent="p", outcome="no"))
    assert Execute() == run.claim(token("c", parent="p", outcome="yes", siblings=1))


def test_a_step_whose_only_child_is_on_its_way_is_settled(run):
    parent = token("parent")
    run.claim(parent)
    run.claim(token("child", parent="parent", outcome="ok"))

    assert SETTLED == run.claim(parent)


def test_a_recorded_outcome_is_followed_instead_of_running_again(run):
    run.claim(token("t"))
    assert Stands(b"first") == run.answer(record("t"))
    assert Stands(b"first") == run.answer(record("t", tag="failed", outcome=b"second"))
    assert Execute(b"first") == run.claim(token("t"))


def test_an_outcome_is_not_recorded_over_a_child_that_is_followed(run):
    run.claim(token("t"))
    run.claim(token("child", parent="t", outcome="ok"))

    assert Superseded() == run.answer(record("t"))


# -- scopes --------------------------------------------------------------------------------------


def test_a_scope_closes_with_its_last_unit_and_only_that_one_is_told(run):
    for name in ("one", "two"):
        run.claim(token(name, parent="fork", outcome="ok", siblings=2))

    assert Open() == run.answer(leave("one", value=b"1"))
    closed = Closed({"one": b"1", "two": b"2"})
    assert closed == run.answer(leave("two", value=b"2"))
    assert closed == run.answer(leave("two", value=b"2"))
    assert Open() == run.answer(leave("one", value=b"1"))


def test_whoever_closed_the_run_is_told_to_finish_and_everyone_else_that_it_is_closed(run):
    run.claim(token("last"))
    run.answer(leave("last"))

    assert Finish(0) == run.claim(token("last"))
    assert CLOSED == run.claim(token("late"))


def test_an_item_that_closed_is_closed_for_late_tokens_and_repeatable_for_its_closer(run):
    run.answer(scatter())
    inside = item("s", 0)
    run.claim(token("t", lineage_stack=inside))

    assert Closed({"t": b"v"}) == run.answer(leave("t", inside, value=b"v"))
    assert Finish(1) == run.claim(token("t", lineage_stack=inside))
    assert CLOSED == run.claim(token("u", lineage_stack=inside))
    run.answer(fill(0, by="t"))
    assert SlotFilled() == run.answer(leave("t", inside))


def test_an_aborted_item_is_closed_whatever_lives_in_it(run):
    run.answer(scatter())
    inside = item("s", 1)
    for name in ("a", "b"):
        run.claim(token(name, parent="fork", outcome="ok", siblings=2, lineage_stack=inside))

    assert run.answer(abort("a", inside, error=b"bad"))
    assert run.answer(abort("a", inside, error=b"bad"))
    assert not run.answer(abort("b", inside))
    assert Aborted(b"bad") == run.answer(leave(None, inside, by="a"))
    assert CLOSED == run.claim(token("b", parent="fork", outcome="ok", lineage_stack=inside))


# -- split barriers ------------------------------------------------------------------------------


def test_slots_are_filled_and_never_counted(run):
    run.answer(scatter(total=2))

    assert "" == run.answer(fill(0)).verdict
    assert "" == run.answer(fill(0)).verdict
    assert None is run.answer(fill(0, by="somebody else"))
    assert "opened" == run.answer(fill(1)).verdict


def test_the_last_slot_says_opened_however_often_and_the_first_value_of_each_stands(run):
    run.answer(scatter(total=2))
    run.answer(fill(1, value=b"one"))
    for _ in range(2):
        assert "opened" == run.answer(fill(0, value=b"zero")).verdict
    run.answer(fill(1, value=b"other"))

    assert [b"zero", b"one"] == run.answer(Values(split="s"))


def test_a_filled_slot_releases_what_may_start_and_the_same_again(run):
    run.answer(scatter(total=5, window=2))

    first = run.answer(fill(1))
    assert (2, 1) == (first.start, first.count)
    second = run.answer(fill(0))
    assert (3, 1) == (second.start, second.count)
    assert (2, 1) == (run.answer(fill(1)).start, run.answer(fill(1)).count)


def test_one_failure_more_than_the_budget_closes_the_barrier(run):
    run.answer(scatter(total=4, budget=1))

    assert "" == run.answer(fill(0, failed=True)).verdict
    assert "failed" == run.answer(fill(1, failed=True)).verdict
    assert None is run.answer(fill(2))
    assert CLOSED == run.claim(token("late", lineage_stack=item("s", 3)))


def test_a_barrier_is_overdue_or_opened_and_never_both(run):
    run.answer(scatter("s", total=1))
    run.answer(scatter("z", total=1))

    assert b"origin of s" == run.answer(Overdue(split="s", by="timer"))
    assert b"origin of s" == run.answer(Overdue(split="s", by="timer"))
    assert None is run.answer(fill(0))
    run.answer(fill(0, split="z"))
    assert None is run.answer(Overdue(split="z", by="timer"))


def test_a_discarded_barrier_answers_nothing_and_keeps_late_items_out(run):
    run.answer(scatter(total=1))
    run.answer(fill(0))
    run.answer(DiscardSplit(split="s"))

    assert None is run.answer(Values(split="s"))
    assert None is run.answer(fill(0))
    assert CLOSED == run.claim(token("late", lineage_stack=item("s", 0)))


def test_barriers_of_two_runs_of_one_split_node_do_not_mix(run):
    for index in (0, 1):
        run.answer(scatter(f"inner{index}", total=1))

    run.answer(fill(0, split="inner0", by="a", value=b"A"))
    run.answer(fill(0, split="inner1", by="b", value=b"B"))

    assert [b"A"] == run.answer(Values(split="inner0"))
    assert [b"B"] == run.answer(Values(split="inner1"))


def test_a_closed_item_takes_the_barriers_inside_it_along(run):
    outer = item("s", 0, 1)
    run.answer(scatter(total=1))
    run.answer(scatter("inner", outside=outer))
    run.answer(fill(0))

    assert {"s"} == {group for group, _, _ in run.dump() if group}


# -- merges --------------------------------------------------------------------------------------


def test_a_merge_opens_once_with_everything_that_arrived(run):
    assert Pending(1) == run.answer(arrive("e1"))
    opened = Opened({"e1": b"payload of e1", "e2": b"payload of e2"})
    assert opened == run.answer(arrive("e2"))
    assert opened == run.answer(arrive("e2"))


def test_a_dead_edge_is_not_waited_for_and_death_is_monotone(run):
    run.answer(arrive("e1"))
    assert {"e2"} == run.answer(Skip(scope="", edges=frozenset({"e2"})))
    assert {"e2", "e9"} == run.answer(Skip(scope="", edges=frozenset({"e9"})))
    assert Opened({"e1": b"payload of e1"}) == run.answer(try_open("who"))
    assert None is run.answer(try_open("somebody else"))


def test_a_quota_opens_a_merge_and_the_others_are_late(run):
    assert Opened({"e2": b"payload of e2"}) == run.answer(arrive("e2", quota=1))
    assert Late() == run.answer(arrive("e1", quota=1))


def test_merges_of_two_scopes_do_not_mix(run):
    assert Pending(1) == run.answer(arrive("e1", scope="s/0"))
    assert Pending(1) == run.answer(arrive("e2", scope="s/1"))


def test_a_merge_expires_or_opens_and_never_both(run):
    run.answer(arrive("e1"))
    expired = Opened({"e1": b"payload of e1"})
    for _ in range(2):
        assert expired == run.answer(
            ExpireMerge(scope="", node="m", by="timer", expected=("e1", "e2"))
        )
    assert Late() == run.answer(arrive("e2"))


def test_a_discarded_merge_stays_closed(run):
    run.answer(arrive("e1", quota=1))
    run.answer(DiscardMerge(scope="", node="m", expected=("e1", "e2")))

    assert Late() == run.answer(arrive("e2", quota=1))
    assert Pending(1) == run.answer(arrive("e1", quota=1))


# -- the end -------------------------------------------------------------------------------------


def test_a_run_ends_once_and_its_ending_is_repeatable_for_who_ended_it(run):
    ending = completion()
    assert ending == run.answer(Close(by="t", unit="t", message=ending))
    assert ending == run.answer(Close(by="t"))
    assert None is run.answer(Close(by="u", unit="u", message=completion("halted")))
    assert CLOSED == run.claim(token("late"))


def test_after_the_end_nothing_but_a_tombstone_is_left(run):
    run.answer(scatter())
    run.answer(arrive("e1"))
    run.answer(Close(by="t", unit="t", message=completion()))
    run.answer(Forget())

    assert {("", "done", ""): ["t", None]} == run.dump()
    assert CLOSED == run.claim(token("t"))
    assert Late() == run.answer(arrive("e2", by="t"))

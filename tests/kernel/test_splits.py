"""Split barriers: slots are filled, never counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.builders import coordination, fill, item, leave, scatter, token
from onward.kernel.cells import MemoryCells
from onward.kernel.effects import DiscardSplit, Overdue, Values


def started(**how):
    run = coordination()
    run.answer(scatter(**how))
    return run


def verdicts(run, *fills):
    return [slot and slot.verdict for slot in map(run.answer, fills)]


def test_the_slot_that_is_filled_last_opens_the_barrier():
    assert ["", "", "opened"] == verdicts(started(), fill(2), fill(0), fill(1))


def test_values_are_in_item_order_whatever_the_order_of_arrival():
    run = started()
    verdicts(run, fill(2), fill(0), fill(1))
    assert [b"v0", b"v1", b"v2"] == run.answer(Values(split="s"))


def test_items_beyond_the_ninth_are_in_order_too():
    run = started(total=12)
    verdicts(run, *(fill(index) for index in reversed(range(12))))
    assert [f"v{index}".encode() for index in range(12)] == run.answer(Values(split="s"))


def test_a_redelivered_item_cannot_open_the_barrier_early():
    """
    RFC 004 counted arrivals: item 0 twice and item 1 once opened a barrier of three.
    """
    assert ["", "", ""] == verdicts(started(), fill(0), fill(0), fill(1))


def test_a_slot_keeps_its_first_value():
    run = started(total=1)
    verdicts(run, fill(0, value=b"first"), fill(0, value=b"second"))
    assert [b"first"] == run.answer(Values(split="s"))


def test_only_its_filler_gets_an_answer_about_a_slot():
    run = started()
    run.answer(fill(0, by="owner"))
    assert None is run.answer(fill(0, by="another"))


def test_whoever_opened_the_barrier_hears_so_however_often_and_nobody_else():
    run = started(total=2)
    assert ["", "opened", "opened", ""] == verdicts(run, fill(0), fill(1), fill(1), fill(0))


def test_values_stay_until_what_follows_is_safely_on_its_way():
    """
    RFC 004 deleted them before publishing: a crash in between lost the results.
    """
    run = started(total=1)
    run.answer(fill(0))
    assert run.answer(Values(split="s")) == run.answer(Values(split="s"))
    run.answer(DiscardSplit(split="s"))
    assert None is run.answer(Values(split="s"))


def test_the_barrier_belongs_to_one_run_of_the_split():
    """
    RFC 004 keyed by the split's node: two outer items opened each other's inner barrier.
    """
    run = started(split="outer", total=2)
    run.answer(scatter("inner-of-0", total=2, outside=item("outer", 0)))
    run.answer(scatter("inner-of-1", total=2, outside=item("outer", 1)))
    assert ["", ""] == verdicts(run, fill(0, split="inner-of-0"), fill(0, split="inner-of-1"))


def test_a_slot_tells_how_far_the_barrier_is_and_where_the_split_stands():
    run = started()
    run.answer(fill(0, failed=True))
    slot = run.answer(fill(1))
    assert (2, 1, 3, b"origin of s") == (slot.filled, slot.failed, slot.total, slot.origin)


def test_filling_a_slot_of_an_unknown_split_does_nothing():
    assert None is coordination().answer(fill(0))


# -- declaration ---------------------------------------------------------------------------------


def test_the_first_declaration_stands():
    run = started(total=1)
    assert True is run.answer(scatter(total=5))
    assert "opened" == run.answer(fill(0)).verdict


def test_a_redelivered_split_sends_nothing_once_its_barrier_is_closed():
    run = started(total=1)
    run.answer(fill(0))
    assert False is run.answer(scatter(total=1))
    run.answer(DiscardSplit(split="s"))
    assert False is run.answer(scatter(total=1))


# -- windows -------------------------------------------------------------------------------------


def released(run, *fills):
    return [(slot.start, slot.count) for slot in map(run.answer, fills)]


def test_without_a_narrow_window_nothing_is_left_to_release():
    assert [(3, 0)] == released(started(), fill(0))


def test_each_filled_slot_releases_the_next_item():
    run = started(total=4, window=2)
    assert [(2, 1), (3, 1), (4, 0)] == released(run, fill(1), fill(0), fill(2))


def test_a_redelivery_releases_the_same_item_again_and_no_other():
    run = started(total=4, window=2)
    assert [(2, 1), (2, 1), (3, 1), (2, 1)] == released(run, fill(0), fill(0), fill(1), fill(0))


def test_a_spent_budget_releases_nothing_more():
    run = started(total=9, window=1, budget=0)
    assert [(1, 0)] == released(run, fill(0, failed=True))


@given(st.integers(1, 12), st.integers(1, 5), st.randoms(use_true_random=False))
def test_every_item_is_released_once_and_never_more_than_the_window_is_in_flight(
    total, window, dice
):
    """
    The limit holds through the whole split, under redelivery: not for the first wave only.
    """
    run = started(total=total, window=window)
    flying, done, opened = list(range(min(total, window))), [], []
    while flying:
        assert len(flying) <= window
        index = flying.pop(dice.randrange(len(flying)))
        slot = run.answer(fill(index))
        flying += range(slot.start, slot.start + slot.count)
        done.append(index)
        repeated = dice.choice(done)
        again = run.answer(fill(repeated))
        opened += [verdict for verdict in (slot.verdict, again.verdict) if verdict]
    assert list(range(total)) == sorted(done)
    assert {"opened"} == set(opened)


# -- budgets -------------------------------------------------------------------------------------


def test_without_a_budget_any_number_may_fail():
    fills = [fill(index, failed=True) for index in range(3)]
    assert ["", "", "opened"] == verdicts(started(), *fills)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(0, ["failed", None, None]), (1, ["", "failed", None]), (2, ["", "", "failed"])],
)
def test_one_failure_more_than_the_budget_fails_the_barrier(budget, expected):
    run = started(budget=budget)
    assert expected == verdicts(run, *(fill(index, failed=True) for index in range(3)))


def test_a_budget_that_is_exactly_met_is_not_overspent():
    run = started(budget=3)
    assert ["", "", "opened"] == verdicts(run, *(fill(index, failed=True) for index in range(3)))


def test_a_redelivered_failure_counts_once():
    run = started(budget=1)
    assert ["", "", ""] == verdicts(run, *[fill(0, failed=True)] * 3)


def test_whoever_overspent_the_budget_hears_so_however_often():
    run = started(budget=0)
    assert ["failed", "failed"] == verdicts(run, *[fill(1, failed=True)] * 2)


# -- time-outs and tombstones --------------------------------------------------------------------


def test_an_overdue_barrier_is_closed_by_its_timer_alone():
    run = started()
    run.answer(fill(0))
    assert b"origin of s" == run.answer(Overdue(split="s", by="timer"))
    assert b"origin of s" == run.answer(Overdue(split="s", by="timer"))
    assert None is run.answer(Overdue(split="s", by="another"))
    assert None is run.answer(fill(1))
    assert "closed" == run.claim(token("late", lineage_stack=item("s", 2))).why


def test_a_barrier_that_opened_first_is_not_overdue():
    run = started(total=1)
    run.answer(fill(0))
    assert None is run.answer(Overdue(split="s", by="timer"))
    assert "opened" == run.answer(fill(0)).verdict


def test_a_discarded_barrier_answers_nobody():
    run = started(total=1)
    run.answer(fill(0))
    run.answer(DiscardSplit(split="s"))
    assert None is run.answer(fill(0))
    assert None is run.answer(Overdue(split="s", by="timer"))


def test_of_a_discarded_barrier_only_the_tombstone_is_kept():
    cells = MemoryCells()
    run = coordination(cells)
    run.answer(scatter(budget=0))
    run.claim(token("running", lineage_stack=item("s", 1)))
    run.answer(fill(0, failed=True))
    run.answer(DiscardSplit(split="s"))
    assert {"", "s"} == set(cells.groups())
    assert {} == {**cells.all("s", "value"), **cells.all("s", "slot"), **cells.all("s", "origin")}


def test_discarding_what_is_not_there_makes_nothing():
    cells = MemoryCells()
    coordination(cells).answer(DiscardSplit(split="s"))
    assert [""] == list(cells.groups())


def test_an_item_of_a_failed_barrier_that_leaves_late_opens_nothing():
    run = started(budget=0)
    run.answer(fill(0, failed=True))
    run.answer(DiscardSplit(split="s"))
    run.answer(leave("late", item("s", 1)))
    assert None is run.answer(fill(1, by="late"))

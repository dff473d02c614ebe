"""Scopes: the last one out closes the door, and only it is told, however often it asks."""

from hypothesis import given
from hypothesis import strategies as st

from kernel.builders import abort, coordination, fill, item, leave, scatter, token
from onward.kernel.cells import MemoryCells
from onward.kernel.effects import Aborted, Closed, Open, SlotFilled


def test_a_scope_with_one_token_closes_when_it_leaves():
    assert Closed({"t": b"value"}) == coordination().answer(leave("t", value=b"value"))


def test_a_scope_closes_when_the_last_of_its_tokens_leaves_and_keeps_what_each_left():
    """
    RFC 001 completed the run at every leaf: too early and several times.
    """
    run = coordination()
    for name in ("one", "two"):
        run.claim(token(name, parent="fork", outcome="ok", siblings=2))
    assert Open() == run.answer(leave("one", value=b"1"))
    assert Closed({"one": b"1", "two": b"2"}) == run.answer(leave("two", value=b"2"))


def test_siblings_not_yet_seen_count_as_alive():
    run = coordination()
    run.claim(token("one", parent="fork", outcome="ok", siblings=2))
    assert Open() == run.answer(leave("one"))


def test_a_unit_that_leaves_twice_leaves_once():
    run = coordination()
    run.claim(token("one", parent="fork", outcome="ok", siblings=2))
    run.answer(leave("one"))
    assert Open() == run.answer(leave("one"))


def test_whoever_closed_the_scope_hears_so_however_often_it_asks():
    run = coordination()
    closed = run.answer(leave("t", value=b"v"))
    assert closed == run.answer(leave("t", value=b"other"))
    assert closed == run.answer(leave(None, by="t"))


def test_nobody_else_hears_that_the_scope_closed():
    run = coordination()
    run.answer(leave("t"))
    assert Open() == run.answer(leave("t", by="another message"))
    assert Open() == run.answer(leave(None, by="another message"))


def test_asking_without_a_unit_changes_nothing():
    run = coordination()
    assert Open() == run.answer(leave(None, by="t"))
    assert Closed({"t": b""}) == run.answer(leave("t"))


def test_a_unit_whose_child_is_already_followed_cannot_leave():
    """
    Another attempt of the same step went on; ending here too would close the scope under it.
    """
    run = coordination()
    run.claim(token("child", parent="t", outcome="ok"))
    assert Open() == run.answer(leave("t"))
    assert Closed({"child": b""}) == run.answer(leave("child"))


def test_after_a_unit_left_children_of_another_attempt_are_superseded():
    run = coordination()
    run.claim(token("x", parent="fork", outcome="ok", siblings=2))
    run.answer(leave("x"))
    assert "superseded" == run.claim(token("child", parent="x", outcome="ok")).why


def test_an_item_closes_its_own_scope_and_not_the_run():
    run = coordination()
    run.answer(scatter())
    assert Closed({"i": b"v"}) == run.answer(leave("i", item("s", 0), value=b"v"))
    assert Closed({"t": b""}) == run.answer(leave("t"))


def test_a_fork_inside_an_item_is_counted_in_that_item():
    run, at = coordination(), item("s", 0)
    run.answer(scatter())
    for name in ("one", "two"):
        run.claim(token(name, parent="fork", outcome="ok", siblings=2, lineage_stack=at))
    assert Open() == run.answer(leave("one", at))
    assert Closed({"one": b"", "two": b""}) == run.answer(leave("two", at))


def test_after_the_slot_is_filled_its_filler_hears_filed_and_others_nothing():
    run, at = coordination(), item("s", 0)
    run.answer(scatter())
    run.answer(leave("i", at))
    run.answer(fill(0, by="i"))
    assert SlotFilled() == run.answer(leave("i", at))
    assert Open() == run.answer(leave("i", at, by="another message"))


def test_leaving_an_item_of_a_split_that_is_gone_does_nothing():
    assert Open() == coordination().answer(leave("i", item("s", 0)))


# -- abort ---------------------------------------------------------------------------------------


def test_an_abort_closes_the_item_whatever_still_lives_in_it():
    run, at = coordination(), item("s", 0)
    run.answer(scatter())
    run.claim(token("one", parent="fork", outcome="ok", siblings=2, lineage_stack=at))
    assert True is run.answer(abort("one", at))
    assert "closed" == run.claim(token("two", parent="fork", outcome="ok", lineage_stack=at)).why


def test_who_aborted_gets_its_error_back_however_often_it_asks():
    run, at = coordination(), item("s", 0)
    run.answer(scatter())
    run.answer(abort("one", at, error=b"first"))
    assert True is run.answer(abort("one", at, error=b"second"))
    assert Aborted(b"first") == run.answer(leave("one", at))


def test_the_first_abort_stands():
    run, at = coordination(), item("s", 0)
    run.answer(scatter())
    run.answer(abort("one", at))
    assert False is run.answer(abort("two", at))
    assert Open() == run.answer(leave("two", at))


def test_an_item_that_ended_well_cannot_be_aborted_any_more():
    run, at = coordination(), item("s", 0)
    run.answer(scatter())
    run.answer(leave("i", at))
    assert False is run.answer(abort("late", at))
    run.answer(fill(0, by="i"))
    assert False is run.answer(abort("late", at))
    assert True is run.answer(abort("i", at))  # the closer itself: what follows is its to repeat


def test_a_failing_attempt_cannot_abort_when_another_attempt_went_on():
    run, at = coordination(), item("s", 0)
    run.answer(scatter())
    run.claim(token("child", parent="t", outcome="ok", lineage_stack=at))
    assert False is run.answer(abort("t", at))


def test_aborting_an_item_of_a_split_that_is_gone_does_nothing():
    assert False is coordination().answer(abort("i", item("s", 0)))


# -- memory --------------------------------------------------------------------------------------


def test_a_filled_slot_drops_everything_about_its_item():
    """
    The memory of a huge fan-out is bounded by what is in flight.
    """
    cells = MemoryCells()
    run, at = coordination(cells), item("s", 0)
    run.answer(scatter())
    run.claim(token("i", lineage_stack=at))
    run.answer(leave("i", at))
    run.answer(fill(0, by="i"))
    assert {"", "s"} == set(cells.groups())


def test_with_an_item_go_the_barriers_of_the_splits_inside_it():
    cells = MemoryCells()
    run, at = coordination(cells), item("s", 0)
    run.answer(scatter())
    run.answer(scatter("inner", outside=at))
    run.answer(scatter("innermost", outside=item("inner", 1, outside=at)))
    deepest = item("innermost", 2, outside=item("inner", 1, outside=at))
    run.claim(token("deep", lineage_stack=deepest))
    run.answer(abort("x", at))
    run.answer(fill(0, by="x", failed=True))
    assert {"", "s"} == set(cells.groups())


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=12))
def test_however_units_leave_and_repeat_one_of_them_closes_the_scope(order, repeats):
    """
    Six siblings leave in any order, with repetitions in between: exactly one message is told that
    the scope is closed, and only after every one has left.
    """
    run, tellings = coordination(), []
    names = [f"u{n}" for n in order]
    for name in names:
        run.claim(token(name, parent="fork", outcome="ok", siblings=6))
    gone = set()
    for name in (*names, *(f"u{n}" for n in repeats)):
        gone.add(name)
        answer = run.answer(leave(name))
        if isinstance(answer, Closed):
            tellings.append((name, len(gone), set(answer.left)))
    assert {(names[-1], 6)} == {(name, count) for name, count, _ in tellings}
    assert all(set(names) == left for _, _, left in tellings)

"""May the bearer of this token execute it? One answer for every way a message can come twice."""

from kernel.builders import (
    abort,
    again,
    completion,
    coordination,
    fill,
    item,
    leave,
    scatter,
    token,
)
from onward.kernel.effects import (
    Close,
    Closed,
    DiscardSplit,
    Forget,
    Open,
    Record,
    Stands,
    Superseded,
)
from onward.kernel.verdicts import CLOSED, DUPLICATE, SETTLED, SUPERSEDED, Execute, Finish


def record(name="t", outcome=b"outcome", siblings=2, scope="", tag="ok"):
    return Record(scope=scope, token_id=name, tag=tag, siblings=siblings, outcome=outcome)


def test_a_token_that_was_never_seen_runs():
    assert Execute() == coordination().claim(token())


def test_a_redelivery_of_the_owner_runs_again():
    """
    The broker repeats exactly that message until it is acknowledged: if it were dropped, the
    token would be lost with the worker that died.
    """
    run = coordination()
    run.claim(token())
    assert Execute() == run.claim(token())


def test_another_copy_of_a_claimed_token_is_a_duplicate():
    run = coordination()
    run.claim(token())
    assert DUPLICATE == run.claim(again(token()))


def test_whichever_copy_comes_first_owns_the_token():
    run = coordination()
    run.claim(again(token()))
    assert DUPLICATE == run.claim(token())
    assert Execute() == run.claim(again(token()))


def test_the_first_child_seen_fixes_its_parents_outcome():
    run = coordination()
    run.claim(token("yes", parent="if", outcome="true"))
    assert SUPERSEDED == run.claim(token("no", parent="if", outcome="false"))


def test_a_second_child_of_the_same_outcome_runs():
    run = coordination()
    run.claim(token("one", parent="fork", outcome="ok", siblings=2))
    assert Execute() == run.claim(token("two", parent="fork", outcome="ok", siblings=2))


def test_a_superseded_child_is_not_counted_as_alive():
    run = coordination()
    run.claim(token("yes", parent="if", outcome="true"))
    run.claim(token("no", parent="if", outcome="false", siblings=5))
    assert Closed({"yes": b""}) == run.answer(leave("yes"))


def test_a_parent_run_again_after_its_only_child_was_claimed_is_settled():
    run = coordination()
    run.claim(token("parent"))
    run.claim(token("child", parent="parent", outcome="ok"))
    assert SETTLED == run.claim(token("parent"))


def test_a_parent_with_several_children_runs_again_since_some_may_not_have_been_sent():
    run = coordination()
    run.claim(token("parent"))
    run.claim(token("child", parent="parent", outcome="ok", siblings=2))
    assert Execute() == run.claim(token("parent"))


def test_outcomes_are_fixed_per_scope():
    run = coordination()
    run.answer(scatter())
    for index, tag in enumerate(("true", "false")):
        child = token(f"c{index}", parent="if", outcome=tag, lineage_stack=item("s", index))
        assert Execute() == run.claim(child)


# -- recorded outcomes ---------------------------------------------------------------------------


def test_a_recorded_outcome_is_followed_instead_of_executing_again():
    run = coordination()
    run.claim(token())
    run.answer(record(outcome=b"first"))
    assert Execute(b"first") == run.claim(token())


def test_the_first_recorded_outcome_stands():
    run = coordination()
    assert Stands(b"first") == run.answer(record(outcome=b"first"))
    assert Stands(b"first") == run.answer(record(outcome=b"second", tag="other"))


def test_recording_again_does_not_count_the_children_again():
    run = coordination()
    run.answer(record(siblings=2))
    run.answer(record(siblings=2))
    assert Open() == run.answer(leave("one"))
    assert Closed({"one": b"", "two": b""}) == run.answer(leave("two"))


def test_children_of_an_outcome_that_is_not_the_recorded_one_are_superseded():
    run = coordination()
    run.answer(record(tag="failed"))
    assert SUPERSEDED == run.claim(token("child", parent="t", outcome="ok"))


def test_a_record_without_children_still_supersedes_those_of_another_attempt():
    run = coordination()
    run.answer(record(tag="halt", siblings=0))
    assert SUPERSEDED == run.claim(token("child", parent="t", outcome="ok"))
    assert Closed({"t": b""}) == run.answer(leave("t"))


def test_a_child_already_followed_outranks_a_later_record():
    run = coordination()
    run.claim(token("child", parent="t", outcome="ok"))
    assert Superseded() == run.answer(record(tag="failed"))


# -- closed scopes -------------------------------------------------------------------------------


def test_after_the_run_ended_every_token_is_dropped():
    run = coordination()
    run.answer(Close(by="t", message=completion()))
    assert CLOSED == run.claim(token("other"))


def test_the_message_that_ended_the_run_may_finish_telling_it():
    run = coordination()
    run.answer(Close(by="t", message=completion()))
    assert Finish(0) == run.claim(token("t"))


def test_the_message_that_closed_the_root_scope_may_finish():
    run = coordination()
    run.answer(leave("t"))
    assert Finish(0) == run.claim(token("t"))
    assert CLOSED == run.claim(token("other"))


def test_after_the_end_was_published_even_the_message_that_ended_the_run_is_dropped():
    run = coordination()
    run.answer(Close(by="t", message=completion()))
    run.answer(Forget())
    assert CLOSED == run.claim(token("t"))


def test_a_token_of_a_split_that_was_never_declared_is_dropped():
    assert CLOSED == coordination().claim(token(lineage_stack=item("s", 0)))


def test_the_message_that_closed_an_item_may_finish_it_before_and_after_its_slot_is_filled():
    run, at = coordination(), item("s", 1)
    run.answer(scatter())
    run.answer(leave("t", at))
    assert Finish(1) == run.claim(token("t", lineage_stack=at))
    assert CLOSED == run.claim(token("other", lineage_stack=at))
    run.answer(fill(1, by="t"))
    assert Finish(1) == run.claim(token("t", lineage_stack=at))
    assert CLOSED == run.claim(token("other", lineage_stack=at))


def test_the_message_that_opened_a_barrier_may_finish_what_follows_it():
    run, at = coordination(), item("s", 0, total=1)
    run.answer(scatter(total=1))
    run.answer(fill(0, by="t"))
    assert Finish(1) == run.claim(token("t", lineage_stack=at))


def test_other_items_go_on_when_one_is_closed():
    run = coordination()
    run.answer(scatter())
    run.answer(abort("t", item("s", 1)))
    assert Execute() == run.claim(token("other", lineage_stack=item("s", 2)))


def test_a_token_is_closed_when_any_scope_around_it_is():
    run, outer = coordination(), item("outer", 0)
    run.answer(scatter("outer"))
    run.answer(scatter("inner", outside=outer))
    run.answer(abort("x", outer))
    deep = item("inner", 2, outside=outer)
    assert CLOSED == run.claim(token("late", lineage_stack=deep))
    assert Finish(1) == run.claim(token("x", lineage_stack=deep))


def test_one_message_that_closed_two_levels_is_sent_to_the_outer_one():
    """
    The last inner item closes the outer item too. Dying after that, it must not fill the inner
    slot again but go on where the outer item's scope closed.
    """
    run, outer = coordination(), item("outer", 0, total=1)
    run.answer(scatter("outer", total=1))
    run.answer(scatter("inner", total=1, outside=outer))
    deep = item("inner", 0, total=1, outside=outer)
    run.answer(leave("t", deep))
    assert Finish(2) == run.claim(token("t", lineage_stack=deep))
    run.answer(fill(0, by="t", split="inner"))
    run.answer(leave("joined", outer, by="t"))
    assert Finish(1) == run.claim(token("t", lineage_stack=deep))


def test_items_of_a_barrier_that_failed_are_dropped():
    run = coordination()
    run.answer(scatter(budget=0))
    run.answer(fill(0, failed=True))
    assert CLOSED == run.claim(token("late", lineage_stack=item("s", 1)))


def test_late_items_of_a_discarded_barrier_meet_its_tombstone():
    run = coordination()
    run.answer(scatter(total=1))
    run.answer(fill(0))
    run.answer(DiscardSplit(split="s"))
    assert CLOSED == run.claim(token("i0", lineage_stack=item("s", 0)))

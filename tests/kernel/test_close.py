"""The end of a run: once, repeatable for whoever ended it, final for everybody."""

import pytest

from kernel.builders import (
    abort,
    arrive,
    completion,
    coordination,
    fill,
    item,
    leave,
    scatter,
    token,
    try_open,
)
from onward.kernel.cells import MemoryCells
from onward.kernel.effects import (
    Close,
    Closed,
    DiscardMerge,
    DiscardSplit,
    ExpireMerge,
    Forget,
    Late,
    Open,
    Overdue,
    Record,
    Skip,
    Superseded,
    Values,
)
from onward.kernel.verdicts import Execute


def status(run, **how):
    answer = run.answer(Close(**how))
    return answer and answer.status


def test_the_first_to_end_the_run_ends_it():
    run = coordination()
    assert "failed" == status(run, by="t", message=completion("failed"))
    assert None is status(run, by="other", message=completion("completed"))


def test_whoever_ended_the_run_gets_the_same_completion_however_often_it_asks():
    run = coordination()
    status(run, by="t", message=completion("halted"))
    assert "halted" == status(run, by="t", message=completion("completed"))
    assert "halted" == status(run, by="t")


def test_asking_without_a_message_ends_nothing():
    run = coordination()
    assert None is status(run, by="t")
    assert "completed" == status(run, by="t", message=completion())


def test_a_failing_attempt_cannot_end_the_run_when_another_attempt_went_on():
    run = coordination()
    run.claim(token("child", parent="t", outcome="ok"))
    assert None is status(run, by="t", unit="t", message=completion("halted"))
    assert Execute() == run.claim(token("grandchild", parent="child"))


def test_of_a_forgotten_run_only_the_tombstone_is_kept():
    cells = MemoryCells()
    run = coordination(cells)
    run.answer(scatter())
    run.claim(token("i", lineage_stack=item("s", 0)))
    run.answer(Close(by="t", message=completion()))
    run.answer(Forget())
    assert [""] == list(cells.groups())
    assert {"": ("t", None)} == cells.all("", "done")
    assert None is cells.get("", "live", "")


def test_a_run_that_has_not_ended_cannot_be_forgotten():
    run = coordination()
    run.claim(token("one", parent="fork", outcome="ok", siblings=2))
    run.answer(Forget())
    assert Open() == run.answer(leave("one"))


def test_a_forgotten_run_cannot_end_again():
    run = coordination()
    run.answer(Close(by="t", message=completion()))
    run.answer(Forget())
    assert None is status(run, by="t", message=completion("failed"))
    assert None is status(run, by="other", message=completion("failed"))


SLOW = {
    "leave": (leave("slow"), Open()),
    "abort": (abort("slow", item("s", 0)), False),
    "fill": (fill(0, by="slow"), None),
    "overdue": (Overdue(split="s", by="slow"), None),
    "arrive": (arrive("e1", by="slow"), Late()),
    "try open": (try_open("slow"), None),
    "expire": (ExpireMerge(scope="", node="m", by="slow", expected=("e1", "e2")), None),
}
NAMELESS = {
    "record": (
        Record(scope="", token_id="slow", tag="ok", siblings=2, outcome=b""),
        Superseded(),
    ),
    "scatter": (scatter(), False),
    "values": (Values(split="s"), None),
    "discard split": (DiscardSplit(split="s"), None),
    "discard merge": (DiscardMerge(scope="", node="m", expected=("e1", "e2")), None),
    "skip": (Skip(scope="", edges=frozenset({"e1"})), frozenset({"e1"})),
}


@pytest.mark.parametrize(("ask", "answer"), SLOW.values(), ids=SLOW)
def test_after_the_end_a_worker_that_was_slow_to_notice_changes_nothing(ask, answer):
    cells = MemoryCells()
    run = coordination(cells)
    run.answer(Close(by="t", message=completion()))
    assert answer == run.answer(ask)
    assert ["born", "done"] == list(cells._groups[""])
    assert [""] == list(cells.groups())


EVERYTHING = SLOW | NAMELESS


@pytest.mark.parametrize(("ask", "answer"), EVERYTHING.values(), ids=EVERYTHING)
def test_after_the_end_was_published_nobody_changes_anything(ask, answer):
    cells = MemoryCells()
    run = coordination(cells)
    run.answer(Close(by="slow", message=completion()))
    run.answer(Forget())
    assert answer == run.answer(ask)
    assert ["done"] == list(cells._groups[""])
    assert [""] == list(cells.groups())


def test_the_message_that_ended_the_run_may_still_ask_what_it_needs_to_finish():
    run = coordination()
    run.answer(leave("t", value=b"v"))
    run.answer(Close(by="t", message=completion()))
    assert Closed({"t": b"v"}) == run.answer(leave("t"))

"""A state that was lost, and the one that replaces it."""

import pytest

from kernel.builders import arrive, completion, coordination, fill, leave, scatter, token
from onward.kernel.cells import MemoryCells
from onward.kernel.coordination import Coordination
from onward.kernel.effects import (
    Begin,
    Close,
    Forget,
    Late,
    Open,
    Record,
    Restore,
    Stands,
    Supersede,
    Superseded,
)
from onward.kernel.messages import state_id_of
from onward.kernel.verdicts import CLOSED, LOST, Execute


def lost():
    return Coordination(MemoryCells())


def test_a_token_finds_no_state_and_may_not_make_one():
    cells = MemoryCells()
    assert LOST == Coordination(cells).claim(token())
    assert [] == list(cells.groups())


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (leave("t"), Open()),
        (scatter(), False),
        (fill(0), None),
        (arrive("e1"), Late()),
        (Record(scope="", token_id="t", tag="ok", siblings=2, outcome=b"o"), Superseded()),
    ],
    ids=["leave", "scatter", "fill", "arrive", "record"],
)
def test_whoever_outlived_the_state_changes_nothing(ask, answer):
    cells = MemoryCells()
    assert answer == Coordination(cells).answer(ask)
    assert [] == list(cells.groups())


def test_a_run_that_lost_its_state_can_still_end_with_a_cause():
    assert "failed" == lost().answer(Close(by="q", message=completion("failed"))).status


def test_an_outcome_that_history_knows_is_followed_and_not_executed_again():
    run = lost()
    run.answer(Restore(scope="", token_id="t", outcome=b"known"))
    run.answer(Begin())
    assert Execute(b"known") == run.claim(token("t"))


def test_what_is_on_record_stands_against_history():
    run = coordination()
    run.claim(token("t"))
    run.answer(Record(scope="", token_id="t", tag="ok", siblings=2, outcome=b"first"))
    run.answer(Restore(scope="", token_id="t", outcome=b"second"))
    assert Stands(b"first") == run.answer(
        Record(scope="", token_id="t", tag="ok", siblings=2, outcome=b"third")
    )


def test_a_superseded_state_is_closed_for_everybody_and_leaves_only_a_tombstone():
    cells = MemoryCells()
    run = coordination(cells)
    run.claim(token("t"))
    run.answer(scatter())
    assert None is run.answer(Supersede())
    assert CLOSED == run.claim(token("t"))
    assert Open() == run.answer(leave("t"))
    assert None is run.answer(Close(by="t", message=completion()))
    assert ["done"] == list(cells._groups[""])
    assert [""] == list(cells.groups())


def test_a_superseded_state_cannot_begin_again():
    run = coordination()
    run.answer(Supersede())
    run.answer(Begin())
    run.answer(Restore(scope="", token_id="t", outcome=b"known"))
    assert CLOSED == run.claim(token("t"))


def test_a_run_that_ended_is_not_superseded_but_tells_how():
    run = coordination()
    run.answer(Close(by="t", message=completion()))
    assert completion() == run.answer(Supersede())
    run.answer(Forget())
    assert None is run.answer(Supersede())


def test_each_generation_has_a_name_of_its_own():
    assert "x1" == state_id_of("x1", 0) == token().state_id
    assert "x1~2" == state_id_of("x1", 2) == token(generation=2).state_id

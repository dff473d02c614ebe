"""Completions of runs that the engine ends itself."""

import pytest

from onward.kernel.records import RunRecord
from onward.runtime.token.statuses import (
    cancellation_of,
    ended_by_engine,
    expiry_of,
    quarantine_of,
)

RUN = RunRecord(
    execution_id="x", workflow_id="w", definition_ref="d", status="running", started_ms=1_000
)
ENDINGS = {
    "cancelled": (lambda now_ms: cancellation_of(RUN, "enough", now_ms), "CANCELLED", "enough"),
    "expired": (
        lambda now_ms: expiry_of(RUN, now_ms),
        "EXECUTION_TIMEOUT",
        "the run did not end within its time limit",
    ),
    "quarantined": (
        lambda now_ms: quarantine_of(RUN, "poison", now_ms),
        "QUARANTINED",
        "a message was quarantined: poison",
    ),
    "refused": (
        lambda now_ms: ended_by_engine(RUN, "failed", "START_REFUSED", "no broker", now_ms),
        "START_REFUSED",
        "no broker",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_names_its_run_its_cause_and_its_duration(name):
    end, code, text = ENDINGS[name]

    message = end(3_500)

    assert ("w", "x", 2_500) == (
        message.workflow_id,
        message.execution_id,
        message.total_duration_ms,
    )
    assert (code, text) == (message.error.code, message.error.message)


@pytest.mark.parametrize("name", ENDINGS)
def test_a_clock_that_is_behind_gives_no_negative_duration(name):
    """
    Six places built such a message by hand, and the one for quarantined messages of the embedded
    engine had lost this rule.
    """
    end, _, _ = ENDINGS[name]

    assert 0 == end(400).total_duration_ms


def test_a_run_that_was_cancelled_without_a_reason_says_so():
    assert "it was cancelled" == cancellation_of(RUN, "", 2_000).error.message

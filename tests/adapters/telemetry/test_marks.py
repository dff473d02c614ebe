"""Where a token stands in its trace."""

import pytest

from kernel.builders import token
from onward.ports.telemetry import Mark, mark_of, parent_of, root_of

FOREIGN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_run_has_one_trace_whoever_names_it():
    one, other = token(execution_id="run-1"), token(execution_id="run-1", token_id="b")

    assert root_of("run-1") == parent_of(one) == parent_of(other)
    assert root_of("run-1") != root_of("run-2")


def test_a_redelivery_has_the_same_span_and_another_token_another():
    one, other = token(token_id="a"), token(token_id="b")

    assert mark_of(one) == mark_of(token(token_id="a"))
    assert mark_of(one).trace == mark_of(other).trace
    assert mark_of(one).span != mark_of(other).span


def test_a_trace_that_somebody_else_began_goes_on():
    one = token(traceparent=FOREIGN)

    assert FOREIGN == str(parent_of(one))
    assert "4bf92f3577b34da6a3ce929d0e0e4736" == mark_of(one).trace
    assert "00f067aa0ba902b7" != mark_of(one).span


def test_what_is_not_sampled_stays_so():
    assert not mark_of(token(traceparent=FOREIGN[:-1] + "0")).sampled


@pytest.mark.parametrize(
    "wrong",
    [
        "nonsense",
        "00-short-00f067aa0ba902b7-01",
        f"00-{32 * '0'}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{16 * '0'}-01",
        FOREIGN.upper(),
    ],
)
def test_a_traceparent_that_is_none_counts_as_missing(wrong):
    assert root_of("run") == parent_of(token(execution_id="run", traceparent=wrong))


def test_a_mark_is_written_as_the_standard_says():
    assert FOREIGN == str(Mark("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"))

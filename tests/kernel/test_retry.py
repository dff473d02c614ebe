"""When a failed node is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.kernel.retry import RetryPolicy


def delays(policy, dice=0.0):
    return [policy.delay_ms(attempt, "ANY", dice) for attempt in range(1, policy.max_attempts + 1)]


def test_without_a_policy_of_its_own_a_node_is_tried_once():
    assert [None] == delays(RetryPolicy())


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [
        ("constant", [2000, 2000, 2000, None]),
        ("linear", [2000, 4000, 6000, None]),
        ("exponential", [2000, 4000, 8000, None]),
    ],
)
def test_backoff(backoff, expected):
    assert expected == delays(RetryPolicy(max_attempts=4, delay=2, backoff=backoff))


def test_no_delay_exceeds_the_longest_allowed():
    assert [1000, 2000, 3000, 3000, None] == delays(RetryPolicy(max_attempts=5, max_delay=3))


def test_attempts_may_be_endless_without_the_delay_overflowing():
    assert 5000 == RetryPolicy(max_attempts=10**9, max_delay=5).delay_ms(10**8, "ANY", 0.5)


def test_only_the_codes_named_are_tried_again():
    policy = RetryPolicy(max_attempts=2, on=("HTTP_TIMEOUT",))
    assert 1000 == policy.delay_ms(1, "HTTP_TIMEOUT", 0)
    assert None is policy.delay_ms(1, "HTTP_STATUS", 0)


@given(
    jitter=st.floats(0, 1),
    dice=st.floats(0, 1, exclude_max=True),
    attempt=st.integers(1, 99),
    backoff=st.sampled_from(["constant", "linear", "exponential"]),
)
def test_jitter_only_ever_shortens_a_delay(jitter, dice, attempt, backoff):
    policy = RetryPolicy(max_attempts=100, backoff=backoff, max_delay=60, jitter=jitter)
    steady = RetryPolicy(max_attempts=100, backoff=backoff, max_delay=60)
    most = steady.delay_ms(attempt, "ANY", dice)
    assert (1 - jitter) * most - 1 <= policy.delay_ms(attempt, "ANY", dice) <= most


def test_full_jitter_uses_the_dice():
    assert [250, None] == delays(RetryPolicy(max_attempts=2, jitter=1.0), dice=0.75)

"""What is judged without asking anybody."""

import pytest

from onward.bootstrap.doctor import Finding, healthy, memory, skew, version


@pytest.mark.parametrize(
    ("ahead_ms", "level"),
    [(0, "ok"), (-1000, "ok"), (1001, "warning"), (-10_000, "warning"), (10_001, "problem")],
)
def test_a_clock_more_than_a_second_off_is_a_warning_and_more_than_ten_a_problem(ahead_ms, level):
    assert level == skew("clock", ahead_ms).level


def test_skew_says_in_which_direction():
    assert "2.5 s behind this machine" in skew("clock", -2500).found


@pytest.mark.parametrize(
    ("found", "level"),
    [("7.0.0", "ok"), ("10.1", "ok"), ("16.2 (Debian 16.2-1)", "ok"), ("6.2.14", "problem")],
)
def test_versions_are_compared_as_numbers(found, level):
    assert level == version("redis", "Redis", found, (7, 0)).level


@pytest.mark.parametrize(
    ("used", "limit", "level"),
    [(10, 0, "warning"), (80, 100, "ok"), (81, 100, "warning"), (100, 100, "problem")],
)
def test_memory_is_watched_before_writes_are_refused(used, limit, level):
    assert level == memory("memory", used, limit).level


def test_warnings_do_not_make_it_unhealthy():
    assert healthy([Finding("a", "ok", "."), Finding("b", "warning", ".", ".")])
    assert not healthy([Finding("a", "ok", "."), Finding("b", "problem", ".", ".")])

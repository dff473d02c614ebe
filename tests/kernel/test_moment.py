"""Epoch milliseconds and their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.kernel.timestamps import LATEST_MS, from_iso, to_iso


@given(st.integers(-30_610_224_000_000, LATEST_MS))
def test_a_moment_survives_being_written_down(ms):
    assert ms == from_iso(to_iso(ms))


def test_the_text_is_utc_with_milliseconds():
    assert "2026-02-28T23:59:59.007Z" == to_iso(1_772_323_199_007)


def test_years_have_four_digits():
    """
    Text order is time order only when every year is as wide as the next.
    """
    assert "0001-01-01T00:00:00.000Z" == to_iso(-62_135_596_800_000)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01",
        "2026-01-01T02:00:00+02:00",
        "2025-12-31T19:00:00.000999-05:00",
    ],
)
def test_offsets_count_and_utc_is_meant_when_none_is_named(text):
    assert 1_767_225_600_000 == from_iso(text)


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "2026-02-30T00:00:00Z", "12"])
def test_what_is_no_date_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        from_iso(text)

"""JSON at the edges: what goes through unchanged, and what is refused in which words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.errors import MessageError
from onward.kernel.json import MAX_DEPTH, decode, depth_of, encode, is_too_deep, join_array

WHOLE = st.integers(-(10**30), 10**30)
SCALARS = st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


def depth(value):
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(VALUES)
def test_every_json_value_comes_back_as_it_was(value):
    assert value == decode(encode(value))


def test_integers_beyond_two_to_the_53_keep_every_digit():
    assert b"9007199254740993" == bytes(encode(decode(b"9007199254740993")))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_become_null(value):
    assert b"null" == bytes(encode(value))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("\ud800", "text holds a lone surrogate, which is not Unicode text"),
        ({"a": ["\udfff"]}, "text holds a lone surrogate, which is not Unicode text"),
        ({(1, 2): 3}, "value is not JSON: Only dicts with str-like"),
        (object(), "value is not JSON: Encoding objects of type object"),
        (nested(100_000), "value is nested deeper than 500 levels"),
    ],
    ids=["surrogate", "inner surrogate", "key", "object", "depth"],
)
def test_what_is_not_json_is_refused_with_the_reason(value, reason):
    with pytest.raises(MessageError) as caught:
        encode(value)
    assert reason in str(caught.value)


def test_what_is_encoded_is_never_too_deep_to_be_read_again():
    with pytest.raises(MessageError):
        encode(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nope",
        b"NaN",
        b"Infinity",
        b"1e400",
        b'{"a": 1',
        b'"\\ud800"',
        b'"\xff"',
        b"[1,]",
        b"01",
        b"[" * 100_000,
    ],
    ids=lambda data: repr(data[:10]),
)
def test_bytes_that_are_not_json_are_refused(data):
    with pytest.raises(MessageError, match=r"^(not JSON: |JSON is nested deeper)"):
        decode(data)


@given(st.lists(VALUES, max_size=4))
def test_a_joined_array_is_the_array_of_its_parts(values):
    assert values == decode(join_array([bytes(encode(value)) for value in values]))


@given(VALUES)
def test_depth_is_how_deeply_brackets_nest(value):
    assert depth(value) == depth_of(bytes(encode(value)))


def test_brackets_and_quotes_inside_text_are_not_depth():
    assert 1 == depth_of(rb'["[[{\"[[", "\\", "]"]')


WRAPPINGS = (
    b"[%s]",
    b'{"k[": %s}',
    b'[[], {}, %s, "]]"]',
    rb'["\\", "\"[", %s]',
    b"[[[]], %s, [[[]]]]",
)


@given(
    st.sampled_from((300, 497, 498, 499, 500, 501, 502, 700)),
    st.lists(st.sampled_from(WRAPPINGS), min_size=1, max_size=5),
)
def test_too_deep_is_deeper_than_the_limit_however_it_is_wrapped(depth, wrappings):
    data = b"1"
    for level in range(depth):
        data = wrappings[level % len(wrappings)] % data

    assert (depth_of(data) > MAX_DEPTH) == is_too_deep(data)


@pytest.mark.parametrize("data", [b"[" * 600, b'{"a":' * 600], ids=["arrays", "objects"])
def test_brackets_that_never_close_are_too_deep(data):
    assert is_too_deep(data)

"""No secret is written down, in any shape it is likely to take."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.kernel.redaction import REDACTED, Redactor

SECRET = 'p&ss "wörd"/<é>+?'
FIELDS = {"username": "ann", "password": SECRET, "host": "mail.example"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def redact(value: Any, *fields: dict[str, str]) -> Any:
    return Redactor(fields or (FIELDS,)).redact(value)


@pytest.mark.parametrize(
    "shape",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET, safe=""),
        quote(SECRET),
        "p%26ss%20%22w%c3%b6rd%22%2f%3c%c3%a9%3e%2b%3f",
        quote_plus(SECRET),
        html.escape(SECRET),
        b64encode(SECRET.encode()).decode(),
        urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        b64encode(f"ann:{SECRET}".encode()).decode(),
        b64encode(f"\0ann\0{SECRET}".encode()).decode(),
    ],
)
def test_every_shape_of_a_secret_is_replaced(shape: str):
    found = redact({"message": f"before {shape} after"})

    assert {"message": f"before {REDACTED} after"} == found


def test_keys_lists_tuples_and_repeats_are_covered():
    value = {SECRET: [f"{SECRET}{SECRET}", {"deep": (SECRET, 1)}], "other": "x"}

    assert {
        REDACTED: [REDACTED * 2, {"deep": [REDACTED, 1]}],
        "other": "x",
    } == redact(value)


def test_order_of_keys_and_items_stays():
    value = {"b": 1, "a": SECRET, "c": [3, SECRET, 1]}

    assert '{"b": 1, "a": "[redacted]", "c": [3, "[redacted]", 1]}' == json.dumps(redact(value))


def test_the_value_itself_is_not_changed():
    value = {"a": [SECRET]}

    redact(value)

    assert {"a": [SECRET]} == value


def test_a_secret_of_digits_is_found_when_it_comes_back_as_a_number():
    assert [REDACTED, 124, 912345] == redact([12345, 124, 912345], {"pin": "12345"})


def test_a_secret_with_leading_zeros_does_not_hide_small_numbers():
    assert [1, True, REDACTED, 0.001] == redact([1, True, "0001", 0.001], {"pin": "0001"})


def test_a_huge_number_is_no_trouble():
    assert [10**5000, REDACTED] == redact([10**5000, 12345.5], {"pin": "12345.5"})


def test_a_secret_inside_a_longer_one_leaves_no_rest():
    assert f"x{REDACTED}x" == redact("xlonger-abcdx", {"a": "abcd", "b": "longer-abcd"})


def test_public_fields_short_values_and_common_words_stay():
    fields = {"host": "mail.example", "Port": "5870", "pin": "123", "sandbox": "true", "e": ""}
    value = {"host": "mail.example:5870", "n": 123, "flag": "true"}

    assert value is redact(value, fields)


def test_a_field_of_unknown_name_is_a_secret():
    assert REDACTED == redact("hunter2", {"client_thing": "hunter2"})


def test_a_password_too_short_to_hide_alone_is_hidden_in_basic_authentication():
    basic = b64encode(b"ann:abc").decode()

    assert f"Basic {REDACTED}" == redact(f"Basic {basic}", {"username": "ann", "password": "abc"})


def test_a_trailing_newline_does_not_save_a_secret():
    assert f"<{REDACTED}>" == redact("<hunter2>", {"token": "hunter2\n"})


def test_nesting_of_any_depth_is_walked():
    value: Any = SECRET
    for _ in range(50_000):
        value = [value]

    found = redact(value)
    while isinstance(found, list):
        (found,) = found
    assert REDACTED == found


@given(JSON)
def test_a_value_without_secrets_is_returned_as_the_same_object(value: Any):
    assert value is Redactor([{"token": "\U0001f510 never generated 6f1c"}]).redact(value)


@given(st.text(min_size=4).filter(lambda text: len(text.strip()) >= 4), JSON)
def test_no_secret_survives_wherever_it_is_put(secret: str, rest: Any):
    if secret.strip().lower() in {"true", "false", "null", "none"} or secret.strip() in REDACTED:
        return
    value = {"a": [rest, f"x{secret}y"], f"k{secret}": secret}

    found = Redactor([{"token": secret}]).redact(value)

    assert not [text for text in _texts(found) if secret in text]


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in _texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []

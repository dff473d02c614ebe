"""Signatures, as another implementation of the specification makes and reads them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from onward.adapters.host.clock import HostClock
from onward.errors import InputError
from onward.runtime.triggers.webhook_signatures import (
    SignatureError,
    key_of,
    secret_of,
    sign,
    verify,
)

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOW_MS = 1_772_539_200_000
SECONDS = NOW_MS // 1000


def headers(body=b"{}", secret=SECRET, message_id="msg_1", seconds=SECONDS):
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": sign(secret, message_id, seconds, body),
    }


def checked(signed, body=b"{}", secrets=(SECRET,), now_ms=NOW_MS):
    return verify(secrets, signed, body, now_ms=now_ms, tolerance_ms=300_000)


@given(text=st.text(), key=st.binary(min_size=24, max_size=64))
def test_both_implementations_make_the_same_signature(text, key):
    at = datetime.fromtimestamp(SECONDS, UTC)
    secret = secret_of(key)

    assert Webhook(secret).sign("msg_1", at, text) == sign(secret, "msg_1", SECONDS, text.encode())
    assert key == key_of(secret)


def test_the_other_one_reads_what_is_signed_here():
    seconds = HostClock().now_ms() // 1000

    assert Webhook(SECRET).verify(b'{"a":1}', headers(b'{"a":1}', seconds=seconds)) == {"a": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(b'{"a":2}', headers(b'{"a":1}', seconds=seconds))


def test_one_of_several_signatures_and_secrets_is_enough():
    old = secret_of(b"o" * 32)
    signed = headers()
    signed["webhook-signature"] = f"v1a,xyz v1,bm8= {signed['webhook-signature']}"

    assert "msg_1" == checked(signed)
    assert "msg_1" == checked(headers(secret=old), secrets=(SECRET, old))


def test_a_body_need_not_be_text():
    assert "msg_1" == checked(headers(b"\xff\x00"), b"\xff\x00")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"webhook-id": ""}, "webhook-id"),
        ({"webhook-timestamp": ""}, "missing"),
        ({"webhook-signature": ""}, "missing"),
        ({"webhook-id": "msg_2"}, "none of them"),
        ({"webhook-id": "a b"}, "visible"),
        ({"webhook-id": "x" * 257}, "256"),
        ({"webhook-timestamp": "soon"}, "whole seconds"),
        ({"webhook-timestamp": "1e9"}, "whole seconds"),
        ({"webhook-timestamp": str(SECONDS - 301)}, "too far"),
        ({"webhook-timestamp": str(SECONDS + 301)}, "too far"),
        ({"webhook-signature": "v1,"}, "none of them"),
        ({"webhook-signature": "ü"}, "none of them"),
    ],
)
def test_what_is_not_right_is_refused(changes, said):
    with pytest.raises(SignatureError) as refused:
        checked({**headers(), **changes})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "secret", ["", "MfKQ9r8G", "whsec_", "whsec_???", "whsec_c2hvcnQ=", secret_of(b"x" * 65)]
)
def test_a_secret_that_is_none_is_refused(secret):
    with pytest.raises(InputError):
        key_of(secret)

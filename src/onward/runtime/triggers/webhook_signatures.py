"""Signatures of webhooks as the Standard Webhooks specification has them.

    webhook-id          names the message; a repetition has the same
    webhook-timestamp   seconds since 1970, when it was signed
    webhook-signature   one or more of `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`

The time is an argument, the body stays bytes (it need not be text), and every refusal says what is
wrong without saying what would be right.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping

from onward.errors import InputError

PREFIX = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
_ID = re.compile(r"[!-~]{1,256}")
_SECONDS = re.compile(r"[0-9]{1,12}")


class SignatureError(Exception):
    """A message is not signed as it should be."""


def key_of(secret: str) -> bytes:
    """Return the key in a secret; InputError when there is none of a fitting length."""
    if not secret.startswith(PREFIX):
        raise InputError(f"a secret begins with {PREFIX}, followed by base64")
    text = secret.removeprefix(PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"a secret is {PREFIX} and base64: this one cannot be read") from None
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        raise InputError(
            f"a secret holds {SHORTEST_KEY} to {LONGEST_KEY} bytes, this one {len(key)}"
        )
    return key


def secret_of(key: bytes) -> str:
    """Return a key as it is written for people."""
    return PREFIX + base64.b64encode(key).decode()


def sign(secret: str, message_id: str, timestamp_s: int, body: bytes) -> str:
    """Return the signature of a message."""
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp_s, body)
    digest = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def verify(
    secrets: Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    now_ms: int,
    tolerance_ms: int,
) -> str:
    """Return the id of a message that was signed with one of the secrets; else SignatureError."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    message_id, seconds, signatures = (headers.get(name, "") for name in names)
    lacking = [name for name in names if not headers.get(name)]
    if lacking:
        raise SignatureError(f"it is not signed: {', '.join(lacking)} is missing")
    if not _ID.fullmatch(message_id):
        raise SignatureError("webhook-id: at most 256 visible ASCII characters")
    if not _SECONDS.fullmatch(seconds):
        raise SignatureError("webhook-timestamp: it must be whole seconds since 1970")
    if abs(now_ms - int(seconds) * 1000) > tolerance_ms:
        raise SignatureError(
            "webhook-timestamp: it is too far from the server's time; a message that is sent again"
            " must be signed again"
        )
    given = [signature.encode() for signature in signatures.split() if signature.isascii()]
    for secret in secrets:
        expected = sign(secret, message_id, int(seconds), body).encode()
        if any(hmac.compare_digest(expected, signature) for signature in given):
            return message_id
    raise SignatureError("webhook-signature: none of them fits the body and the secret")

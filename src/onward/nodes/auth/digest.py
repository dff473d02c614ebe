"""Digest authentication (RFC 7616): the answer to a server's challenge."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping

from onward.nodes.failures import RefusedError

_FIELD = re.compile(r'([a-zA-Z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')
_HASHES: Mapping[str, Callable[[bytes], hashlib._Hash]] = {
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False),
    "SHA-256": hashlib.sha256,
    "SHA-512-256": lambda data: hashlib.new("sha512_256", data),
}


def answer_challenge(
    challenge: str,
    *,
    method: str,
    uri: str,
    username: str,
    password: str,
    cnonce: str = "",
) -> str | None:
    """Return the Authorization header for a challenge; None when it is no digest challenge.

    `uri` is the path of the request with its query. Raises RefusedError for a kind of digest that
    is unsafe or unknown.
    """
    scheme, _, rest = challenge.strip().partition(" ")
    if scheme.lower() != "digest":
        return None
    fields = {
        found[1].lower(): found[2] if found[2] is not None else found[3]
        for found in _FIELD.finditer(rest)
    }
    name = fields.get("algorithm", "MD5")
    algorithm = name.upper().removesuffix("-SESS")
    if algorithm not in _HASHES:
        raise RefusedError(f"the server asks for the digest {name[:40]!r}", "AUTHENTICATION")
    offered = [quality.strip() for quality in fields.get("qop", "").split(",") if quality.strip()]
    if offered and "auth" not in offered:
        raise RefusedError(
            f"the server asks for the digest quality {offered[0]!r}", "AUTHENTICATION"
        )
    realm, nonce = fields.get("realm", ""), fields.get("nonce", "")
    cnonce = cnonce or secrets.token_hex(16)

    def digest(*parts: str) -> str:
        return _HASHES[algorithm](":".join(parts).encode()).hexdigest()

    key = digest(username, realm, password)
    if name.upper().endswith("-SESS"):
        key = digest(key, nonce, cnonce)
    what = digest(method, uri)
    proof = (
        digest(key, nonce, "00000001", cnonce, "auth", what)
        if offered
        else digest(key, nonce, what)
    )
    answer = {"username": username, "realm": realm, "nonce": nonce, "uri": uri, "response": proof}
    text = ", ".join(f'{key}="{_escape(value)}"' for key, value in answer.items())
    if "algorithm" in fields:
        text += f", algorithm={name}"
    if "opaque" in fields:
        text += f', opaque="{_escape(fields["opaque"])}"'
    if offered:
        text += f', qop=auth, nc=00000001, cnonce="{cnonce}"'
    return f"Digest {text}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')

"""Digest authentication (RFC 7616): the answer to a server's challenge."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping

from onward.nodes.failures import Refused

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

    `uri` is the path of the request with its query. Raises Refused for a kind of digest that
    nobody should use or that is not known.
    """
    scheme, _, rest = challenge.strip().partition(" ")
    if scheme.lower() != "digest":
        return None
    fields = {
        found[1].lower(): found[2] if found[2] is not None else found[3]
        for found in _FIELD.finditer(rest)
    }
    named = fields.get("algorithm", "MD5")
    algorithm = named.upper().removesuffix("-SESS")
    if algorithm not in _HASHES:
        raise Refused(f"the server asks for the digest {named[:40]!r}", "AUTHENTICATION")
    offered = [one.strip() for one in fields.get("qop", "").split(",") if one.strip()]
    if offered and "auth" not in offered:
        raise Refused(f"the server asks for the digest quality {offered[0]!r}", "AUTHENTICATION")
    realm, nonce = fields.get("realm", ""), fields.get("nonce", "")
    cnonce = cnonce or secrets.token_hex(16)

    def digest(*parts: str) -> str:
        return _HASHES[algorithm](":".join(parts).encode()).hexdigest()

    key = digest(username, realm, password)
    if named.upper().endswith("-SESS"):
        key = digest(key, nonce, cnonce)
    what = digest(method, uri)
    proof = (
        digest(key, nonce, "00000001", cnonce, "auth", what)
        if offered
        else digest(key, nonce, what)
    )
    said = {"username": username, "realm": realm, "nonce": nonce, "uri": uri, "response": proof}
    text = ", ".join(f'{name}="{_quoted(value)}"' for name, value in said.items())
    if "algorithm" in fields:
        text += f", algorithm={named}"
    if "opaque" in fields:
        text += f', opaque="{_quoted(fields["opaque"])}"'
    if offered:
        text += f', qop=auth, nc=00000001, cnonce="{cnonce}"'
    return f"Digest {text}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')

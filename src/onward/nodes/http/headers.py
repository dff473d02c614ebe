"""The headers of a request: those a document names, and the one a credential stands for."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping

from onward.nodes.failures import RefusedError, bad_request
from onward.nodes.http.body import text_of

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
# Headers that frame the message: a document that sets one could make the two ends disagree on
# where a request stops, which is how requests are smuggled.
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "upgrade", "te"})


def request_headers(headers: Mapping[str, object]) -> dict[str, str]:
    """Return `headers` with lower-case names, without nulls. Raises RefusedError for bad ones."""
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if value is None:
            continue
        key = name.lower()
        if key in checked:
            raise bad_request(
                f"`headers` names {name!r} twice, in different case: keep one of them"
            )
        if key in _FRAMING:
            raise bad_request(f"`headers` may not set {name!r}: it follows from the request itself")
        _check(name, text := text_of(value))
        checked[key] = text
    return checked


def credential_header(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the header that a credential's `fields` ask for; none when there are no fields.

    `header` and `value` give that header, `token` a bearer token, `username` and `password`
    basic authentication, in this order of preference.
    """
    if not fields:
        return {}
    if "header" in fields and "value" in fields:
        name, value = fields["header"], fields["value"]
    elif "token" in fields:
        name, value = "Authorization", f"Bearer {fields['token']}"
    elif "username" in fields:
        pair = f"{fields['username']}:{fields.get('password', '')}"
        name, value = "Authorization", f"Basic {b64encode(pair.encode()).decode()}"
    else:
        raise RefusedError(
            f"the credential has the fields {', '.join(sorted(fields))}: an http node needs "
            "`token`, `username` and `password`, or `header` and `value`",
            code="CREDENTIAL",
        )
    _check(name, value)
    return {name: value}


def _check(name: str, value: str) -> None:
    if not _NAME.fullmatch(name):
        raise bad_request(f"{name[:60]!r} is not a header name: use letters, digits and dashes")
    if not _VALUE.fullmatch(value):
        raise bad_request(
            f"header {name} holds a line break, control or non-ASCII character: encode its value"
        )

"""Bodies of HTTP messages: JSON, forms, text and bytes, to and from values."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from onward.nodes.failures import bad_request

_FORM = "application/x-www-form-urlencoded"
_CHARSET = re.compile(r""";\s*charset="?([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_TEXTUAL = frozenset(
    {"", "application/xml", "application/javascript", "application/x-ndjson", _FORM}
)


def text_of(value: object) -> str:
    """Return a scalar as it is written in a URL, form or header: JSON's spelling, no quotes.

    Raises RefusedError for a text that cannot be sent at all.
    """
    if isinstance(value, str):
        _utf8(value)
        return value
    return msgspec.json.encode(value).decode()


def encode_body(body: Any, content_type: str | None) -> tuple[bytes | None, str | None]:
    """Return the bytes to send and the content type they have unless the caller named one."""
    if body is None:
        return None, None
    if isinstance(body, str):
        return _utf8(body), "text/plain; charset=utf-8"
    if content_type is not None and _media_type(content_type) == _FORM:
        return _form(body), _FORM
    try:
        return msgspec.json.encode(body), "application/json"
    except (UnicodeEncodeError, RecursionError):
        raise bad_request("`body` cannot be written as JSON: a bad character or too deep") from None


def decode_body(body: bytes, content_type: str) -> tuple[Any, str | None]:
    """Return the body as a value, and "base64" as second when it is encoded bytes.

    A body that claims to be JSON but does not parse is returned as text, so that it can be seen.
    """
    media = _media_type(content_type)
    if media == "application/json" or media.endswith("+json"):
        try:
            return msgspec.json.decode(body), None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return body.decode("utf-8", "replace"), None
    if (text := _declared_text(body, content_type)) is not None:
        return text, None
    if media in _TEXTUAL or media.startswith("text/") or media.endswith("+xml"):
        try:
            return body.decode(), None
        except UnicodeDecodeError:
            pass
    return b64encode(body).decode(), "base64"


def _form(body: Any) -> bytes:
    if not isinstance(body, Mapping):
        raise bad_request(f"`body` is sent as a form, so it must be an object, not {_kind(body)}")
    pairs: list[tuple[str, str]] = []
    for key, value in body.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, (Mapping, list)):
                raise bad_request(f"`body`: form field {key!r} holds {_kind(item)}: forms are flat")
            if item is not None:
                pairs.append((key, text_of(item)))
    return _utf8(urlencode(pairs))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise bad_request("a text holds a lone surrogate, which no encoding can carry") from None


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list) else f"the value {text_of(value)}"


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _declared_text(body: bytes, content_type: str) -> str | None:
    """Return `body` in the charset that `content_type` declares, or None without a usable one."""
    declared = _CHARSET.search(content_type)
    if declared is None:
        return None
    try:
        return body.decode(declared[1], "replace")
    except (LookupError, ValueError):  # unknown, or not a charset at all, such as "zlib"
        return None

"""Documents that a call needs: fetched when it is made, and kept for a while."""

from __future__ import annotations

import time
from base64 import b64decode
from collections import OrderedDict
from hashlib import sha256
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from weakref import WeakKeyDictionary

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import send
from onward.nodes.failures import Refused
from onward.nodes.http.url import check_url, public_url
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import Http, HttpRequest, OutsideError

_KEPT_S = 60.0
_KEPT_MAX = 100
_TIMEOUT_S = 30.0
_LARGEST = 5 * 1024 * 1024


class ResourceLocation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where something is, and as whom it is asked for."""

    uri: str
    authentication: Authentication | None = None


_Kept = OrderedDict[bytes, tuple[float, Any]]
_shelves: WeakKeyDictionary[Http, _Kept] = WeakKeyDictionary()


async def fetch_text(tools: Tools, source: ResourceLocation) -> str:
    """Return the text at an endpoint: http, https, or a `data:` URI. Raises Refused."""
    found = await _kept(tools, source, parsed=False)
    return str(found)


async def fetch_value(tools: Tools, source: ResourceLocation) -> Any:
    """Return the JSON or YAML document at an endpoint; the same one for a minute. Raises Refused.

    It is shared by all who ask: nobody may change it.
    """
    return await _kept(tools, source, parsed=True)


async def _kept(tools: Tools, source: ResourceLocation, *, parsed: bool) -> Any:
    shelf = _shelves.setdefault(tools.http, OrderedDict())
    key = sha256(msgspec.json.encode([source, parsed])).digest()
    known = shelf.get(key)
    if known is not None and time.monotonic() < known[0]:
        shelf.move_to_end(key)
        return known[1]
    text = await _text(tools, source)
    value = _value(text, public(source.uri)) if parsed else text
    shelf[key] = (time.monotonic() + _KEPT_S, value)
    while len(shelf) > _KEPT_MAX:
        shelf.popitem(last=False)
    return value


async def _text(tools: Tools, source: ResourceLocation) -> str:
    if source.uri.startswith("data:"):
        return _inline(source.uri)
    check_url(source.uri)
    request = HttpRequest(
        method="GET",
        url=source.uri,
        headers={"traceparent": tools.traceparent} if tools.traceparent else {},
        timeout_s=_TIMEOUT_S,
        max_bytes=_LARGEST,
    )
    try:
        answer = await send(tools, request, source.authentication)
    except OutsideError as error:
        raise Refused(f"{public(source.uri)}: {error}", error.code) from None
    if answer.status != 200:
        message = f"the document {public(source.uri)} is not there: {answer.status}"
        raise Refused(message, "HTTP_DOCUMENT")
    try:
        return answer.body.decode()
    except UnicodeDecodeError:
        raise Refused(f"{public(source.uri)} is not text", "HTTP_REQUEST") from None


def _inline(uri: str) -> str:
    head, comma, data = uri[len("data:") :].partition(",")
    try:
        raw = unquote_to_bytes(data)
        if head.endswith(";base64"):
            raw = b64decode(raw, validate=True)
        if not comma:
            raise ValueError
        return raw.decode()
    except ValueError:
        raise Refused("the data: URI holds no text", "HTTP_REQUEST") from None


def _value(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return YAML(typ="safe").load(text)
    except (YAMLError, ValueError, RecursionError):
        raise Refused(f"{name} is neither JSON nor YAML", "HTTP_REQUEST") from None


def public(uri: str) -> str:
    """Return a URI as far as it may be shown."""
    return "the document in the data: URI" if urlsplit(uri).scheme == "data" else public_url(uri)

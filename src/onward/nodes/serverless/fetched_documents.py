"""Documents that a call needs: fetched when it is made, and cached for a minute."""

from __future__ import annotations

import time
from base64 import b64decode
from hashlib import sha256
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from weakref import WeakKeyDictionary

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from onward.kernel.lru import Lru
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import send
from onward.nodes.failures import RefusedError, bad_request
from onward.nodes.http.url import check_url, public_url
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import Http, HttpRequest, OutsideError

_CACHE_S = 60.0
_MOST_DOCUMENTS = 100
_TIMEOUT_S = 30.0
_LARGEST_DOCUMENT = 5 * 1024 * 1024


class ResourceLocation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a document or a server is, and the authentication for it."""

    uri: str
    authentication: Authentication | None = None


# A cache belongs to the client that fetched its documents: it goes when the worker's client goes.
_caches: WeakKeyDictionary[Http, Lru[bytes, tuple[float, Any]]] = WeakKeyDictionary()


async def fetch_text(tools: Tools, source: ResourceLocation) -> str:
    """Return the text at an endpoint: http, https, or a `data:` URI. Raises RefusedError."""
    return str(await _fetch(tools, source, parse=False))


async def fetch_value(tools: Tools, source: ResourceLocation) -> Any:
    """Return the JSON or YAML document at an endpoint, cached. Raises RefusedError.

    It is shared by all callers, which must not change it.
    """
    return await _fetch(tools, source, parse=True)


async def _fetch(tools: Tools, source: ResourceLocation, *, parse: bool) -> Any:
    cache = _caches.setdefault(tools.http, Lru(_MOST_DOCUMENTS))
    key = sha256(msgspec.json.encode([source, parse])).digest()
    known = cache.get(key)
    if known is not None and time.monotonic() < known[0]:
        return known[1]
    text = await _text(tools, source)
    value = _value(text, public_uri(source.uri)) if parse else text
    cache.put(key, (time.monotonic() + _CACHE_S, value))
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
        max_bytes=_LARGEST_DOCUMENT,
    )
    try:
        answer = await send(tools, request, source.authentication)
    except OutsideError as error:
        raise RefusedError(f"{public_uri(source.uri)}: {error}", error.code) from None
    if answer.status != 200:
        message = f"the document {public_uri(source.uri)} cannot be fetched: {answer.status}"
        raise RefusedError(message, "HTTP_DOCUMENT")
    try:
        return answer.body.decode()
    except UnicodeDecodeError:
        raise bad_request(f"{public_uri(source.uri)} is not text") from None


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
        raise bad_request("the data: URI holds no text") from None


def _value(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return YAML(typ="safe").load(text)
    except (YAMLError, ValueError, RecursionError):
        raise bad_request(f"{name} is neither JSON nor YAML") from None


def public_uri(uri: str) -> str:
    """Return a URI as far as it may be shown."""
    return "the document in the data: URI" if urlsplit(uri).scheme == "data" else public_url(uri)

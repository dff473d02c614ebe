"""CloudEvents 1.0 over HTTP, in both modes, and what triggers look for in them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from onward.errors import ExpressionError, InputError, MessageError
from onward.expressions import compile_jq
from onward.kernel.json import MAX_DEPTH, decode, is_too_deep
from onward.ports.storage.triggers import Events

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
REQUIRED = ("id", "source", "type")
LONGEST_ATTRIBUTE = 1024
"""Characters of an attribute that identifies events."""
_ATTRIBUTE = re.compile(r"[a-z0-9]{1,64}")
_TEXT = re.compile(r"text/.*|application/xml|.*\+xml")

Event = dict[str, Any]

_compiled = lru_cache(maxsize=256)(compile_jq)


def read_event(headers: Mapping[str, str], body: bytes) -> Event:
    """Return the event in a request, in the shape of the JSON format; InputError says why not."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == BATCH:
        raise InputError("batches are not taken: send each event on its own")
    event = _structured(body) if kind == STRUCTURED else _binary(headers, kind, body)
    if event.get("specversion") != "1.0":
        raise InputError("specversion: it must be 1.0; send ce-* headers or " + STRUCTURED)
    for name in REQUIRED:
        value = event.get(name)
        if not isinstance(value, str) or not value:
            raise InputError(f"{name}: an event must have one, and it is a text")
        if len(value) > LONGEST_ATTRIBUTE or "\x00" in value:
            raise InputError(f"{name}: at most {LONGEST_ATTRIBUTE} characters")
    if not isinstance(event.get("subject", ""), str):
        raise InputError("subject: it must be a text")
    return event


def key_of(event: Event) -> tuple[str, str]:
    """Return what identifies an event: its source and its id."""
    return event["source"], event["id"]


def _structured(body: bytes) -> Event:
    event = _json(body)
    if not isinstance(event, dict):
        raise InputError("the body must be one event, a JSON object")
    odd = [name for name in event if not _ATTRIBUTE.fullmatch(name) and name != "data_base64"]
    if odd:
        raise InputError(f"{odd[0][:64]!r}: attributes have lower-case letters and digits only")
    if "data_base64" in event:
        if "data" in event:
            raise InputError("data: give data or data_base64, and not both")
        try:
            base64.b64decode(event["data_base64"], validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise InputError("data_base64: it is no base64") from None
    return event


def _binary(headers: Mapping[str, str], kind: str, body: bytes) -> Event:
    event: Event = {}
    for name, value in headers.items():
        if name.startswith("ce-") and _ATTRIBUTE.fullmatch(name[3:]):
            event[name[3:]] = unquote(value)
    if kind:
        event["datacontenttype"] = headers["content-type"]
    if not body:
        return event
    if not kind or kind == "application/json" or kind.endswith("+json"):
        event["data"] = _json(body)
        return event
    try:
        if _TEXT.fullmatch(kind):
            event["data"] = body.decode()
            return event
    except UnicodeDecodeError:
        pass
    event["data_base64"] = base64.b64encode(body).decode()
    return event


def _json(body: bytes) -> Any:
    if is_too_deep(body):
        raise InputError(f"the body is nested deeper than {MAX_DEPTH} levels")
    try:
        return decode(body)
    except MessageError as problem:
        raise InputError(f"the body cannot be read as JSON: {problem}") from None


def is_wanted(wanted: Events, event: Event, *, now_ms: int) -> bool:
    """Return whether a trigger looks for an event. ExpressionError: its condition fails on it."""
    patterns = {"type": wanted.type, "source": wanted.source, "subject": wanted.subject}
    for name, pattern in patterns.items():
        if not _fits(pattern, str(event.get(name, ""))):
            return False
    if not wanted.where:
        return True
    value = _compiled(wanted.where).evaluate(event, {}, now_ms=now_ms)
    return value is not None and value is not False


def _fits(pattern: str, value: str) -> bool:
    if pattern.endswith("*"):
        return value.startswith(pattern[:-1])
    return pattern in ("", value)


def check_wanted(wanted: Events) -> None:
    """Raise InputError for a condition that cannot be read."""
    if wanted.where:
        try:
            _compiled(wanted.where)
        except ExpressionError as problem:
            raise InputError(f"where: {problem}") from None

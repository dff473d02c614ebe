"""Messages in answers over HTTP: a stream of events, lines of JSON, a list, or one message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from onward.nodes.http.body import decode_body
from onward.ports.nodes.outside import HttpAnswer

ACCEPTED = "text/event-stream, application/x-ndjson, application/json, */*;q=0.1"
_LINES = ("application/x-ndjson", "application/jsonl", "application/json-lines")

Message = dict[str, Any]


def messages_in(answer: HttpAnswer, most: int, cursor: Any) -> tuple[list[Message], Any]:
    """Return the messages of an answer, and the cursor after them.

    Of a stream whose events have ids no more than `most` are taken: it can be read again from
    there. Of anything else all are, since they would not be sent a second time.
    """
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not answer.body.strip() or answer.status in (204, 304):
        return [], cursor
    if kind == "text/event-stream":
        events = list(_events(answer.body.decode("utf-8", "replace")))
        if all("id" in event["headers"] for event in events):
            events = events[:most]
        ids = [event["headers"]["id"] for event in events if "id" in event["headers"]]
        return events, ids[-1] if ids else cursor
    if kind in _LINES:
        whole = answer.body.decode("utf-8", "replace").split("\n")[:-1]
        return [_message(_value(line)) for line in whole if line.strip()], cursor
    content, _ = decode_body(answer.body, answer.headers.get("content-type", ""))
    payloads = content if isinstance(content, list) else [content]
    return [_message(payload) for payload in payloads], cursor


def _message(payload: Any, headers: dict[str, str] | None = None) -> Message:
    return {"payload": payload, "headers": headers or {}}


def _events(text: str) -> Iterator[Message]:
    """Yield the events of a stream; one that has not arrived whole is left out."""
    blocks = text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
    named: tuple[str, ...] = ("id", "event")
    for block in blocks[:-1]:
        fields: dict[str, list[str]] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        if "data" in fields:
            headers = {name: fields[name][-1] for name in named if name in fields}
            yield _message(_value("\n".join(fields["data"])), headers)


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text

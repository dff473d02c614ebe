"""The part of a message that every version shares, and what must survive when it is sent again.

The rule for every version: fields are only added, each optional and right when it is absent, so a
reader ignores what it does not know. A change that an older reader would misunderstand raises
SCHEMA_VERSION; the fields named here keep their names and meaning for ever.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw

T = TypeVar("T")

SCHEMA_VERSION = 1
"""Of the messages that this release writes; it reads these and all before."""

_fields = msgspec.json.Decoder(dict[str, Raw])
_parts = msgspec.json.Decoder(list[Raw])


def version_of(data: bytes) -> int:
    """Return the version that a message states, the highest one of an array; else 1."""
    if data.lstrip()[:1] == b"[":
        return max(map(version_of, map(bytes, _array(data))), default=1)
    return _value(data, "schema_version", int) or 1


class RunNames(NamedTuple):
    """The run that a message is about, as far as it can be read: "" or 0 for the rest."""

    workflow_id: str
    execution_id: str
    generation: int


def run_names_of(data: bytes) -> RunNames:
    """Return the run that a message is about; `data` may be no message at all."""
    return RunNames(
        _value(data, "workflow_id", str) or "",
        _value(data, "execution_id", str) or "",
        _value(data, "generation", int) or 0,
    )


def with_unknown(body: bytes, received: bytes, known: tuple[str, ...]) -> bytes:
    """Return `body` with those fields of the message it was received as that are not `known`.

    So a message that is only postponed keeps what a later release has written into it.
    """
    unknown = {name: raw for name, raw in _object(received).items() if name not in known}
    return msgspec.json.encode({**_object(body), **unknown}) if unknown else body


def _value(data: bytes, name: str, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(_object(data)[name], type=kind)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _object(data: bytes) -> dict[str, Raw]:
    try:
        return _fields.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _array(data: bytes) -> list[Raw]:
    try:
        return _parts.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []

"""What can be read of a message whatever its version, and what must survive being passed on.

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
    """Return the version a message says it has, the highest of an array; else 1."""
    if data.lstrip()[:1] == b"[":
        return max(map(version_of, map(bytes, _array(data))), default=1)
    return _value(data, "schema_version", int) or 1


class RunNames(NamedTuple):
    """Which run a message is about: what can be read of it, and "" or 0 for the rest."""

    workflow_id: str
    execution_id: str
    generation: int


def run_names_of(data: bytes) -> RunNames:
    """Return which run a message says it is about, also one that is not a message at all."""
    return RunNames(
        _value(data, "workflow_id", str) or "",
        _value(data, "execution_id", str) or "",
        _value(data, "generation", int) or 0,
    )


def with_unknown(body: bytes, came_as: bytes, known: tuple[str, ...]) -> bytes:
    """Return `body` with the fields that are not `known` of the message it was made of.

    So a message that is only put off keeps what a later release has written into it.
    """
    unknown = {name: raw for name, raw in _object(came_as).items() if name not in known}
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

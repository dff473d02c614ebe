"""The accumulated context of a run: the output of every node so far, as bytes.

An entry is carried inline while it is small. A large one is stored once, by content, and carried
as a reference. Where a run fans out, the context so far is frozen into one payload that all items
share as their `base`: N items cost N small contexts, never N copies of a large one.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from onward.kernel.ids import fingerprint

INLINE_LIMIT = 32 * 1024
"""An entry above this many bytes is stored once and referred to."""
FREEZE_LIMIT = 512
"""A context above this many inline bytes is shared, not copied, by the items of a split."""

CARRY_LIMIT = 512 * 1024
"""A context above this many inline bytes is stored whole: messages stay small."""


class Ref(msgspec.Struct, frozen=True):
    """A stored payload, by content."""

    hash: str
    bytes: int


class Payload(msgspec.Struct, frozen=True):
    """Bytes to be stored, with the reference under which they are found."""

    ref: Ref
    body: Raw


class Context(msgspec.Struct, frozen=True, omit_defaults=True):
    """Entries by name (`$fetch`). Lookup order: inline, refs, base."""

    inline: dict[str, Raw] = {}
    refs: dict[str, Ref] = {}
    base: Ref | None = None

    def add(self, name: str, value: Raw) -> tuple[Context, Payload | None]:
        """Return the context with one more entry, and what must be stored for it, if anything."""
        if len(value) <= INLINE_LIMIT:
            refs = self.refs
            if name in refs:
                refs = {key: ref for key, ref in refs.items() if key != name}
            return Context({**self.inline, name: value}, refs, self.base), None
        return self.refer(name, value)

    def refer(self, name: str, value: Raw) -> tuple[Context, Payload]:
        """Return the context with one more entry carried by reference, and what to store."""
        payload = payload_of(value)
        inline = {key: raw for key, raw in self.inline.items() if key != name}
        return Context(inline, {**self.refs, name: payload.ref}, self.base), payload

    def freeze(self) -> tuple[Context, Payload | None]:
        """Return a context that is cheap to copy many times, and what must be stored for it."""
        size = sum(map(len, self.inline.values())) + 100 * len(self.refs)
        if size <= FREEZE_LIMIT:
            return self, None
        payload = payload_of(Raw(msgspec.json.encode(self)))
        return Context(base=payload.ref), payload

    def compact(self) -> tuple[Context, Payload | None]:
        """Return the context small enough for a message, and what must be stored for it."""
        if sum(map(len, self.inline.values())) <= CARRY_LIMIT:
            return self, None
        return self.freeze()

    def union(self, other: Context) -> Context:
        """Return the entries of both contexts; where both have one, that of `other`."""
        inline = {key: raw for key, raw in self.inline.items() if key not in other.refs}
        refs = {key: ref for key, ref in self.refs.items() if key not in other.inline}
        return Context({**inline, **other.inline}, {**refs, **other.refs}, other.base or self.base)

    def names(self) -> set[str]:
        """Return the entries held here (not those of the base)."""
        return {*self.inline, *self.refs}


def payload_of(body: Raw) -> Payload:
    """Return `body` as a payload under its content address."""
    return Payload(Ref(fingerprint(bytes(body)), len(body)), body)


_decoder = msgspec.json.Decoder(Context)


def read_context(data: bytes) -> Context:
    """Return the context that `msgspec.json.encode(context)` wrote."""
    return _decoder.decode(data)

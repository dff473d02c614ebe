"""Reading a token's context: only the entries that a node needs, each decoded once.

Stored payloads never change (they are named by their content), so a decoded value is cached for the
next token that refers to it: ten thousand items of one split decode their shared base once.

Reading is synchronous, fetching a payload is not. Where payloads have to be fetched, loading one
that is not here yet raises `PayloadMissing`; `read_fetching` fetches it and reads again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from onward.kernel.context import Context, Ref, read_context
from onward.kernel.json import decode
from onward.kernel.messages import Token
from onward.kernel.program import Program

CACHE_BYTES = 64 * 1024 * 1024

T = TypeVar("T")
LoadPayload = Callable[[str, Ref], bytes]
"""Return a stored payload of a run, or raise PayloadMissing."""
FetchPayload = Callable[[str, Ref], Awaitable[bytes]]
"""Fetch a stored payload of a run, so that it can be loaded."""

_arrays = msgspec.json.Decoder(list[Raw])


class PayloadMissing(Exception):  # noqa: N818  (a question, not an error)
    """A payload has to be fetched before it can be loaded."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref


async def read_fetching(fetch: FetchPayload, execution_id: str, read: Callable[[], T]) -> T:
    """Return what `read` returns, fetching every payload that it misses."""
    while True:
        try:
            return read()
        except PayloadMissing as missing:
            ref = missing.ref
        await fetch(execution_id, ref)


class ContextReader:
    """Decodes contexts, with a bounded cache of the decoded values."""

    def __init__(self, load: LoadPayload, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._load = load
        self._cache: OrderedDict[tuple[str, str], tuple[int, Any]] = OrderedDict()
        self._room = cache_bytes

    def view(self, program: Program, token: Token) -> dict[str, Any]:
        """Return the entries that the program needs at this token, by name without the `$`."""
        needs = program.needs(token)
        execution_id = token.execution_id
        if needs is None:
            view = {
                name[1:]: value for name, value in self._everything(execution_id, token.context)
            }
            view["input"] = view.get(program.input_of(token))
            return view
        view = {}
        for name in needs:
            source = program.input_of(token) if name == "input" else name
            view[name] = self._entry(execution_id, token.context, f"${source}")
        return view

    def items(self, execution_id: str, ref: Ref, start: int, count: int) -> list[Raw]:
        """Return some elements of a stored array, undecoded."""
        array: list[Raw] = self._cached("array", execution_id, ref, _arrays.decode)
        return array[start : start + count]

    def _entry(self, execution_id: str, context: Context, name: str) -> Any:
        if name in context.inline:
            return decode(context.inline[name])
        if name in context.refs:
            return self._cached("value", execution_id, context.refs[name], decode)
        if context.base is None:
            return None
        base: Context = self._cached("context", execution_id, context.base, read_context)
        if name in base.inline:  # shared by many tokens: decode it once for all of them
            return self._remember(
                f"{name}@{context.base.hash}",
                execution_id,
                len(base.inline[name]),
                lambda: decode(base.inline[name]),
            )
        return self._entry(execution_id, base, name)

    def _everything(self, execution_id: str, context: Context) -> Iterator[tuple[str, Any]]:
        if context.base is not None:
            base = self._cached("context", execution_id, context.base, read_context)
            yield from self._everything(execution_id, base)
        for name in (*context.refs, *context.inline):
            yield name, self._entry(execution_id, context, name)

    def _cached(self, kind: str, execution_id: str, ref: Ref, read: Callable[[bytes], Any]) -> Any:
        return self._remember(
            f"{kind}@{ref.hash}",
            execution_id,
            ref.bytes,
            lambda: read(self._load(execution_id, ref)),
        )

    def _remember(self, name: str, execution_id: str, size: int, make: Callable[[], Any]) -> Any:
        key = (execution_id, name)
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
            return found[1]
        value = make()
        self._cache[key] = (size, value)
        self._room -= size
        # The newest stays however large it is: a token that reads two values, of which each fills
        # the cache, would otherwise load them in turns for ever.
        while self._room < 0 and len(self._cache) > 1:
            _, (freed, _) = self._cache.popitem(last=False)
            self._room += freed
        return value

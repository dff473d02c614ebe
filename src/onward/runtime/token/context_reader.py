"""Reading a token's context: only the entries a node asks for, each decoded once.

Stored payloads never change (they are named by their content), so what has been decoded is kept for
the next token that refers to it: ten thousand items of one split decode their shared base once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

from onward.kernel.context import Context, Ref, read_context
from onward.kernel.json import decode
from onward.kernel.messages import Token
from onward.kernel.program import Program

CACHE_BYTES = 64 * 1024 * 1024

Load = Callable[[str, Ref], bytes]
"""Return the stored payload of an execution."""

_arrays = msgspec.json.Decoder(list[Raw])


class ContextReader:
    """Decodes contexts, with a bounded memory of what it has decoded."""

    def __init__(self, load: Load, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._load = load
        self._cache: OrderedDict[tuple[str, str], tuple[int, Any]] = OrderedDict()
        self._room = cache_bytes

    def view(self, program: Program, token: Token) -> dict[str, Any]:
        """Return the entries that the program needs at this token, by name without the `$`."""
        needs = program.needs(token)
        execution = token.execution_id
        if needs is None:
            view = {name[1:]: value for name, value in self._everything(execution, token.context)}
            view["input"] = view.get(program.input_of(token))
            return view
        view = {}
        for name in needs:
            source = program.input_of(token) if name == "input" else name
            view[name] = self._entry(execution, token.context, f"${source}")
        return view

    def items(self, execution: str, ref: Ref, start: int, count: int) -> list[Raw]:
        """Return some elements of a stored array, undecoded."""
        array: list[Raw] = self._cached("array", execution, ref, _arrays.decode)
        return array[start : start + count]

    def _entry(self, execution: str, context: Context, name: str) -> Any:
        if name in context.inline:
            return decode(context.inline[name])
        if name in context.refs:
            return self._cached("value", execution, context.refs[name], decode)
        if context.base is None:
            return None
        base: Context = self._cached("context", execution, context.base, read_context)
        if name in base.inline:  # shared by many tokens: decode it once for all of them
            return self._remember(
                f"{name}@{context.base.hash}",
                execution,
                len(base.inline[name]),
                lambda: decode(base.inline[name]),
            )
        return self._entry(execution, base, name)

    def _everything(self, execution: str, context: Context) -> Iterator[tuple[str, Any]]:
        if context.base is not None:
            base = self._cached("context", execution, context.base, read_context)
            yield from self._everything(execution, base)
        for name in (*context.refs, *context.inline):
            yield name, self._entry(execution, context, name)

    def _cached(self, kind: str, execution: str, ref: Ref, read: Callable[[bytes], Any]) -> Any:
        return self._remember(
            f"{kind}@{ref.hash}", execution, ref.bytes, lambda: read(self._load(execution, ref))
        )

    def _remember(self, name: str, execution: str, size: int, make: Callable[[], Any]) -> Any:
        key = (execution, name)
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
            return found[1]
        value = make()
        self._cache[key] = (size, value)
        self._room -= size
        while self._room < 0 and len(self._cache) > 1:
            _, (freed, _) = self._cache.popitem(last=False)
            self._room += freed
        return value

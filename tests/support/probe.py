"""A node type for tests: an activity that is recorded, and that a test can steer.

node("p", "probe", value=...)        succeeds with the value
node("p", "probe", fail_first=2)     fails its first two attempts
node("p", "probe", gate="g")         parks until the test opens gate "g"
node("p", "probe", does="boom")      does what the test put into `book.acts["boom"]`
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from onward.bootstrap.catalogue import builtin
from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.ports.nodes.node import Catalogue, Tools

PATIENCE_S = 120.0
"""What takes longer is stuck: the clock jumps, so nothing ever waits for real."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One attempt of one probe."""

    tag: Any
    attempt: int
    key: str
    at_ms: int


@dataclass(slots=True)
class Book:
    """What the probes did, and what they wait for."""

    now: Callable[[], int]
    stir: Callable[[], None]
    acts: dict[str, Callable[[Tools], Awaitable[Any]]] = field(default_factory=dict)
    executions: list[Execution] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    running: int = 0
    peak: int = 0
    parked: int = 0
    cancelled: int = 0

    def tags(self) -> list[Any]:
        """Return the tags of what was executed, in order."""
        return [execution.tag for execution in self.executions]

    def gate(self, name: str) -> asyncio.Event:
        """Return the gate called `name`; setting it opens it for good."""
        return self.gates.setdefault(name, asyncio.Event())

    async def until(self, happened: Callable[[], object]) -> None:
        """Return when something has happened; it fails when that takes far too long."""
        async with asyncio.timeout(PATIENCE_S):
            while not happened():
                await asyncio.sleep(0)

    async def until_parked(self, count: int) -> None:
        """Return when `count` probes wait at gates."""
        await self.until(lambda: self.parked == count)

    async def park(self, gate: str) -> None:
        """Wait at a gate; time may pass meanwhile."""
        self.parked += 1
        self.stir()
        try:
            await self.gate(gate).wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.parked -= 1


def catalogue_with(book: Book) -> Catalogue:
    """Return the built-in node types and `probe`."""
    catalogue = Catalogue()
    for kind in builtin:
        register = catalogue.register(
            kind.name,
            effect=kind.effect,
            expressions=kind.expressions,
            credential=kind.credential,
        )
        register(kind.parameters)

    @catalogue.register("probe")
    class Probe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        """Be watched."""

        tag: Any = None
        value: Any = None
        fail_first: int = 0
        code: str = "PROBE"
        details: dict[str, Any] = {}
        gate: str | None = None
        does: str | None = None

        async def run(self, tools: Tools) -> Any:
            book.executions.append(
                Execution(self.tag, tools.attempt, tools.idempotency_key, book.now())
            )
            book.running += 1
            book.peak = max(book.peak, book.running)
            try:
                return await self._act(tools)
            finally:
                book.running -= 1

        async def _act(self, tools: Tools) -> Any:
            if self.gate is not None:
                await book.park(self.gate)
            if self.does is not None:
                return await book.acts[self.does](tools)
            if tools.attempt <= self.fail_first:
                return Failed(NodeError(f"attempt {tools.attempt} fails", self.code, self.details))
            return Succeeded(self.value)

    return catalogue

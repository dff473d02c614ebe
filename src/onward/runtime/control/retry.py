"""Trying a run again: a new run, linked to the one before, that keeps what succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import InputError, NotThereError, StateConflictError
from onward.kernel.json import decode
from onward.kernel.messages import decode_completion, decode_tokens
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord, VisitRecord
from onward.languages.graph.dependents import changed_nodes, followers_of, tolerant_nodes
from onward.languages.graph.program import GraphProgram
from onward.ports.storage.signals import StoredSignal
from onward.runtime.backend import Backend
from onward.runtime.control.retry_history import (
    Item,
    RetriedRun,
    RunOutline,
    inherited,
    inherited_until,
    kept_of,
    repeated,
)
from onward.runtime.signals.sender import all_signals
from onward.runtime.token.start import StartOptions
from onward.runtime.workflows.service import WorkflowService


class RetryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to try again, and with what."""

    from_nodes: frozenset[str] = frozenset()
    """Execute these again, and what follows from them."""
    item: Item = ()
    """Of `from_nodes` only inside this item."""
    split: str = ""
    """Of the items that failed only those of this split."""
    everything: bool = False
    """Keep nothing."""
    latest: bool = False
    """With the published version of the workflow as it is now."""
    given: Raw | None = None
    """With another input."""


class StartedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """A new attempt that was started."""

    execution_id: str
    kept: int
    repeated: int


class RunRetry:
    """Tries runs again."""

    def __init__(self, backend: Backend) -> None:
        self._at = backend
        self._publishing = WorkflowService(backend)

    async def retry(
        self, run: RunRecord, wanted: RetryRequest, execution_id: str
    ) -> StartedAttempt:
        """Start a new attempt at a run that has ended.

        ConflictError when it goes on, or when there is nothing to try again. What it keeps belongs
        to places in the workflow, not to values: with another input, or another version, what
        succeeded stands unless its node has changed or follows from one that is executed again.
        """
        if run.ended_ms is None:
            raise StateConflictError(
                f"run {run.execution_id} goes on: cancel it, or wait for its end", "RUN_GOES_ON"
            )
        before = await self._definition(run)
        after = before
        if wanted.latest:
            after = await self._publishing.definition_of(run.workflow_id, None)
        program = self._at.compile(after)
        nodes = wanted.from_nodes | self._changed(before, after)
        _check_names(program, wanted, run.workflow_id)
        control = await self._at.steering.controls.control(run.execution_id)
        history = await self._at.steering.history(run.execution_id)
        again = RetriedRun(
            nodes=nodes, item=wanted.item, split=wanted.split, ended_at=_failed_node(run)
        )
        outline = outline_of(program)
        many = len(history)
        if not wanted.everything:
            many = await asyncio.to_thread(repeated, history, again, outline)
        if not many and run.status == "completed":
            raise StateConflictError(
                f"nothing of run {run.execution_id} failed: name the nodes to begin from",
                "NOTHING_FAILED",
            )
        kept: list[VisitRecord] = []
        if not wanted.everything:
            kept = await asyncio.to_thread(kept_of, history, again, outline)
        signals = await self._signals(run, program, history, kept, wanted)
        how = StartOptions(
            priority=control.priority,
            retry_of=run.execution_id,
            root=control.root or run.execution_id,
            kept=tuple(kept),
            signals=tuple(signals),
        )
        given = decode(bytes(wanted.given)) if wanted.given is not None else await self._input(run)
        await self._hand_on(signals, execution_id)
        await self._at.start(after, given, execution_id, how)
        return StartedAttempt(execution_id=execution_id, kept=len(kept), repeated=many)

    async def _signals(
        self,
        run: RunRecord,
        program: Program,
        history: Sequence[VisitRecord],
        kept: Sequence[VisitRecord],
        wanted: RetryRequest,
    ) -> list[StoredSignal]:
        """Return what was sent to a run and still counts; nothing when nothing is to be kept."""
        if wanted.everything:
            return []
        signals = await all_signals(self._at.signals, run.execution_id)
        if isinstance(program, GraphProgram):
            return await asyncio.to_thread(inherited, program, history, kept, signals)
        return inherited_until(history, wanted.from_nodes, signals)

    async def _hand_on(self, signals: Sequence[StoredSignal], execution_id: str) -> None:
        """Note signals as those of a run that is about to begin, so that a repair finds them."""
        if signals and await self._at.archive.run(execution_id) is not None:
            raise StateConflictError(f"there is a run called {execution_id} already", "RUN_EXISTS")
        for signal in signals:
            await self._at.signals.keep(msgspec.structs.replace(signal, execution_id=execution_id))

    async def _definition(self, run: RunRecord) -> Definition:
        found = await self._at.archive.definition(run.definition_ref)
        if found is None:
            raise NotThereError(f"the definition of {run.execution_id} is not known here")
        return found

    def _changed(self, before: Definition, after: Definition) -> frozenset[str]:
        if before.ref == after.ref:
            return frozenset()
        then, now = self._at.compile(before), self._at.compile(after)
        if isinstance(then, GraphProgram) and isinstance(now, GraphProgram):
            return changed_nodes(then.document, now.document)
        return frozenset()

    async def _input(self, run: RunRecord) -> Any:
        """Return what a run was given: the one value that its first tokens carry."""
        start = await self._at.steering.start_of(run.execution_id)
        tokens = decode_tokens(start or b"[]")
        if not tokens:
            raise StateConflictError(
                f"the input of run {run.execution_id} was not kept: give one", "INPUT_UNKNOWN"
            )
        context = tokens[0].context
        if context.inline:
            return decode(bytes(next(iter(context.inline.values()))))
        ref = next(iter(context.refs.values()))
        body = await self._at.archive.payload(run.execution_id, ref.hash)
        if body is None:
            raise StateConflictError(
                f"the input of run {run.execution_id} was not kept: give one", "INPUT_UNKNOWN"
            )
        return decode(body)


def outline_of(program: Program) -> RunOutline:
    """Return what follows from what in a program, as far as its language tells."""
    if isinstance(program, GraphProgram):
        return RunOutline(followers_of(program.wiring), tolerant_nodes(program.wiring))
    return RunOutline()


def _check_names(program: Program, wanted: RetryRequest, workflow_id: str) -> None:
    if not isinstance(program, GraphProgram):
        if wanted.split:
            raise InputError("split: only graphs have splits; leave it out")
        return
    unknown = sorted(wanted.from_nodes - program.wiring.nodes.keys())
    if unknown:
        raise InputError(f"from_nodes: {workflow_id} has no node {unknown[0]!r}")
    if wanted.split and wanted.split not in program.wiring.aggregators:
        raise InputError(f"split: {workflow_id} has no split {wanted.split!r}")


def _failed_node(run: RunRecord) -> str:
    return decode_completion(run.completion).failed_node if run.completion else ""

"""Letting runs of a workflow start only as its rule allows; the others are parked, in order.

Everyone who serves looks after parked runs. Room is counted from the runs themselves, so nothing
has to be given back, and whoever dies half-way leaves what the next look completes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import ExpressionError, InputError, OnwardError, StateConflictError
from onward.expressions import compile_template
from onward.kernel.json import decode, encode
from onward.kernel.records import Definition, RunRecord
from onward.kernel.timestamps import to_iso
from onward.ports.clock import Clock
from onward.ports.nodes.outside import Log
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.start_rules import ParkedRun, StartRule, StartRules
from onward.runtime.explain.explain import RunExplanation, WaitReason
from onward.runtime.token.start import StartOptions
from onward.runtime.token.statuses import cancellation_of

Begin = Callable[[Definition, Any, str, StartOptions], Awaitable[None]]


class _Start(msgspec.Struct, frozen=True):
    """What a parked run starts with."""

    given: Raw
    how: StartOptions


_starts = msgspec.json.Decoder(_Start)


class StartGate:
    """Starts runs when they may."""

    def __init__(
        self, flow: StartRules, archive: RunQueries, clock: Clock, log: Log, begin: Begin
    ) -> None:
        self._flow = flow
        self._archive = archive
        self._clock = clock
        self._log = log
        self._begin = begin

    async def start(
        self, definition: Definition, given: Any, execution_id: str, how: StartOptions
    ) -> None:
        """Start a run, or park it. ConflictError when there is one of its id, or of its key that
        must be alone. An attempt that keeps a history starts at once: its run had its turn.
        """
        rule = await self._flow.rule(definition.workflow_id)
        if rule is None or how.kept:
            await self._begin(definition, given, execution_id, how)
            return
        if await self._archive.run(execution_id) is not None:
            raise StateConflictError(
                f"there is a run called {execution_id} already; choose another id", "RUN_EXISTS"
            )
        now_ms = self._clock.now_ms()
        parked = ParkedRun(
            execution_id=execution_id,
            workflow_id=definition.workflow_id,
            definition_ref=definition.ref,
            # In a thread: others go on for as long as the expression takes.
            flow_key=await asyncio.to_thread(key_of, definition.workflow_id, rule, given, now_ms),
            at_ms=now_ms,
            due_ms=now_ms + (rule.debounce_ms or 0),
            start=msgspec.json.encode(_Start(Raw(encode(given)), how)),
        )
        other = await self._flow.park(parked, rule, definition)
        if other is not None:
            raise StateConflictError(
                f"run {other} of {definition.workflow_id} has not ended, and there may be only one",
                "NOT_ALONE",
            )
        await self._release(parked.flow_key, rule)

    async def turn(self) -> None:
        """Let those start for which there is room now."""
        for workflow_id, key in await self._flow.waiting(self._clock.now_ms()):
            await self._release(key, await self._flow.rule(workflow_id) or StartRule())

    async def _release(self, key: str, rule: StartRule) -> None:
        now_ms = self._clock.now_ms()
        if rule.debounce_ms is not None:
            for name in await self._flow.older(key):
                await self._give_way(name, now_ms)
        for one in await self._flow.let_go(key, rule, now_ms):
            definition = await self._archive.definition(one.definition_ref)
            if definition is None:
                continue
            start = _starts.decode(one.start)
            try:
                await self._begin(
                    definition,
                    decode(bytes(start.given)),
                    one.execution_id,
                    _shifted(start.how, now_ms - one.at_ms),
                )
            except StateConflictError:
                continue  # somebody else has begun it
            except OnwardError as problem:
                # It is let go again in a while.
                text = f"a parked run could not start: {problem}"
                self._log.write("warning", text, run=one.execution_id)

    async def _give_way(self, execution_id: str, now_ms: int) -> None:
        run = await self._archive.run(execution_id)
        if run is not None:
            reason = "another run of its key came before it was due"
            message = cancellation_of(run, reason, now_ms)
            await self._flow.drop(message, now_ms)

    async def explain(self, run: RunRecord) -> RunExplanation:
        """Say what a parked run waits for."""
        now_ms = self._clock.now_ms()
        rule = await self._flow.rule(run.workflow_id) or StartRule()
        ahead = await self._flow.ahead(run.execution_id)
        texts = []
        if ahead is not None and ahead.due_ms > now_ms:
            texts.append(f"it starts at {to_iso(ahead.due_ms)} unless another comes meanwhile")
        if ahead is not None and ahead.before:
            texts.append(f"{ahead.before} runs are parked before it")
        most = 1 if rule.singleton else rule.concurrency
        if ahead is not None and most is not None:
            texts.append(f"{ahead.going_on} runs of its key go on, and {most} may")
        if rule.rate is not None:
            texts.append(f"{rule.rate} runs may start in {rule.per_ms} ms")
        waits = tuple(WaitReason(kind="parked", text=text) for text in texts)
        return RunExplanation(
            execution_id=run.execution_id,
            workflow_id=run.workflow_id,
            status=run.status,
            started_at=to_iso(run.started_ms),
            ended_at=None,
            summary="it is parked: it starts when the rule of its workflow allows",
            waits=waits,
            recent=(),
        )


def _shifted(how: StartOptions, by_ms: int) -> StartOptions:
    """Let a time limit count from when the run starts."""
    if how.deadline_ms is None:
        return how
    return msgspec.structs.replace(how, deadline_ms=how.deadline_ms + by_ms)


def key_of(workflow_id: str, rule: StartRule, given: Any, now_ms: int) -> str:
    """Return the key of a run; InputError when its input has none."""
    if not rule.key:
        return workflow_id
    try:
        value = compile_template(rule.key).render(given, {"trigger": given}, now_ms=now_ms)
    except ExpressionError as problem:
        raise InputError(f"the key {rule.key} of {workflow_id} has no value: {problem}") from None
    return f"{workflow_id}/{msgspec.json.encode(value).decode()[:1000]}"


def check_rule(rule: StartRule) -> None:
    """Raise InputError for a rule that means nothing."""
    try:
        compile_template(rule.key)
    except ExpressionError as problem:
        raise InputError(f"key: {problem}") from None
    limits = (rule.concurrency, rule.rate, rule.debounce_ms, rule.singleton or None)
    if not any(limit is not None for limit in limits):
        raise InputError("give concurrency, rate, singleton or debounce_ms: nothing would change")
    if rule.singleton and rule.debounce_ms is not None:
        raise InputError("singleton refuses what debounce_ms would wait for: give one of them")

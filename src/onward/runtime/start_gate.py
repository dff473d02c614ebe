"""The gate of runs: one starts only as the rule of its workflow allows, the others are parked.

Every serving process releases parked runs. Room is counted from the runs themselves, so nothing has
to be returned, and a process that dies half-way leaves what the next turn completes.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import ExpressionError, InputError, OnwardError, StateConflictError
from onward.expressions import compile_template
from onward.kernel.json import decode, encode
from onward.kernel.records import Definition, RunRecord
from onward.kernel.timestamps import to_iso
from onward.ports.nodes.outside import Log
from onward.ports.storage.start_rules import ParkedRun, StartRule, StartRules
from onward.runtime.explain.explain import RunExplanation, WaitReason
from onward.runtime.signals.run_host import RunHost
from onward.runtime.token.start import StartOptions
from onward.runtime.token.statuses import cancellation_of


class _Start(msgspec.Struct, frozen=True):
    """What a parked run starts with."""

    given: Raw
    how: StartOptions


_starts = msgspec.json.Decoder(_Start)


class StartGate:
    """Starts runs on a host when the rules of their workflows allow it."""

    def __init__(self, rules: StartRules, host: RunHost, log: Log) -> None:
        self._rules = rules
        self._host = host
        self._log = log

    async def start(
        self, definition: Definition, given: Any, execution_id: str, how: StartOptions
    ) -> None:
        """Start a run, or park it.

        StateConflictError when there is one of its id, or of its key that must be alone. An attempt
        that keeps a history starts at once: its run was admitted before.
        """
        rule = await self._rules.rule(definition.workflow_id)
        if rule is None or how.kept:
            await self._host.start(definition, given, execution_id, how)
            return
        if await self._host.archive.run(execution_id) is not None:
            raise StateConflictError(
                f"there is a run called {execution_id} already; choose another id", "RUN_EXISTS"
            )
        key = await self._park(rule, definition, given, execution_id, how)
        await self._release(key, rule)

    async def _park(
        self,
        rule: StartRule,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions,
    ) -> str:
        now_ms = self._host.clock.now_ms()
        parked = ParkedRun(
            execution_id=execution_id,
            workflow_id=definition.workflow_id,
            definition_ref=definition.ref,
            # In a thread: the process serves others for as long as the expression takes.
            flow_key=await asyncio.to_thread(key_of, definition.workflow_id, rule, given, now_ms),
            at_ms=now_ms,
            due_ms=now_ms + (rule.debounce_ms or 0),
            start=msgspec.json.encode(_Start(Raw(encode(given)), how)),
        )
        other = await self._rules.park(parked, rule, definition)
        if other is not None:
            raise StateConflictError(
                f"run {other} of {definition.workflow_id} has not ended, and there may be only one",
                "NOT_ALONE",
            )
        return parked.flow_key

    async def turn(self) -> None:
        """Start the parked runs for which there is room now."""
        for workflow_id, key in await self._rules.waiting(self._host.clock.now_ms()):
            await self._release(key, await self._rules.rule(workflow_id) or StartRule())

    async def _release(self, key: str, rule: StartRule) -> None:
        now_ms = self._host.clock.now_ms()
        if rule.debounce_ms is not None:
            for execution_id in await self._rules.older(key):
                await self._cancel_older(execution_id, now_ms)
        for parked in await self._rules.let_go(key, rule, now_ms):
            await self._start_parked(parked, now_ms)

    async def _start_parked(self, parked: ParkedRun, now_ms: int) -> None:
        definition = await self._host.archive.definition(parked.definition_ref)
        if definition is None:
            return
        start = _starts.decode(parked.start)
        given, how = decode(bytes(start.given)), _shifted(start.how, now_ms - parked.at_ms)
        try:
            await self._host.start(definition, given, parked.execution_id, how)
        except StateConflictError:
            return  # another process has started it
        except OnwardError as problem:
            # The rules return it again after a while.
            text = f"a parked run could not start: {problem}"
            self._log.write("warning", text, run=parked.execution_id)

    async def _cancel_older(self, execution_id: str, now_ms: int) -> None:
        run = await self._host.archive.run(execution_id)
        if run is not None:
            reason = "another run of its key came before it was due"
            message = cancellation_of(run, reason, now_ms)
            await self._rules.drop(message, now_ms)

    async def explain(self, run: RunRecord) -> RunExplanation:
        """Return what a parked run waits for."""
        now_ms = self._host.clock.now_ms()
        rule = await self._rules.rule(run.workflow_id) or StartRule()
        ahead = await self._rules.ahead(run.execution_id)
        texts = []
        if ahead is not None and ahead.due_ms > now_ms:
            texts.append(f"it starts at {to_iso(ahead.due_ms)} unless another comes meanwhile")
        if ahead is not None and ahead.before:
            texts.append(f"{ahead.before} run{'s' * (ahead.before != 1)} parked before it")
        most = 1 if rule.singleton else rule.concurrency
        if ahead is not None and most is not None:
            texts.append(f"{ahead.going_on} of at most {most} runs of its key are running")
        if rule.rate is not None:
            texts.append(f"{rule.rate} runs may start in {rule.per_ms} ms")
        return RunExplanation(
            execution_id=run.execution_id,
            workflow_id=run.workflow_id,
            status=run.status,
            started_at=to_iso(run.started_ms),
            ended_at=None,
            summary="it is parked: it starts when the rule of its workflow allows",
            waits=tuple(WaitReason(kind="parked", text=text) for text in texts),
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

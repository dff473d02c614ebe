"""Running an activity: credentials in, outcome out, whatever the node does.

An exception inside a node is a failed node, never a dead worker; a node that takes too long is
cancelled, killed with its process, or abandoned with its thread; a secret that comes back in an
output or an error is redacted before anyone sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

import msgspec

from onward.errors import CredentialError, StorageError
from onward.expressions.time_slice import TimeSlice, within_time_slice
from onward.kernel.messages import Token
from onward.kernel.outcome import Awaits, Failed, NodeError, Succeeded
from onward.kernel.program import Activity
from onward.kernel.redaction import Redactor
from onward.ports.cluster.bus import BusError
from onward.ports.nodes.commands import NO_COMMANDS, Commands
from onward.ports.nodes.events import NO_HUB, EventHub
from onward.ports.nodes.node import BlockingTools, DeferredNode, Runnable, Tools
from onward.ports.nodes.outside import NO_RUNS, Http, Log, Mail
from onward.ports.security.credentials import Secrets
from onward.runtime.activity.evaluators import Evaluators
from onward.runtime.activity.node_links import NodeLinks, fill_links, secrets_of
from onward.runtime.activity.node_logs import NodeLogBuffer
from onward.runtime.activity.node_process import Job
from onward.runtime.activity.outcome_callbacks import OutcomeCallbacks
from onward.runtime.activity.processes import NodeProcesses
from onward.runtime.activity.threads import MOST_ABANDONED, Threads
from onward.runtime.signals.child_runs import ChildRuns, ChildRunsOfToken
from onward.runtime.token.pipeline import storable
from onward.runtime.token.statuses import fields_of

_ABANDONED = "; its thread runs until it ends by itself: a node in a process can be stopped"


@dataclass(frozen=True, slots=True)
class ActivityRunner:
    """Runs nodes that touch the world, with what they may touch."""

    http: Http
    mail: Mail
    log: Log
    secrets: Secrets
    hub: EventHub = field(default=NO_HUB, kw_only=True)
    commands: Commands = field(default=NO_COMMANDS, kw_only=True)
    threads: Threads = field(default_factory=Threads, kw_only=True)
    processes: NodeProcesses = field(default_factory=NodeProcesses, kw_only=True)
    evaluators: Evaluators = field(default_factory=Evaluators, kw_only=True)
    child_runs: ChildRuns | None = field(default=None, kw_only=True)
    """Starts the runs that nodes ask for."""
    node_logs: NodeLogBuffer | None = field(default=None, kw_only=True)
    """Holds the lines that nodes write until their visit is recorded."""
    callbacks: OutcomeCallbacks = field(default_factory=OutcomeCallbacks, kw_only=True)
    """What nodes have called when their outcome is committed."""
    node_links: NodeLinks | None = field(default=None, kw_only=True)
    """Signs the links that nodes hand out."""

    async def aclose(self) -> None:
        """End the processes of nodes and expressions; the callbacks left are called with False."""
        self.callbacks.close()
        try:
            await self.processes.aclose()
        finally:
            await self.evaluators.aclose()

    async def run(self, token: Token, activity: Activity) -> Succeeded | Failed | Awaits:
        """Return the outcome of the activity.

        It raises nothing but cancellation, and StorageError when the credentials are out of reach.
        """
        workflow, credential = token.workflow_id, activity.credential
        resolve = self.secrets.resolve
        try:
            fields = await resolve(credential, workflow) if credential else {}
            secrets = {name: await resolve(name, workflow) for name in activity.secrets}
        except CredentialError as problem:
            return Failed(NodeError(str(problem), "CREDENTIAL"))
        try:
            links = self._links(token, activity)
            activity = fill_links(activity, links)
        except (CredentialError, msgspec.ValidationError) as problem:
            return Failed(NodeError(str(problem), "NO_LINKS"))
        redactor = Redactor([fields, *secrets.values(), secrets_of(links)])
        outcome = await self._attempt(token, activity, fields, secrets, redactor)
        return _redact(outcome, redactor)

    def _links(self, token: Token, activity: Activity) -> dict[str, str]:
        if not activity.links:
            return {}
        if self.node_links is None:
            raise CredentialError("links cannot be signed here")
        return self.node_links.links(token, activity.links)

    async def _attempt(
        self,
        token: Token,
        activity: Activity,
        fields: Mapping[str, str],
        secrets: Mapping[str, Mapping[str, str]],
        redactor: Redactor,
    ) -> Any:
        tools = Tools(
            http=self.http,
            mail=self.mail,
            log=RedactingLog(self.log, redactor, token, self.node_logs),
            credentials=fields,
            secrets=secrets,
            idempotency_key=idempotency_key_of(token),
            attempt=token.attempt,
            traceparent=token.traceparent,
            hub=self.hub,
            commands=self.commands,
            runs=NO_RUNS if self.child_runs is None else ChildRunsOfToken(self.child_runs, token),
            after_commit=partial(self.callbacks.add, token),
        )
        limit = asyncio.timeout(None)
        try:
            async with self._place(activity, tools) as run:
                if activity.timeout_s is not None:  # it starts when there is a place to run
                    limit = asyncio.timeout(activity.timeout_s)
                async with limit:
                    return await run()
        except TimeoutError as problem:
            if not limit.expired():
                return _crashed(problem)
            message = f"the node did not finish within {activity.timeout_s:g} s"
            message += _ABANDONED if activity.runs_in == "thread" else ""
            return Failed(NodeError(message, "NODE_TIMEOUT"))
        except asyncio.CancelledError as problem:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the run has ended, or the engine stops: the outcome is not needed
            return _crashed(problem)
        except (StorageError, BusError):
            raise  # not the fault of the node: a service of ours is out of reach
        except (Exception, SystemExit) as problem:
            return _crashed(problem)

    @asynccontextmanager
    async def _place(
        self, activity: Activity, tools: Tools
    ) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
        """Wait for a place where the node can run; the function that is yielded runs it there."""
        node = activity.node
        inputs = (tools.credentials, tools.idempotency_key, tools.attempt)
        match activity.runs_in:
            case "loop" if isinstance(node, DeferredNode):
                yield partial(self._run_deferred, node, tools)
            case "loop":
                yield partial(node.run, tools)
            case "thread":
                yield partial(self._in_thread, partial(node.run, BlockingTools(tools.log, *inputs)))
            case "process":
                async with self.processes.process() as process:
                    yield partial(process.run, Job(node, *inputs, activity.memory_mb), tools.log)
            case _:
                assert_never(activity.runs_in)

    async def _run_deferred(self, deferred: DeferredNode, tools: Tools) -> Any:
        async def make(time_slice: TimeSlice) -> Runnable | Failed:
            with within_time_slice(time_slice):
                return deferred.resolve(tools.secrets)

        node = await self.evaluators.run_with_answers(make)
        return node if isinstance(node, Failed) else await node.run(tools)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        if self.threads.abandoned >= MOST_ABANDONED:
            message = (
                f"{MOST_ABANDONED} nodes that took too long still hold their threads here: start"
                " this process again, and let such nodes run in a process"
            )
            return Failed(NodeError(message, "NODE_NO_THREAD"))
        return await self.threads.call(work)


def idempotency_key_of(token: Token) -> str:
    """Return the key of the work a token stands for: the same for every delivery and attempt."""
    return f"{token.execution_id}-{token.visit or token.token_id}"


def _crashed(problem: BaseException) -> Failed:
    text = str(problem) or "no message"
    return Failed(NodeError(f"{type(problem).__name__}: {text}", "NODE_CRASHED"))


def _redact(outcome: Any, redactor: Redactor) -> Succeeded | Failed | Awaits:
    match outcome:
        case Succeeded(output):
            checked = storable(Succeeded(redactor.redact(output)))
        case Failed(NodeError()):
            checked = storable(outcome)
        case Awaits():
            return outcome
        case _:
            checked = outcome
    match checked:
        case Succeeded():
            return checked
        case Failed(NodeError() as error):
            return Failed(msgspec.convert(redactor.redact(msgspec.to_builtins(error)), NodeError))
        case _:
            kind = type(outcome).__name__
            message = f"the node returned {kind}, not Succeeded or Failed with a NodeError"
            return Failed(NodeError(message, "NODE_CRASHED"))


class RedactingLog:
    """The log as a node sees it: its lines say which visit they are from, and hold no secret."""

    def __init__(
        self, log: Log, redactor: Redactor, token: Token, node_logs: NodeLogBuffer | None = None
    ) -> None:
        self._log = log
        self._redactor = redactor
        self._token = token
        self._node_logs = node_logs

    def write(self, level: str, message: str, **fields: object) -> None:
        text, more = str(self._redactor.redact(message)), self._redactor.redact(fields)
        self._log.write(level, text, **{**more, **fields_of(self._token)})
        if self._node_logs is not None:
            self._node_logs.add(self._token, level, text, more)


_conforms: type[Log] = RedactingLog

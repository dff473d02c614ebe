"""Runs that start runs: how a child begins, what its parent learns of its end, and what follows.

A child's id is derived from the token that starts it, so a redelivery finds the same child. Its end
is a signal to the parent, stored like any other: either of the two may be there first.

Read `ChildRuns` first; `ChildRunsOfToken` is what a node sees of it. The functions before it find
the version of a workflow that a document names.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import StateConflictError
from onward.kernel.context import Payload
from onward.kernel.ids import derive
from onward.kernel.messages import CompletionMessage, Token, decode_completion
from onward.kernel.outcome import NodeError
from onward.kernel.records import Definition
from onward.kernel.signal_waits import SignalContent, content_of
from onward.ports.nodes.outside import OutsideError
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLink
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.signals.run_host import RunHost
from onward.runtime.signals.sender import SignalSender
from onward.runtime.token.start import DEFAULT_START, StartOptions

LATEST = "latest"
VERSIONS_PAGE = 100
DEEPEST = 16
"""How many runs may be above one: a workflow that starts itself comes to an end."""
CHILDREN_PAGE = 200

Rank = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]
Start = Callable[[Definition, Any, str, StartOptions], Awaitable[None]]

_NUMBER = re.compile(r"\d+")

# -- versions as documents of the Serverless Workflow DSL name them: 1.2.0, or latest --------------


async def find_version(
    registry: WorkflowRegistry, archive: RunQueries, workflow_id: str, latest: int, wanted: str
) -> Definition | None:
    """Return the definition of a workflow that names itself `wanted`; None if there is none.

    Of several the newest; `latest` is the highest version by semantic versioning.
    """
    best: tuple[Rank, Definition] | None = None
    before = latest + 1
    while page := await registry.versions(workflow_id, before=before, limit=VERSIONS_PAGE):
        before = page[-1].number
        for version in page:
            definition = await archive.definition(version.definition_ref)
            name = None if definition is None else version_in(definition.source)
            if definition is None or name is None:
                continue
            if name == wanted:
                return definition
            if wanted == LATEST and (best is None or rank(name) > best[0]):
                best = rank(name), definition
    return best[1] if best is not None else None


def version_in(source: bytes) -> str | None:
    """Return the version that a document gives itself; None: it is of another language."""
    value: Any = msgspec.json.decode(source)
    head = value.get("document") if isinstance(value, dict) else None
    found = head.get("version") if isinstance(head, dict) else None
    return found if isinstance(found, str) else None


def rank(version: str) -> Rank:
    """Return what semantic versions are compared by."""
    core, _, early = version.partition("+")[0].partition("-")
    numbers = tuple(int(digits) for digits in _NUMBER.findall(core))
    parts = tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part)
        for part in (early.split(".") if early else ())
    )
    return numbers, not early, parts


# -- children --------------------------------------------------------------------------------------


class ChildRuns:
    """Starts children, signals their ends to parents, and cancels children of ended parents."""

    def __init__(
        self, host: RunHost, *, start: Start | None = None, deepest: int = DEEPEST
    ) -> None:
        """`start`: how children are started, if not at once by the host itself."""
        self._host = host
        self._start = start or host.start
        self._signals = SignalSender(host)
        self._deepest = deepest

    async def start(
        self, by: Token, workflow_id: str, version: int | str | None, given: Any, *, waits: bool
    ) -> str:
        """Start the child of a token, or find it, and return its id; OutsideError if it cannot be.

        The end of a child that has ended meanwhile is signalled once more.
        """
        child = child_id(by)
        known = await self._host.archive.run(child)
        if known is None:
            await self._begin(by, child, workflow_id, version, given, waits)
        elif known.ended_ms is not None and waits:
            await self.ended([child])
        return child

    async def _begin(
        self,
        by: Token,
        child: str,
        workflow_id: str,
        version: int | str | None,
        given: Any,
        waits: bool,
    ) -> None:
        above = await self._host.links.parents([by.execution_id])
        depth = above[0].depth + 1 if above else 1
        if depth > self._deepest:
            raise OutsideError(
                f"{depth - 1} runs are above this one already: a run may start another only down"
                f" to depth {self._deepest}; does the workflow start itself?",
                "TOO_DEEP",
            )
        definition = await self._definition(workflow_id, version)
        # The link first: a child that ends at once must find its parent.
        await self._host.links.add(
            ChildLink(
                child_id=child,
                parent_id=by.execution_id,
                node_id=by.current_node,
                token_id=by.token_id,
                depth=depth,
                waits=waits,
            )
        )
        try:
            await self._start(definition, given, child, DEFAULT_START)
        except StateConflictError:
            return  # another worker on the same message was faster

    async def _definition(self, workflow_id: str, version: int | str | None) -> Definition:
        registry, archive = self._host.registry, self._host.archive
        workflow = await registry.workflow(workflow_id)
        if workflow is None:
            raise OutsideError(f"there is no workflow called {workflow_id}", "NO_WORKFLOW")
        if version in (None, LATEST) and not workflow.enabled:
            raise OutsideError(f"workflow {workflow_id} is disabled", "NO_WORKFLOW")
        if isinstance(version, str):
            named = await find_version(registry, archive, workflow_id, workflow.latest, version)
            if named is None:
                message = f"workflow {workflow_id} has no version {version}"
                raise OutsideError(message, "NO_WORKFLOW")
            return named
        wanted = workflow.published if version is None else version
        found = await registry.version(workflow_id, wanted) if wanted else None
        definition = await archive.definition(found.definition_ref) if found else None
        if definition is None:
            lacking = "no published version" if version is None else f"no version {version}"
            raise OutsideError(f"workflow {workflow_id} has {lacking}", "NO_WORKFLOW")
        return definition

    async def ended(self, execution_ids: Iterable[str]) -> None:
        """Signal the ends of runs to their parents, and cancel the children they waited for."""
        ended = list(execution_ids)
        for link in await self._host.links.parents(ended):
            if link.waits:
                await self._signal_end(link)
        for execution_id in ended:
            await self._cancel_children(execution_id)

    async def catch_up(self) -> None:
        """Signal the ends that a process died before signalling."""
        for link in await self._host.links.untold():
            await self._signal_end(link)
            await self._cancel_children(link.parent_id)

    async def _signal_end(self, link: ChildLink) -> None:
        child = await self._host.archive.run(link.child_id)
        parent = await self._host.archive.run(link.parent_id)
        if child is None or child.completion is None or parent is None:
            return
        if parent.ended_ms is not None:
            return
        message = decode_completion(child.completion)
        sent, payload = await self._end_of(message, child.ended_ms or 0)
        payloads = [] if payload is None else [payload]
        await self._signals.send(parent, address(link.child_id), "end", sent, payloads)

    async def _end_of(
        self, message: CompletionMessage, at_ms: int
    ) -> tuple[SignalContent, Payload | None]:
        if message.status != "completed":
            return SignalContent(at_ms=at_ms, error=_error(message)), None
        return content_of(await self._output(message), at_ms)

    async def _output(self, message: CompletionMessage) -> Raw:
        """Return the output of a run: of the node it ended at, or of each of them by name."""
        outputs = {node: await self._value(message, f"${node}") for node in message.output_nodes}
        if len(outputs) == 1:
            return next(iter(outputs.values()))
        return Raw(msgspec.json.encode(outputs or None))

    async def _value(self, message: CompletionMessage, name: str) -> Raw:
        ref = message.context_refs.get(name)
        if ref is None:
            return message.final_context.get(name, Raw(b"null"))
        return Raw(await self._host.archive.payload(message.execution_id, ref.hash) or b"null")

    async def _cancel_children(self, parent_id: str) -> None:
        archive = self._host.archive
        parent = await archive.run(parent_id)
        if parent is None or parent.ended_ms is None:
            return
        after = ""
        while page := await self._host.links.children(parent_id, after=after, limit=CHILDREN_PAGE):
            after = page[-1].child_id
            for link in page:
                child = await archive.run(link.child_id) if link.waits else None
                if child is not None and child.ended_ms is None:
                    reason = f"run {parent_id}, which waited for it, has ended"
                    await self._host.cancel(child, reason)


def child_id(by: Token) -> str:
    """Return the id of the run that a token starts."""
    return f"run_{derive(by.execution_id, by.token_id, 'child')}"


def address(child: str) -> str:
    """Return the address at which a parent waits for the end of a child."""
    return f"run:{child}"


def _error(message: CompletionMessage) -> NodeError:
    error = message.error
    cause = f": {error.message}" if error is not None else ""
    details: dict[str, Any] = {"execution_id": message.execution_id, "status": message.status}
    if error is not None:
        details["error"] = msgspec.to_builtins(error)
    if message.failed_node:
        details["node"] = message.failed_node
    return NodeError(
        f"run {message.execution_id} is {message.status}{cause}", "CHILD_FAILED", details
    )


class ChildRunsOfToken:
    """Starting runs, as the node of a token sees it."""

    def __init__(self, child_runs: ChildRuns, token: Token) -> None:
        self._child_runs = child_runs
        self._token = token

    async def start(
        self, workflow_id: str, version: int | str | None, given: Any, *, waits: bool
    ) -> str:
        """Start a run; OutsideError if it cannot be."""
        return await self._child_runs.start(self._token, workflow_id, version, given, waits=waits)

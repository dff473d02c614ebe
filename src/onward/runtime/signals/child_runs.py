"""Runs that start runs: how a child begins, what its parent hears of its end, and who follows whom.

A child's id follows from the token that starts it, so a redelivery finds the same child. Its end is
a signal to the parent, kept like any other: it does not matter which of the two is there first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from onward.errors import StateConflictError
from onward.kernel.context import Payload
from onward.kernel.ids import derive
from onward.kernel.messages import CompletionMessage, Token, decode_completion
from onward.kernel.outcome import NodeError
from onward.kernel.records import Definition, RunRecord
from onward.kernel.signal_waits import SignalContent, content_of
from onward.ports.nodes.outside import OutsideError
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLink, ChildLinks
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.signals.sender import SignalSender, SignalTarget

# -- Versions as documents of the Serverless Workflow DSL name them: 1.2.0, or latest.


LATEST = "latest"
VERSIONS_PAGE = 100
_NUMBER = re.compile(r"\d+")

Rank = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


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
        for one in page:
            definition = await archive.definition(one.definition_ref)
            named = None if definition is None else version_in(definition.source)
            if definition is None or named is None:
                continue
            if named == wanted:
                return definition
            if wanted == LATEST and (best is None or rank(named) > best[0]):
                best = rank(named), definition
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
    numbers = tuple(int(one) for one in _NUMBER.findall(core))
    parts = tuple(
        (not one.isdecimal(), int(one) if one.isdecimal() else 0, one)
        for one in (early.split(".") if early else ())
    )
    return numbers, not early, parts


DEEPEST = 16
"""How many runs may be above one: a workflow that starts itself comes to an end."""
CHILDREN_PAGE = 200


class RunHost(SignalTarget, Protocol):
    """A place where families of runs live."""

    archive: RunQueries
    registry: WorkflowRegistry
    links: ChildLinks

    async def start(self, definition: Definition, given: Any, execution_id: str) -> None:
        """Start a run under an id. ConflictError: there is one of that id."""
        ...

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        """End a run as cancelled; False when it has ended already."""
        ...


class ChildRuns:
    """Starts children, tells parents, and ends children that nobody waits for any more."""

    def __init__(self, home: RunHost, *, deepest: int = DEEPEST) -> None:
        self._at = home
        self._signaller = SignalSender(home)
        self._deepest = deepest

    async def start(
        self, by: Token, workflow_id: str, version: int | str | None, given: Any, *, waits: bool
    ) -> str:
        """Start the child of a token, or find it, and return its id; OutsideError if it cannot be.

        A child that has ended meanwhile is told once more.
        """
        child = child_id(by)
        known = await self._at.archive.run(child)
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
        above = await self._at.links.parents([by.execution_id])
        depth = above[0].depth + 1 if above else 1
        if depth > self._deepest:
            raise OutsideError(
                f"{depth - 1} runs are above this one already: a run may start another only down"
                f" to depth {self._deepest}; does the workflow start itself?",
                "TOO_DEEP",
            )
        definition = await self._definition(workflow_id, version)
        # The link first: a child that ends at once must find its parent.
        await self._at.links.add(
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
            await self._at.start(definition, given, child)
        except StateConflictError:
            return  # another worker on the same message was faster

    async def _definition(self, workflow_id: str, version: int | str | None) -> Definition:
        workflow = await self._at.registry.workflow(workflow_id)
        if workflow is None:
            raise OutsideError(f"there is no workflow called {workflow_id}", "NO_WORKFLOW")
        if version in (None, LATEST) and not workflow.enabled:
            raise OutsideError(f"workflow {workflow_id} is disabled", "NO_WORKFLOW")
        if isinstance(version, str):
            at = self._at
            named = await find_version(
                at.registry, at.archive, workflow_id, workflow.latest, version
            )
            if named is None:
                message = f"workflow {workflow_id} has no version {version}"
                raise OutsideError(message, "NO_WORKFLOW")
            return named
        wanted = workflow.published if version is None else version
        found = await self._at.registry.version(workflow_id, wanted) if wanted else None
        definition = await self._at.archive.definition(found.definition_ref) if found else None
        if definition is None:
            lacking = "no published version" if version is None else f"no version {version}"
            raise OutsideError(f"workflow {workflow_id} has {lacking}", "NO_WORKFLOW")
        return definition

    async def ended(self, runs: Iterable[str]) -> None:
        """Tell the parents of runs that have ended, and end the children that they waited for."""
        ended = list(runs)
        for link in await self._at.links.parents(ended):
            if link.waits:
                await self._tell(link)
        for run in ended:
            await self._orphan(run)

    async def catch_up(self) -> None:
        """Tell parents what somebody died before telling."""
        for link in await self._at.links.untold():
            await self._tell(link)
            await self._orphan(link.parent_id)

    async def _tell(self, link: ChildLink) -> None:
        child = await self._at.archive.run(link.child_id)
        parent = await self._at.archive.run(link.parent_id)
        if child is None or child.completion is None or parent is None:
            return
        if parent.ended_ms is not None:
            return
        message = decode_completion(child.completion)
        sent, payload = await self._news(message, child.ended_ms or 0)
        payloads = [] if payload is None else [payload]
        await self._signaller.tell(parent, address(link.child_id), "end", sent, payloads)

    async def _news(
        self, message: CompletionMessage, at_ms: int
    ) -> tuple[SignalContent, Payload | None]:
        if message.status != "completed":
            return SignalContent(at_ms=at_ms, error=_error(message)), None
        return content_of(await self._output(message), at_ms)

    async def _output(self, message: CompletionMessage) -> Raw:
        """Return what a run came to: the output of the node it ended at, or of each of them."""
        outputs = {node: await self._value(message, f"${node}") for node in message.output_nodes}
        if len(outputs) == 1:
            return next(iter(outputs.values()))
        return Raw(msgspec.json.encode(outputs or None))

    async def _value(self, message: CompletionMessage, name: str) -> Raw:
        ref = message.context_refs.get(name)
        if ref is None:
            return message.final_context.get(name, Raw(b"null"))
        return Raw(await self._at.archive.payload(message.execution_id, ref.hash) or b"null")

    async def _orphan(self, parent: str) -> None:
        run = await self._at.archive.run(parent)
        if run is None or run.ended_ms is None:
            return
        after = ""
        while page := await self._at.links.children(parent, after=after, limit=CHILDREN_PAGE):
            after = page[-1].child_id
            for link in page:
                child = await self._at.archive.run(link.child_id) if link.waits else None
                if child is not None and child.ended_ms is None:
                    await self._at.cancel(child, f"run {parent}, which waited for it, has ended")


def child_id(by: Token) -> str:
    """Return the id of the run that a token starts."""
    return f"run_{derive(by.execution_id, by.token_id, 'child')}"


def address(child: str) -> str:
    """Return where the end of a child meets its parent."""
    return f"run:{child}"


def _error(message: CompletionMessage) -> NodeError:
    error = message.error
    what = f": {error.message}" if error is not None else ""
    details: dict[str, Any] = {"execution_id": message.execution_id, "status": message.status}
    if error is not None:
        details["error"] = msgspec.to_builtins(error)
    if message.failed_node:
        details["node"] = message.failed_node
    return NodeError(
        f"run {message.execution_id} is {message.status}{what}", "CHILD_FAILED", details
    )


class StartsChildren(Protocol):
    """What starts the runs that nodes ask for."""

    async def start(
        self, by: Token, workflow_id: str, version: int | str | None, given: Any, *, waits: bool
    ) -> str:
        """Start the child of a token, or find it, and return its id."""
        ...


class ChildRunsOfToken:
    """Starting runs, as a node sees it."""

    def __init__(self, nursery: StartsChildren, token: Token) -> None:
        self._nursery = nursery
        self._token = token

    async def start(
        self, workflow_id: str, version: int | str | None, given: Any, *, waits: bool
    ) -> str:
        """Start a run; OutsideError if it cannot be."""
        return await self._nursery.start(self._token, workflow_id, version, given, waits=waits)


_conforms: type[StartsChildren] = ChildRuns

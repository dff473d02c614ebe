"""The same client for programs without an event loop: each method waits for its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from weft.api.client.aio import PATIENCE_S, AsyncEngine, Definition
from weft.api.client.failures import UnreachableError
from weft.api.client.portal import Portal
from weft.api.client.run import AsyncRun
from weft.api.client.values import (
    Data,
    Difference,
    Event,
    Examined,
    Explanation,
    Imported,
    ItemInfo,
    LogLine,
    NodeInfo,
    RunInfo,
    Version,
    VisitInfo,
    Workflow,
)


class Engine:
    """An engine and everything in it. Use it as a context manager, or `open` and `close`.

    `Engine.embedded(path)` runs workflows in this process, `Engine.connect(url)` asks a server;
    every method does the same on both. `aio` is the engine for coroutines.
    """

    def __init__(self, make: Callable[[], AsyncEngine]) -> None:
        self._make = make
        self._portal: Portal | None = None
        self._inner = make()

    @classmethod
    def embedded(cls, path: str | Path = ".weft/weft.db", **settings: Any) -> Self:
        """Return an engine in this process; `AsyncEngine.embedded` names the settings."""
        return cls(lambda: AsyncEngine.embedded(path, **settings))

    @classmethod
    def connect(cls, url: str, token: str | None = None, *, timeout_s: float = PATIENCE_S) -> Self:
        """Return the engine that a server at `url` stands for."""
        return cls(lambda: AsyncEngine.connect(url, token, timeout_s=timeout_s))

    @property
    def aio(self) -> AsyncEngine:
        """Return the same engine for coroutines; it is opened and closed by itself."""
        return self._make()

    def open(self) -> Self:
        """Connect, or start the engine."""
        self._portal = Portal()
        self._inner = self._make()
        try:
            self._portal.call(self._inner.open())
        except BaseException:
            self._portal.close()
            raise
        return self

    def close(self) -> None:
        """Disconnect, or stop the engine at a commit."""
        if self._portal is not None:
            self._portal.quiet()
            self._portal.call(self._inner.close())
            self._portal.close()
            self._portal = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def portal(self) -> Portal:
        """Return where coroutines run; UnreachableError before `open` and after `close`."""
        if self._portal is None:
            raise UnreachableError("the engine is not open: use it in a `with` statement")
        return self._portal

    def call(self, method: str, path: str, **more: Any) -> Any:
        """Ask any route below /api/v1 and return the value it answers with."""
        return self.portal.call(self._inner.call(method, path, **more))

    # -- workflows ------------------------------------------------------------------------------

    def workflows(self, containing: str = "") -> Iterator[Workflow]:
        """Iterate over workflows by id."""
        return self.portal.iterate(self._inner.workflows(containing))

    def workflow(self, workflow_id: str) -> Workflow:
        """Return a workflow as it is now."""
        return self.portal.call(self._inner.workflow(workflow_id))

    def validate(self, definition: Definition) -> Examined:
        """Return every problem of a document; nothing is kept."""
        return self.portal.call(self._inner.validate(definition))

    def push(self, definition: Definition, *, note: str = "", publish: bool = True) -> Workflow:
        """Keep a document: a new workflow, or the next version of the one it names."""
        return self.portal.call(self._inner.push(definition, note=note, publish=publish))

    def publish(self, workflow_id: str, version: int | None = None) -> Workflow:
        """Let new runs use a version; None: the newest."""
        return self.portal.call(self._inner.publish(workflow_id, version))

    def rollback(self, workflow_id: str) -> Workflow:
        """Let new runs use the version before the published one."""
        return self.portal.call(self._inner.rollback(workflow_id))

    def enable(self, workflow_id: str) -> Workflow:
        """Allow new runs."""
        return self.portal.call(self._inner.enable(workflow_id))

    def disable(self, workflow_id: str) -> Workflow:
        """Allow no new runs."""
        return self.portal.call(self._inner.disable(workflow_id))

    def versions(self, workflow_id: str) -> Iterator[Version]:
        """Iterate over the versions of a workflow, newest first."""
        return self.portal.iterate(self._inner.versions(workflow_id))

    def definition(self, workflow_id: str, version: int | None = None) -> dict[str, Any]:
        """Return the document of a version; None: the published one, or else the newest."""
        return self.portal.call(self._inner.definition(workflow_id, version))

    def diff(self, workflow_id: str, before: int, after: int) -> list[Difference]:
        """Return every place at which two versions differ."""
        return self.portal.call(self._inner.diff(workflow_id, before, after))

    def export_workflows(self) -> list[dict[str, Any]]:
        """Return the document of every workflow."""
        return self.portal.call(self._inner.export_workflows())

    def import_workflows(self, documents: Sequence[Mapping[str, Any]]) -> Imported:
        """Create or publish each workflow; nothing is changed unless every document can run."""
        return self.portal.call(self._inner.import_workflows(documents))

    # -- runs -----------------------------------------------------------------------------------

    def start(
        self,
        workflow: Definition,
        input: Any = None,  # noqa: A002  (as the API calls it)
        *,
        version: int | None = None,
        key: str | None = None,
        execution_id: str | None = None,
    ) -> Run:
        """Start a run of a workflow, by its id, or of a document that is not kept as one."""
        starting = self._inner.start(
            workflow, input, version=version, key=key, execution_id=execution_id
        )
        return Run(self.portal, self.portal.call(starting))

    def run(self, execution_id: str) -> Run:
        """Return the handle of a run; nothing is asked yet."""
        return Run(self.portal, self._inner.run(execution_id))

    def runs(self, **filters: Any) -> Iterator[RunInfo]:
        """Iterate over runs, newest first; `AsyncEngine.runs` names the filters."""
        return self.portal.iterate(self._inner.runs(**filters))

    def events(
        self, *, workflow_id: str | None = None, runs: Sequence[str] = (), cursor: str | None = None
    ) -> Iterator[Event]:
        """Iterate over the events of many runs as they happen, without an end."""
        source = self._inner.events(workflow_id=workflow_id, runs=runs, cursor=cursor)
        return self.portal.iterate(source)

    # -- operations -----------------------------------------------------------------------------

    def server(self) -> dict[str, Any]:
        """Return what answers: its version, and `embedded` or `distributed`."""
        return self.portal.call(self._inner.server())

    def evaluate(self, template: Any, **given: Any) -> Any:
        """Return what a template comes to, with `input`, `variables` or an `execution_id`."""
        return self.portal.call(self._inner.evaluate(template, **given))

    def listed(self, what: str, **query: Any) -> list[dict[str, Any]]:
        """Return one of the short lists: `workers`, `queues`, `timers`, `quarantine` ..."""
        return self.portal.call(self._inner.listed(what, **query))

    def stats(self, since: str | None = None) -> dict[str, Any]:
        """Return how many runs of each workflow have each status."""
        return self.portal.call(self._inner.stats(since))


class Run:
    """One run of a workflow."""

    def __init__(self, portal: Portal, inner: AsyncRun) -> None:
        self._portal = portal
        self._inner = inner
        self.id = inner.id

    def __repr__(self) -> str:
        return repr(self._inner)

    def info(self) -> RunInfo:
        """Return the run as it is now, with its ending if it has one."""
        return self._portal.call(self._inner.info())

    def wait(self, timeout_s: float | None = None) -> RunInfo:
        """Return the run once it has ended; TimeoutError when that is late: it goes on."""
        return self._portal.call(self._inner.wait(timeout_s))

    def result(self, timeout_s: float | None = None) -> Any:
        """Return the output of the run once it is completed; RunFailedError if it is not."""
        return self._portal.call(self._inner.result(timeout_s))

    def events(self, after: int = 0) -> Iterator[Event]:
        """Iterate over the events above a number as they happen, until the run has ended."""
        return self._portal.iterate(self._inner.events(after))

    def cancel(self, reason: str = "") -> RunInfo:
        """End the run as cancelled; ConflictError when it has ended."""
        return self._portal.call(self._inner.cancel(reason))

    def explain(self) -> Explanation:
        """Return what the run waits for."""
        return self._portal.call(self._inner.explain())

    def definition(self) -> dict[str, Any]:
        """Return the document as it was when the run started."""
        return self._portal.call(self._inner.definition())

    def nodes(self) -> list[NodeInfo]:
        """Return every node with what its visits came to."""
        return self._portal.call(self._inner.nodes())

    def visits(self, **filters: Any) -> Iterator[VisitInfo]:
        """Iterate over what visits came to; `AsyncRun.visits` names the filters."""
        return self._portal.iterate(self._inner.visits(**filters))

    def items(self, split: str) -> Iterator[ItemInfo]:
        """Iterate over the items of a split."""
        return self._portal.iterate(self._inner.items(split))

    def logs(self, **filters: Any) -> Iterator[LogLine]:
        """Iterate over the lines that nodes wrote; `AsyncRun.logs` names the filters."""
        return self._portal.iterate(self._inner.logs(**filters))

    def context(self) -> dict[str, int]:
        """Return the names of the values that the run left, with their sizes."""
        return self._portal.call(self._inner.context())

    def data(self, entry: str | None = None, **which: Any) -> Data:
        """Return a value of the run, or as much of it as fits; `AsyncRun.data` says which."""
        return self._portal.call(self._inner.data(entry, **which))

    def value(self, entry: str | None = None, **which: Any) -> Any:
        """Return a whole value of the run, in as many answers as it takes."""
        return self._portal.call(self._inner.value(entry, **which))

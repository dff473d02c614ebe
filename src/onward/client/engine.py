"""The same client for programs without an event loop: each method waits for its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from onward.client.async_engine import PATIENCE_S, AsyncEngine, Definition
from onward.client.async_run import AsyncRun
from onward.client.errors import UnreachableError
from onward.client.loop_thread import Portal, iterating, waiting
from onward.client.values import (
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

    @property
    def inner(self) -> AsyncEngine:
        """Return the engine that does the work, in the portal."""
        return self._inner

    @classmethod
    def embedded(cls, path: str | Path = ".onward/onward.db", **settings: Any) -> Self:
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
            self._portal.close(self._inner.close())
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
        priority: int = 0,
        timeout_ms: int | None = None,
    ) -> Run:
        """Start a run of a workflow, by its id, or of a document that is not kept as one."""
        starting = self._inner.start(
            workflow,
            input,
            version=version,
            key=key,
            execution_id=execution_id,
            priority=priority,
            timeout_ms=timeout_ms,
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

    # -- many runs at once ----------------------------------------------------------------------

    cancel_runs = waiting(AsyncEngine.cancel_runs)
    pause_runs = waiting(AsyncEngine.pause_runs)
    resume_runs = waiting(AsyncEngine.resume_runs)
    retry_runs = waiting(AsyncEngine.retry_runs)

    # -- triggers -------------------------------------------------------------------------------

    triggers = iterating(AsyncEngine.triggers)
    trigger = waiting(AsyncEngine.trigger)
    add_trigger = waiting(AsyncEngine.add_trigger)
    change_trigger = waiting(AsyncEngine.change_trigger)
    remove_trigger = waiting(AsyncEngine.remove_trigger)
    enable_trigger = waiting(AsyncEngine.enable_trigger)
    disable_trigger = waiting(AsyncEngine.disable_trigger)
    rotate_trigger = waiting(AsyncEngine.rotate_trigger)
    fire_trigger = waiting(AsyncEngine.fire_trigger)
    backfill_trigger = waiting(AsyncEngine.backfill_trigger)
    next_times = waiting(AsyncEngine.next_times)
    preview_schedule = waiting(AsyncEngine.preview_schedule)
    firings = iterating(AsyncEngine.firings)

    # -- credentials, users, tokens, the audit log ----------------------------------------------

    credential_types = waiting(AsyncEngine.credential_types)
    credentials = iterating(AsyncEngine.credentials)
    credential = waiting(AsyncEngine.credential)
    add_credential = waiting(AsyncEngine.add_credential)
    change_credential = waiting(AsyncEngine.change_credential)
    remove_credential = waiting(AsyncEngine.remove_credential)
    test_credential = waiting(AsyncEngine.test_credential)
    credential_usage = waiting(AsyncEngine.credential_usage)
    rotate_credentials = waiting(AsyncEngine.rotate_credentials)
    me = waiting(AsyncEngine.me)
    users = waiting(AsyncEngine.users)
    user = waiting(AsyncEngine.user)
    add_user = waiting(AsyncEngine.add_user)
    change_user = waiting(AsyncEngine.change_user)
    remove_user = waiting(AsyncEngine.remove_user)
    tokens = iterating(AsyncEngine.tokens)
    token = waiting(AsyncEngine.token)
    create_token = waiting(AsyncEngine.create_token)
    revoke_token = waiting(AsyncEngine.revoke_token)
    audit = iterating(AsyncEngine.audit)

    # -- operations -----------------------------------------------------------------------------

    server = waiting(AsyncEngine.server)
    stats = waiting(AsyncEngine.stats)
    listed = waiting(AsyncEngine.listed)
    evaluate = waiting(AsyncEngine.evaluate)
    node_types = waiting(AsyncEngine.node_types)
    node_type = waiting(AsyncEngine.node_type)
    flow = waiting(AsyncEngine.flow)
    set_flow = waiting(AsyncEngine.set_flow)
    drop_flow = waiting(AsyncEngine.drop_flow)
    quarantined = waiting(AsyncEngine.quarantined)
    release_messages = waiting(AsyncEngine.release_messages)
    discard_messages = waiting(AsyncEngine.discard_messages)
    emit = waiting(AsyncEngine.emit)
    past_events = iterating(AsyncEngine.past_events)
    decide = waiting(AsyncEngine.decide)
    call_back = waiting(AsyncEngine.call_back)


class Run:
    """One run of a workflow."""

    def __init__(self, portal: Portal, inner: AsyncRun) -> None:
        self.portal = portal
        self.inner = inner
        self.id = inner.id

    def __repr__(self) -> str:
        return repr(self.inner)

    def info(self) -> RunInfo:
        """Return the run as it is now, with its ending if it has one."""
        return self.portal.call(self.inner.info())

    def wait(self, timeout_s: float | None = None) -> RunInfo:
        """Return the run once it has ended; TimeoutError when that is late: it goes on."""
        return self.portal.call(self.inner.wait(timeout_s))

    def result(self, timeout_s: float | None = None) -> Any:
        """Return the output of the run once it is completed; RunFailedError if it is not."""
        return self.portal.call(self.inner.result(timeout_s))

    def events(self, after: int = 0) -> Iterator[Event]:
        """Iterate over the events above a number as they happen, until the run has ended."""
        return self.portal.iterate(self.inner.events(after))

    def cancel(self, reason: str = "") -> RunInfo:
        """End the run as cancelled; ConflictError when it has ended."""
        return self.portal.call(self.inner.cancel(reason))

    pause = waiting(AsyncRun.pause)
    resume = waiting(AsyncRun.resume)
    adjust = waiting(AsyncRun.adjust)
    signal = waiting(AsyncRun.signal)
    signals = iterating(AsyncRun.signals)
    waits = waiting(AsyncRun.waits)
    family = waiting(AsyncRun.family)

    def retry(self, **what: Any) -> Run:
        """Start a new run that keeps what succeeded; `AsyncRun.retry` says what to try again."""
        return Run(self.portal, self.portal.call(self.inner.retry(**what)))

    def explain(self) -> Explanation:
        """Return what the run waits for."""
        return self.portal.call(self.inner.explain())

    def definition(self) -> dict[str, Any]:
        """Return the document as it was when the run started."""
        return self.portal.call(self.inner.definition())

    def nodes(self) -> list[NodeInfo]:
        """Return every node with what its visits came to."""
        return self.portal.call(self.inner.nodes())

    def visits(self, **filters: Any) -> Iterator[VisitInfo]:
        """Iterate over what visits came to; `AsyncRun.visits` names the filters."""
        return self.portal.iterate(self.inner.visits(**filters))

    def items(self, split: str) -> Iterator[ItemInfo]:
        """Iterate over the items of a split."""
        return self.portal.iterate(self.inner.items(split))

    def logs(self, **filters: Any) -> Iterator[LogLine]:
        """Iterate over the lines that nodes wrote; `AsyncRun.logs` names the filters."""
        return self.portal.iterate(self.inner.logs(**filters))

    def context(self) -> dict[str, int]:
        """Return the names of the values that the run left, with their sizes."""
        return self.portal.call(self.inner.context())

    def data(self, entry: str | None = None, **which: Any) -> Data:
        """Return a value of the run, or as much of it as fits; `AsyncRun.data` says which."""
        return self.portal.call(self.inner.data(entry, **which))

    def value(self, entry: str | None = None, **which: Any) -> Any:
        """Return a whole value of the run, in as many answers as it takes."""
        return self.portal.call(self.inner.value(entry, **which))

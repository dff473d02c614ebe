"""The same client for programs without an event loop: each method waits for its answer.

Every method is made from the one for coroutines, with its parameters and its docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self

from onward.client.async_engine import PATIENCE_S, AsyncEngine
from onward.client.async_run import AsyncRun
from onward.client.errors import UnreachableError
from onward.client.loop_thread import Mirror, Portal, mirror_call, mirror_iterator

P = ParamSpec("P")


def mirror_start(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, AsyncRun]],
) -> Callable[Concatenate[Mirror, P], Run]:
    """Return a method that waits for the run that `method` of `inner` starts."""

    def start(self: Mirror, /, *given: P.args, **more: P.kwargs) -> Run:
        return Run(self.portal, self.portal.call(method(self.inner, *given, **more)))

    update_wrapper(start, method)
    return start


class Run:
    """One run of a workflow."""

    def __init__(self, portal: Portal, inner: AsyncRun) -> None:
        self.portal = portal
        self.inner = inner
        self.id = inner.id

    def __repr__(self) -> str:
        return repr(self.inner)

    info = mirror_call(AsyncRun.info)
    wait = mirror_call(AsyncRun.wait)
    result = mirror_call(AsyncRun.result)
    events = mirror_iterator(AsyncRun.events)
    cancel = mirror_call(AsyncRun.cancel)
    pause = mirror_call(AsyncRun.pause)
    resume = mirror_call(AsyncRun.resume)
    adjust = mirror_call(AsyncRun.adjust)
    signal = mirror_call(AsyncRun.signal)
    signals = mirror_iterator(AsyncRun.signals)
    waits = mirror_call(AsyncRun.waits)
    family = mirror_call(AsyncRun.family)
    explain = mirror_call(AsyncRun.explain)
    definition = mirror_call(AsyncRun.definition)
    nodes = mirror_call(AsyncRun.nodes)
    visits = mirror_iterator(AsyncRun.visits)
    items = mirror_iterator(AsyncRun.items)
    logs = mirror_iterator(AsyncRun.logs)
    context = mirror_call(AsyncRun.context)
    data = mirror_call(AsyncRun.data)
    value = mirror_call(AsyncRun.value)
    retry = mirror_start(AsyncRun.retry)


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

    call = mirror_call(AsyncEngine.call)

    # -- workflows ------------------------------------------------------------------------------

    workflows = mirror_iterator(AsyncEngine.workflows)
    workflow = mirror_call(AsyncEngine.workflow)
    validate = mirror_call(AsyncEngine.validate)
    push = mirror_call(AsyncEngine.push)
    publish = mirror_call(AsyncEngine.publish)
    rollback = mirror_call(AsyncEngine.rollback)
    enable = mirror_call(AsyncEngine.enable)
    disable = mirror_call(AsyncEngine.disable)
    versions = mirror_iterator(AsyncEngine.versions)
    definition = mirror_call(AsyncEngine.definition)
    diff = mirror_call(AsyncEngine.diff)
    export_workflows = mirror_call(AsyncEngine.export_workflows)
    import_workflows = mirror_call(AsyncEngine.import_workflows)

    # -- runs -----------------------------------------------------------------------------------

    start = mirror_start(AsyncEngine.start)
    runs = mirror_iterator(AsyncEngine.runs)
    events = mirror_iterator(AsyncEngine.events)

    def run(self, execution_id: str) -> Run:
        """Return the handle of a run; nothing is asked yet."""
        return Run(self.portal, self._inner.run(execution_id))

    # -- many runs at once ----------------------------------------------------------------------

    cancel_runs = mirror_call(AsyncEngine.cancel_runs)
    pause_runs = mirror_call(AsyncEngine.pause_runs)
    resume_runs = mirror_call(AsyncEngine.resume_runs)
    retry_runs = mirror_call(AsyncEngine.retry_runs)

    # -- triggers -------------------------------------------------------------------------------

    triggers = mirror_iterator(AsyncEngine.triggers)
    trigger = mirror_call(AsyncEngine.trigger)
    add_trigger = mirror_call(AsyncEngine.add_trigger)
    change_trigger = mirror_call(AsyncEngine.change_trigger)
    remove_trigger = mirror_call(AsyncEngine.remove_trigger)
    enable_trigger = mirror_call(AsyncEngine.enable_trigger)
    disable_trigger = mirror_call(AsyncEngine.disable_trigger)
    rotate_trigger = mirror_call(AsyncEngine.rotate_trigger)
    fire_trigger = mirror_call(AsyncEngine.fire_trigger)
    backfill_trigger = mirror_call(AsyncEngine.backfill_trigger)
    next_times = mirror_call(AsyncEngine.next_times)
    preview_schedule = mirror_call(AsyncEngine.preview_schedule)
    firings = mirror_iterator(AsyncEngine.firings)

    # -- credentials, users, tokens, the audit log ----------------------------------------------

    credential_types = mirror_call(AsyncEngine.credential_types)
    credentials = mirror_iterator(AsyncEngine.credentials)
    credential = mirror_call(AsyncEngine.credential)
    add_credential = mirror_call(AsyncEngine.add_credential)
    change_credential = mirror_call(AsyncEngine.change_credential)
    remove_credential = mirror_call(AsyncEngine.remove_credential)
    test_credential = mirror_call(AsyncEngine.test_credential)
    credential_usage = mirror_call(AsyncEngine.credential_usage)
    rotate_credentials = mirror_call(AsyncEngine.rotate_credentials)
    me = mirror_call(AsyncEngine.me)
    users = mirror_call(AsyncEngine.users)
    user = mirror_call(AsyncEngine.user)
    add_user = mirror_call(AsyncEngine.add_user)
    change_user = mirror_call(AsyncEngine.change_user)
    remove_user = mirror_call(AsyncEngine.remove_user)
    tokens = mirror_iterator(AsyncEngine.tokens)
    token = mirror_call(AsyncEngine.token)
    create_token = mirror_call(AsyncEngine.create_token)
    revoke_token = mirror_call(AsyncEngine.revoke_token)
    audit = mirror_iterator(AsyncEngine.audit)

    # -- operations -----------------------------------------------------------------------------

    server = mirror_call(AsyncEngine.server)
    stats = mirror_call(AsyncEngine.stats)
    listed = mirror_call(AsyncEngine.listed)
    evaluate = mirror_call(AsyncEngine.evaluate)
    node_types = mirror_call(AsyncEngine.node_types)
    node_type = mirror_call(AsyncEngine.node_type)
    flow = mirror_call(AsyncEngine.flow)
    set_flow = mirror_call(AsyncEngine.set_flow)
    drop_flow = mirror_call(AsyncEngine.drop_flow)
    quarantined = mirror_call(AsyncEngine.quarantined)
    release_messages = mirror_call(AsyncEngine.release_messages)
    discard_messages = mirror_call(AsyncEngine.discard_messages)
    emit = mirror_call(AsyncEngine.emit)
    past_events = mirror_iterator(AsyncEngine.past_events)
    decide = mirror_call(AsyncEngine.decide)
    call_back = mirror_call(AsyncEngine.call_back)

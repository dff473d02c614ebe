"""Routes of run control: cancel, pause, resume, retry, adjust a split; also for many runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
from msgspec import Meta, Raw

from onward.api.routing.lookups import known_run
from onward.api.routing.parameters import FARTHEST, RunId, read_item, read_moment
from onward.api.routing.refusals import RequestRefusedError, invalid_request, refusal_of
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.runs.run_views import run_view
from onward.api.runs.views import (
    AdjustedView,
    AdjustGiven,
    AttemptView,
    BulkCancelGiven,
    BulkGiven,
    BulkRetryGiven,
    BulkView,
    CancelGiven,
    DoneView,
    RetryGiven,
    RunFilter,
    RunView,
)
from onward.errors import NotThereError, OnwardError, StateConflictError
from onward.kernel.json import encode
from onward.kernel.records import RunRecord
from onward.ports.storage.run_queries import RunQuery
from onward.runtime.backend import Backend
from onward.runtime.control.retry import RetryRequest, RunRetry, StartedAttempt
from onward.runtime.run_control import SplitChange
from onward.runtime.security.audit import note

Act = Callable[[RunRecord], Awaitable[str | None]]


def control_routes(backend: Backend) -> Routes:
    """Return the routes of run control."""
    routes = Routes(tags=["control"])
    actions = RunActions(backend)
    _add_single(routes, backend, actions)
    _add_retry(routes, backend, actions)
    _add_bulk(routes, backend, actions)
    return routes


class RunActions:
    """Controls one run, or raises why that cannot be done."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._run_retry = RunRetry(backend)

    async def cancel(self, run: RunRecord, reason: str) -> None:
        """End a run."""
        await self._do(run, lambda run: self._backend.steering.cancel(run, reason))

    async def pause(self, run: RunRecord) -> None:
        """Let no node of a run begin."""
        await self._do(run, self._backend.steering.pause)

    async def resume(self, run: RunRecord) -> None:
        """Let a paused run continue."""
        await self._do(run, self._backend.steering.resume)

    async def retry(self, run: RunRecord, given: RetryGiven) -> StartedAttempt:
        """Start a new attempt at a run."""
        wanted = RetryRequest(
            from_nodes=frozenset(given.from_nodes),
            item=read_item(given.item),
            split=given.split or "",
            everything=given.everything,
            latest=given.latest,
            given=None if given.input is None else Raw(encode(given.input)),
        )
        name = given.execution_id or self._backend.chance.execution_id(self._backend.clock.now_ms())
        attempt = await self._run_retry.retry(run, wanted, name)
        note(f"run {attempt.execution_id}", None, {"retry_of": run.execution_id})
        return attempt

    async def _do(self, run: RunRecord, act: Callable[[RunRecord], Awaitable[bool]]) -> None:
        if run.status == "parked" and act in (
            self._backend.steering.pause,
            self._backend.steering.resume,
        ):
            raise StateConflictError(
                f"run {run.execution_id} is parked: it has not begun", "RUN_PARKED"
            )
        if run.ended_ms is None and await act(run):
            note(f"run {run.execution_id}")
            return
        run = await known_run(self._backend, run.execution_id)
        raise _ended(run)


def _ended(run: RunRecord) -> StateConflictError:
    return StateConflictError(
        f"run {run.execution_id} has ended already: it is {run.status}", "RUN_ENDED"
    )


def _add_single(routes: Routes, backend: Backend, actions: RunActions) -> None:
    async def view(execution_id: str) -> RunView:
        return await run_view(backend, await known_run(backend, execution_id))

    @routes.post("/runs/{execution_id}:cancel", status=202, summary="Cancel a run", tags=["runs"])
    async def cancel_run(execution_id: RunId, given: CancelGiven) -> RunView:
        """End a run now. Its tokens are dropped; whatever a running node comes to has no effect."""
        run = await known_run(backend, execution_id)
        if run.ended_ms is not None or not await backend.cancel(run, given.reason):
            run = await known_run(backend, execution_id)
            if run.ended_ms is not None:
                raise _ended(run)
        return await view(execution_id)

    @routes.post("/runs/{execution_id}:pause", status=202, summary="Pause a run")
    async def pause_run(execution_id: RunId) -> RunView:
        """Let no node of a run begin until it is resumed. Those that run finish."""
        await actions.pause(await known_run(backend, execution_id))
        return await view(execution_id)

    @routes.post("/runs/{execution_id}:resume", status=202, summary="Resume a run")
    async def resume_run(execution_id: RunId) -> RunView:
        """Let a paused run go on. To resume one that is not paused changes nothing."""
        await actions.resume(await known_run(backend, execution_id))
        return await view(execution_id)

    @routes.post("/runs/{execution_id}/splits/{split}:adjust", summary="Change a running split")
    async def adjust_split(
        execution_id: RunId,
        split: Annotated[str, Meta(max_length=1024, description="The split node.")],
        given: AdjustGiven,
    ) -> AdjustedView:
        """Change how many items may be in flight, and how many may fail.

        The next item that is done counts by the new numbers; what is in flight stays.
        """
        change = _change(split, given)
        run = await known_run(backend, execution_id)
        changed = 0 if run.ended_ms is not None else await backend.steering.adjust(run, change)
        if not changed:
            raise NotThereError(f"no run of split {split[:80]!r} waits for items in {execution_id}")
        note(f"run {execution_id}", None, {"split": split})
        return AdjustedView(split=split, changed=changed)


def _change(split: str, given: AdjustGiven) -> SplitChange:
    if given.any_failures and given.tolerated_failures is not None:
        raise invalid_request("give tolerated_failures or any_failures, and not both")
    numbers = (given.max_concurrency, given.tolerated_failures)
    if numbers == (None, None) and not given.any_failures:
        raise invalid_request(
            "give max_concurrency, tolerated_failures or any_failures: nothing would change"
        )
    return SplitChange(
        split=split,
        item=read_item(given.item),
        window=given.max_concurrency,
        budget=given.tolerated_failures,
        unlimited=given.any_failures,
    )


def _add_retry(routes: Routes, backend: Backend, actions: RunActions) -> None:
    @routes.post(
        "/runs/{execution_id}:retry",
        status=201,
        summary="Try a run again",
        view=AttemptView,
    )
    async def retry_run(execution_id: RunId, given: RetryGiven) -> Reply:
        """Start a new run that keeps what succeeded, linked to this one by `retry_of`.

        What failed is executed again, and everything that follows from it.
        """
        run = await known_run(backend, execution_id)
        attempt = await actions.retry(run, given)
        view = AttemptView(
            execution_id=attempt.execution_id,
            retry_of=execution_id,
            kept=attempt.kept,
            repeated=attempt.repeated,
        )
        return json_reply(view, headers={"location": f"/api/v1/runs/{attempt.execution_id}"})


def _add_bulk(routes: Routes, backend: Backend, actions: RunActions) -> None:
    bulk = _Bulk(backend)

    @routes.post("/runs:cancel", summary="Cancel many runs")
    async def cancel_runs(given: BulkCancelGiven) -> BulkView:
        """Cancel every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> None:
            await actions.cancel(run, given.reason)

        return await bulk.do(given, ("running",), act)

    @routes.post("/runs:pause", summary="Pause many runs")
    async def pause_runs(given: BulkGiven) -> BulkView:
        """Pause every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> None:
            await actions.pause(run)

        return await bulk.do(given, ("running",), act)

    @routes.post("/runs:resume", summary="Resume many runs")
    async def resume_runs(given: BulkGiven) -> BulkView:
        """Resume every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> None:
            await actions.resume(run)

        return await bulk.do(given, ("running",), act)

    @routes.post("/runs:retry", summary="Try many runs again")
    async def retry_runs(given: BulkRetryGiven) -> BulkView:
        """Try again what failed of every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> str:
            return (await actions.retry(run, RetryGiven(latest=given.latest))).execution_id

        return await bulk.do(given, ("failed", "halted", "cancelled"), act)


class _Bulk:
    """Does the same to many runs, one after the other."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def do(self, given: BulkGiven, usual: tuple[str, ...], act: Act) -> BulkView:
        """Do something to every run that matches; without a status only to `usual` ones."""
        runs, more = await self._chosen(given, usual)
        items = [await self._one(run, act) for run in runs]
        done = sum(item.done for item in items)
        return BulkView(items=items, done=done, refused=len(items) - done, more=more)

    async def _one(self, run: RunRecord | str, act: Act) -> DoneView:
        name = run if isinstance(run, str) else run.execution_id
        try:
            found = await known_run(self._backend, run) if isinstance(run, str) else run
            return DoneView(execution_id=name, done=True, attempt=await act(found))
        except (OnwardError, RequestRefusedError) as problem:
            refused = refusal_of(problem)
            if refused.status >= 500:
                raise
            return DoneView(execution_id=name, done=False, code=refused.code, detail=refused.detail)

    async def _chosen(
        self, given: BulkGiven, usual: tuple[str, ...]
    ) -> tuple[list[RunRecord | str], bool]:
        wanted = given.filter
        _check(wanted)
        if wanted.execution_ids:
            names = list(dict.fromkeys(wanted.execution_ids))
            return list(names[: given.limit]), len(names) > given.limit
        found = await self._backend.archive.runs(
            RunQuery(
                limit=given.limit + 1,
                workflow_id=wanted.workflow_id or "",
                statuses=tuple(wanted.status) or usual,
                containing=wanted.q,
                from_ms=read_moment("started_after", wanted.started_after, 0),
                until_ms=read_moment("started_before", wanted.started_before, FARTHEST),
                before=(FARTHEST, ""),
            )
        )
        names = [run.execution_id for run in found[: given.limit]]
        return list(names), len(found) > given.limit


def _check(wanted: RunFilter) -> None:
    others = msgspec.structs.replace(wanted, execution_ids=[])
    if bool(wanted.execution_ids) == (others != RunFilter()):
        raise invalid_request(
            "filter: give execution_ids, or at least one of the others, and not both"
        )

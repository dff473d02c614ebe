"""Routes that steer runs: pause, resume, retry, change a split, and each of them for many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Path, Response
from msgspec import Raw

from onward.api.http.json_route import StrictRoute, json_response
from onward.api.http.lookups import known_run
from onward.api.http.parameters import read_item, read_moment
from onward.api.http.problems import RequestRefusedError, refusal_of
from onward.api.runs.routes import FARTHEST, Run
from onward.api.runs.run_views import run_view
from onward.api.runs.views import (
    AdjustedView,
    AdjustGiven,
    AttemptView,
    BulkCancelGiven,
    BulkGiven,
    BulkRetryGiven,
    BulkView,
    DoneView,
    RetryGiven,
    RunFilter,
)
from onward.api.views import RunView
from onward.errors import NotThereError, OnwardError, StateConflictError
from onward.kernel.json import encode
from onward.kernel.records import RunRecord
from onward.ports.storage.run_queries import RunQuery
from onward.runtime.backend import Backend
from onward.runtime.control.retry import RetryRequest, RunRetry, StartedAttempt
from onward.runtime.run_control import SplitChange
from onward.runtime.security.audit import note

Act = Callable[[RunRecord], Awaitable[str | None]]


def control_routes(backend: Backend) -> APIRouter:
    """Return the routes that steer runs."""
    routes = APIRouter(tags=["control"], route_class=StrictRoute)
    steerer = Steerer(backend)
    _add_single(routes, backend, steerer)
    _add_retry(routes, backend, steerer)
    _add_bulk(routes, backend, steerer)
    return routes


class Steerer:
    """Does to one run what was asked, or raises why not."""

    def __init__(self, backend: Backend) -> None:
        self._at = backend
        self._retrying = RunRetry(backend)

    async def cancel(self, run: RunRecord, reason: str) -> None:
        """End a run."""
        await self._do(run, lambda run: self._at.steering.cancel(run, reason))

    async def pause(self, run: RunRecord) -> None:
        """Let no node of a run begin."""
        await self._do(run, self._at.steering.pause)

    async def resume(self, run: RunRecord) -> None:
        """Let a run go on."""
        await self._do(run, self._at.steering.resume)

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
        name = given.execution_id or self._at.chance.execution_id(self._at.clock.now_ms())
        attempt = await self._retrying.retry(run, wanted, name)
        note(f"run {attempt.execution_id}", None, {"retry_of": run.execution_id})
        return attempt

    async def _do(self, run: RunRecord, act: Callable[[RunRecord], Awaitable[bool]]) -> None:
        if run.status == "parked" and act in (self._at.steering.pause, self._at.steering.resume):
            raise StateConflictError(
                f"run {run.execution_id} is parked: it has not begun", "RUN_PARKED"
            )
        if run.ended_ms is None and await act(run):
            note(f"run {run.execution_id}")
            return
        run = await known_run(self._at, run.execution_id)
        raise StateConflictError(
            f"run {run.execution_id} has ended already: it is {run.status}", "RUN_ENDED"
        )


def _add_single(routes: APIRouter, backend: Backend, steerer: Steerer) -> None:
    async def view(execution_id: str) -> RunView:
        return await run_view(backend, await known_run(backend, execution_id))

    @routes.post("/runs/{execution_id}:pause", status_code=202, summary="Pause a run")
    async def pause_run(execution_id: Run) -> RunView:
        """Let no node of a run begin until it is resumed. Those that run finish."""
        await steerer.pause(await known_run(backend, execution_id))
        return await view(execution_id)

    @routes.post("/runs/{execution_id}:resume", status_code=202, summary="Resume a run")
    async def resume_run(execution_id: Run) -> RunView:
        """Let a paused run go on. To resume one that is not paused changes nothing."""
        await steerer.resume(await known_run(backend, execution_id))
        return await view(execution_id)

    @routes.post("/runs/{execution_id}/splits/{split}:adjust", summary="Change a running split")
    async def adjust_split(
        execution_id: Run,
        split: Annotated[str, Path(max_length=1024, description="The split node.")],
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
        raise RequestRefusedError(
            422, "INVALID_REQUEST", "give tolerated_failures or any_failures, and not both"
        )
    numbers = (given.max_concurrency, given.tolerated_failures)
    if numbers == (None, None) and not given.any_failures:
        raise RequestRefusedError(
            422,
            "INVALID_REQUEST",
            "give max_concurrency, tolerated_failures or any_failures: nothing would change",
        )
    return SplitChange(
        split=split,
        item=read_item(given.item),
        window=given.max_concurrency,
        budget=given.tolerated_failures,
        unlimited=given.any_failures,
    )


def _add_retry(routes: APIRouter, backend: Backend, steerer: Steerer) -> None:
    @routes.post(
        "/runs/{execution_id}:retry",
        status_code=201,
        summary="Try a run again",
        response_model=AttemptView,
    )
    async def retry_run(execution_id: Run, given: RetryGiven) -> Response:
        """Start a new run that keeps what succeeded, linked to this one by `retry_of`.

        What failed is executed again, and everything that follows from it.
        """
        run = await known_run(backend, execution_id)
        attempt = await steerer.retry(run, given)
        view = AttemptView(
            execution_id=attempt.execution_id,
            retry_of=execution_id,
            kept=attempt.kept,
            repeated=attempt.repeated,
        )
        return json_response(view, 201, {"location": f"/api/v1/runs/{attempt.execution_id}"})


def _add_bulk(routes: APIRouter, backend: Backend, steerer: Steerer) -> None:
    bulk = _Bulk(backend)

    @routes.post("/runs:cancel", summary="Cancel many runs")
    async def cancel_runs(given: BulkCancelGiven) -> BulkView:
        """Cancel every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> None:
            await steerer.cancel(run, given.reason)

        return await bulk.do(given, ("running",), act)

    @routes.post("/runs:pause", summary="Pause many runs")
    async def pause_runs(given: BulkGiven) -> BulkView:
        """Pause every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> None:
            await steerer.pause(run)

        return await bulk.do(given, ("running",), act)

    @routes.post("/runs:resume", summary="Resume many runs")
    async def resume_runs(given: BulkGiven) -> BulkView:
        """Resume every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> None:
            await steerer.resume(run)

        return await bulk.do(given, ("running",), act)

    @routes.post("/runs:retry", summary="Try many runs again")
    async def retry_runs(given: BulkRetryGiven) -> BulkView:
        """Try again what failed of every run that matches, and say what was done to each."""

        async def act(run: RunRecord) -> str:
            return (await steerer.retry(run, RetryGiven(latest=given.latest))).execution_id

        return await bulk.do(given, ("failed", "halted", "cancelled"), act)


class _Bulk:
    """Does the same to many runs, one after the other."""

    def __init__(self, backend: Backend) -> None:
        self._at = backend

    async def do(self, given: BulkGiven, usual: tuple[str, ...], act: Act) -> BulkView:
        """Do something to every run that matches; without a status only to `usual` ones."""
        runs, more = await self._chosen(given, usual)
        items = [await self._one(run, act) for run in runs]
        done = sum(item.done for item in items)
        return BulkView(items=items, done=done, refused=len(items) - done, more=more)

    async def _one(self, run: RunRecord | str, act: Act) -> DoneView:
        name = run if isinstance(run, str) else run.execution_id
        try:
            found = await known_run(self._at, run) if isinstance(run, str) else run
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
        found = await self._at.archive.runs(
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
        names = [one.execution_id for one in found[: given.limit]]
        return list(names), len(found) > given.limit


def _check(wanted: RunFilter) -> None:
    rest = wanted.model_dump(exclude={"execution_ids"}, exclude_defaults=True)
    if bool(wanted.execution_ids) == bool(rest):
        raise RequestRefusedError(
            422,
            "INVALID_REQUEST",
            "filter: give execution_ids, or at least one of the others, and not both",
        )

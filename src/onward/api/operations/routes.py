"""Routes for operators: timers, queues, workers, numbers, health."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from onward import __version__
from onward.api.operations.views import (
    CountView,
    QueueView,
    ServerView,
    StatsView,
    TimerView,
    WellView,
    WorkerView,
)
from onward.api.routing.parameters import Limit, read_moment
from onward.api.routing.routes import Routes
from onward.api.views import Page
from onward.kernel.timestamps import to_iso
from onward.runtime.backend import Backend

DAY_MS = 24 * 60 * 60 * 1000


def operation_routes(backend: Backend) -> Routes:
    """Return the routes of operations."""
    routes = Routes(tags=["operations"])
    _add_numbers(routes, backend)
    _add_lists(routes, backend)
    return routes


def _add_lists(routes: Routes, backend: Backend) -> None:
    @routes.get("/server", summary="Say what answers here")
    async def get_server() -> ServerView:
        """The version, and how this server runs workflows."""
        return ServerView(name="onward", version=__version__, mode=backend.kind)

    @routes.get("/timers", summary="List timers")
    async def list_timers(limit: Limit = 50) -> Page[TimerView]:
        """The timers that are due first."""
        views = [
            TimerView(
                execution_id=timer.execution_id,
                timer_id=timer.timer_id,
                due_at=to_iso(timer.due_ms),
            )
            for timer in await backend.timers(limit)
        ]
        return Page[TimerView](items=views, next_cursor=None)

    @routes.get("/queues", summary="List queues")
    async def list_queues() -> Page[QueueView]:
        """Every queue, and how many messages wait in it."""
        views = [
            QueueView(name=queue.name, messages=queue.messages) for queue in await backend.queues()
        ]
        return Page[QueueView](items=views, next_cursor=None)

    @routes.get("/workers", summary="List workers")
    async def list_workers() -> Page[WorkerView]:
        """Everyone who executes nodes, and when each was last heard of."""
        views = [
            WorkerView(
                name=worker.name,
                host=worker.host,
                pid=worker.pid,
                version=worker.version,
                slots=worker.slots,
                started_at=to_iso(worker.started_ms),
                seen_at=to_iso(worker.seen_ms),
            )
            for worker in await backend.workers()
        ]
        return Page[WorkerView](items=views, next_cursor=None)


def _add_numbers(routes: Routes, backend: Backend) -> None:
    @routes.get("/stats", summary="Count runs")
    async def get_stats(
        since: Annotated[str | None, Meta(description="RFC 3339.  Default: a day ago.")] = None,
    ) -> StatsView:
        """How many runs of each workflow have each status."""
        since_ms = read_moment("since", since, backend.clock.now_ms() - DAY_MS)
        counts = await backend.archive.counts(since_ms)
        return StatsView(
            since=to_iso(since_ms),
            runs=[
                CountView(workflow_id=workflow, status=status, runs=many)
                for (workflow, status), many in sorted(counts.items())
            ],
            streams=backend.feed.followers,
        )


def health_routes(backend: Backend) -> Routes:
    """Return what a supervisor asks, outside of the versioned API."""
    routes = Routes(tags=["health"])

    @routes.get("/livez", summary="Is it alive?")
    async def live() -> WellView:
        """The process answers."""
        return WellView(status="ok")

    @routes.get("/readyz", summary="Can it serve?")
    async def ready() -> WellView:
        """The store answers; 503 with the reason when it does not."""
        await backend.check()
        return WellView(status="ok")

    return routes

"""The route of the log lines that nodes wrote."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from onward.api.routing.lookups import known_run
from onward.api.routing.parameters import FARTHEST, Cursor, Limit, RunId, read_cursor, write_cursor
from onward.api.routing.refusals import invalid_parameter
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.runs.views import LineView
from onward.api.views import Page
from onward.kernel.lineage import describe
from onward.kernel.log_lines import LogLineRecord, read_lines
from onward.kernel.timestamps import to_iso
from onward.ports.storage.run_queries import StoredLines
from onward.runtime.backend import Backend

LEVELS = ("debug", "info", "warning", "error")


def log_routes(backend: Backend) -> Routes:
    """Return the routes of logs."""
    routes = Routes(prefix="/runs", tags=["runs"])

    @routes.get("/{execution_id}/logs", summary="List log lines of a run", view=Page[LineView])
    async def list_logs(
        execution_id: RunId,
        node_id: Annotated[str, Meta(max_length=1024, description="Of this node.")] = "",
        level: Annotated[str, Meta(description="At least this: debug, info, warning, error.")] = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Reply:
        """What nodes wrote, in the order their visits were recorded; 100 lines of a visit."""
        await known_run(backend, execution_id)
        least = _least(level)
        place, skip = read_cursor(cursor, tuple[int, int]) or (0, 0)
        views: list[LineView] = []
        after = min(max(place - 1, 0), FARTHEST)
        while True:
            rows = await backend.archive.lines(
                execution_id, node_id=node_id, after=max(after, 0), limit=limit
            )
            for row in rows:
                for number, line in enumerate(read_lines(row.lines)):
                    if number < skip or _rank(line.level) < least:
                        continue
                    if len(views) == limit:
                        more = write_cursor(row.place, number)
                        return json_reply(Page[LineView](items=views, next_cursor=more))
                    views.append(_view(row, line))
                skip, after = 0, row.place
            if len(rows) < limit:
                return json_reply(Page[LineView](items=views, next_cursor=None))

    return routes


def _view(row: StoredLines, line: LogLineRecord) -> LineView:
    return LineView(
        at=to_iso(line.at_ms),
        level=line.level,
        message=line.message,
        node_id=row.node_id,
        item=describe(row.lineage),
        attempt=row.attempt,
        fields=line.fields,
    )


def _rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _least(level: str) -> int:
    if level and level not in LEVELS:
        raise invalid_parameter("level", f"give one of {', '.join(LEVELS)}")
    return LEVELS.index(level) if level else 0

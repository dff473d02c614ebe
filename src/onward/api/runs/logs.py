"""Routes of what nodes wrote to the log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from onward.api.http.json_route import StrictRoute, json_response, read_cursor, write_cursor
from onward.api.http.lookups import known_run
from onward.api.http.parameters import Cursor, Limit
from onward.api.http.problems import RequestRefusedError
from onward.api.runs.routes import FARTHEST, Run
from onward.api.views import Page, Place
from onward.kernel.lineage import describe
from onward.kernel.log_lines import LogLineRecord, read_lines
from onward.kernel.timestamps import to_iso
from onward.ports.storage.run_queries import StoredLines
from onward.runtime.backend import Backend

LEVELS = ("debug", "info", "warning", "error")


class LineView(BaseModel):
    """A line that a node wrote."""

    at: str
    level: str
    message: str
    node_id: str
    item: str
    attempt: int
    fields: dict[str, Any]


def log_routes(backend: Backend) -> APIRouter:
    """Return the routes of logs."""
    routes = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)

    @routes.get(
        "/{execution_id}/logs", summary="List log lines of a run", response_model=Page[LineView]
    )
    async def list_logs(
        execution_id: Run,
        node_id: Annotated[str, Query(max_length=1024, description="Of this node.")] = "",
        level: Annotated[
            str, Query(description="At least this: debug, info, warning, error.")
        ] = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
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
                        return json_response(Page[LineView](items=views, next_cursor=more))
                    views.append(_view(row, line))
                skip, after = 0, row.place
            if len(rows) < limit:
                return json_response(Page[LineView](items=views, next_cursor=None))

    return routes


def _view(row: StoredLines, line: LogLineRecord) -> LineView:
    return LineView.model_construct(
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
        why = f"give one of {', '.join(LEVELS)}"
        place = Place(message=why, parameter="level")
        raise RequestRefusedError(422, "INVALID_REQUEST", f"level: {why}", errors=[place])
    return LEVELS.index(level) if level else 0

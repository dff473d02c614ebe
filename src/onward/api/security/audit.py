"""The route of the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from onward.api.http.json_route import StrictRoute, read_cursor, write_cursor
from onward.api.http.parameters import Cursor, Limit
from onward.api.security.views import AuditView
from onward.api.views import Page
from onward.kernel.timestamps import to_iso
from onward.runtime.backend import Backend

_LAST = 2**62
_Filter = Annotated[str, Query(max_length=300, pattern=r"^[^\x00]*$", description="Exactly this.")]


def audit_routes(backend: Backend) -> APIRouter:
    """Return the route of the audit log."""
    routes = APIRouter(tags=["access"], route_class=StrictRoute)

    @routes.get("/audit", summary="List changes")
    async def list_audit(
        actor: _Filter = "",
        action: _Filter = "",
        target: _Filter = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Page[AuditView]:
        """Who changed what, newest first."""
        (before,) = read_cursor(cursor, tuple[int]) or (_LAST,)
        found = await backend.access.audit.entries(
            before=max(0, min(before, _LAST)),
            limit=limit + 1,
            actor=actor,
            action=action,
            target=target,
        )
        views = [
            AuditView(
                seq=one.seq,
                at=to_iso(one.at_ms),
                actor=one.actor,
                action=one.action,
                target=one.target,
                origin=one.origin,
                request_id=one.request_id,
                before=one.before,
                after=one.after,
            )
            for one in found[:limit]
        ]
        more = write_cursor(found[limit - 1].seq) if len(found) > limit else None
        return Page[AuditView](items=views, next_cursor=more)

    return routes

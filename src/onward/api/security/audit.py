"""The route of the audit log."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from onward.api.routing.parameters import FARTHEST, Cursor, Limit, next_cursor, read_number_cursor
from onward.api.routing.routes import Routes
from onward.api.security.views import AuditView
from onward.api.views import Page
from onward.kernel.timestamps import to_iso
from onward.runtime.backend import Backend

_Filter = Annotated[str, Meta(max_length=300, pattern=r"^[^\x00]*\Z", description="Exactly this.")]


def audit_routes(backend: Backend) -> Routes:
    """Return the route of the audit log."""
    routes = Routes(tags=["access"])

    @routes.get("/audit", summary="List changes")
    async def list_audit(
        actor: _Filter = "",
        action: _Filter = "",
        target: _Filter = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Page[AuditView]:
        """Who changed what, newest first."""
        found = await backend.access.audit.entries(
            before=read_number_cursor(cursor, FARTHEST),
            limit=limit + 1,
            actor=actor,
            action=action,
            target=target,
        )
        views = [
            AuditView(
                seq=entry.seq,
                at=to_iso(entry.at_ms),
                actor=entry.actor,
                action=entry.action,
                target=entry.target,
                origin=entry.origin,
                request_id=entry.request_id,
                before=entry.before,
                after=entry.after,
            )
            for entry in found[:limit]
        ]
        return Page[AuditView](
            items=views, next_cursor=next_cursor(found, limit, lambda entry: (entry.seq,))
        )

    return routes

"""The application: every route, one dialect of errors, a guard in front."""

from __future__ import annotations

from fastapi import FastAPI

from weft import __version__
from weft.api.catalogue import catalogue_routes
from weft.api.description import describe_app
from weft.api.guard import Access, Guard
from weft.api.live import HEARTBEAT_S, live_routes
from weft.api.operations import health_routes, operation_routes
from weft.api.problems import add_handlers
from weft.api.runs import run_routes
from weft.api.workflows import workflow_routes
from weft.runtime.backend import Backend

PREFIX = "/api/v1"


def make_app(backend: Backend, access: Access, *, heartbeat_s: float = HEARTBEAT_S) -> FastAPI:
    """Return the API of a backend, for those who have access."""
    app = FastAPI(
        title="weft",
        version=__version__,
        openapi_url="/openapi.json",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    for routes in (
        workflow_routes(backend),
        live_routes(backend, heartbeat_s),
        catalogue_routes(backend),
        run_routes(backend),
        operation_routes(backend),
    ):
        app.include_router(routes, prefix=PREFIX)
    app.include_router(health_routes(backend))
    add_handlers(app)
    describe_app(app, token=bool(access.token_hash))
    app.add_middleware(Guard, access=access)
    return app

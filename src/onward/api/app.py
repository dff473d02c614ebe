"""The application: every route, one dialect of errors, a guard in front."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Depends, FastAPI
from starlette.responses import JSONResponse

from onward import __version__
from onward.api.approvals.routes import link_routes
from onward.api.http.authorization import authoriser
from onward.api.http.identity import Access, Recogniser
from onward.api.http.middleware import ApiMiddleware
from onward.api.http.problems import add_handlers
from onward.api.openapi import describe_app
from onward.api.operations.quarantine import quarantine_routes
from onward.api.operations.routes import health_routes, operation_routes
from onward.api.runs.control import control_routes
from onward.api.runs.logs import log_routes
from onward.api.runs.routes import run_routes
from onward.api.runs.signals import signal_routes
from onward.api.runs.streams import HEARTBEAT_S, live_routes, stream_routes
from onward.api.security.audit import audit_routes
from onward.api.security.credentials import credential_routes
from onward.api.security.login import login_routes
from onward.api.security.users import people_routes
from onward.api.triggers.routes import trigger_routes
from onward.api.triggers.webhooks import hook_routes
from onward.api.workflows.catalogue import catalogue_routes
from onward.api.workflows.routes import workflow_routes
from onward.api.workflows.start_rules import flow_routes
from onward.runtime.backend import Backend
from onward.runtime.security.accounts import Authenticator
from onward.runtime.security.audit import Auditor

PREFIX = "/api/v1"
_LOG = logging.getLogger("onward")


def make_app(backend: Backend, access: Access, *, heartbeat_s: float = HEARTBEAT_S) -> FastAPI:
    """Return the API of a backend, for those who have access."""
    app = FastAPI(
        title="onward",
        version=__version__,
        openapi_url=None,  # it is a route of ours, for those who may ask
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    at = backend.access
    doorkeeper = Authenticator(at.accounts, at.passwords, backend.clock)
    authorised = [Depends(authoriser(backend))]
    for routes in (
        workflow_routes(backend),
        live_routes(backend, heartbeat_s),
        catalogue_routes(backend),
        control_routes(backend),
        flow_routes(backend),
        run_routes(backend),
        operation_routes(backend),
        signal_routes(backend),
        link_routes(backend),
        quarantine_routes(backend),
        stream_routes(backend, heartbeat_s),
        log_routes(backend),
        login_routes(backend, access, doorkeeper),
        people_routes(backend),
        credential_routes(backend),
        audit_routes(backend),
        trigger_routes(backend),
        hook_routes(backend),
    ):
        app.include_router(routes, prefix=PREFIX, dependencies=authorised)
    app.include_router(health_routes(backend), dependencies=authorised)
    app.include_router(_description_route(app), dependencies=authorised)
    add_handlers(app)
    describe_app(app, token=access.required)
    app.add_middleware(
        ApiMiddleware,
        access=access,
        recogniser=Recogniser(access, doorkeeper),
        auditor=Auditor(at.audit, backend.clock, _LOG.error, access.audit_kept_ms),
    )
    return app


def _description_route(app: FastAPI) -> APIRouter:
    routes = APIRouter()

    @routes.get("/openapi.json", include_in_schema=False)
    async def get_description() -> JSONResponse:
        return JSONResponse(app.openapi())

    return routes

"""The application: every route, one dialect of errors, a guard in front."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Depends, FastAPI
from starlette.responses import JSONResponse

from onward import __version__
from onward.api.access import Access
from onward.api.audit import audit_routes
from onward.api.authorising import authoriser
from onward.api.catalogue import catalogue_routes
from onward.api.control import control_routes
from onward.api.credentials import credential_routes
from onward.api.description import describe_app
from onward.api.flow import flow_routes
from onward.api.guard import Guard
from onward.api.hooks import hook_routes
from onward.api.identity import Recogniser
from onward.api.links import link_routes
from onward.api.live import HEARTBEAT_S, live_routes
from onward.api.login import login_routes
from onward.api.logs import log_routes
from onward.api.operations import health_routes, operation_routes
from onward.api.people import people_routes
from onward.api.problems import add_handlers
from onward.api.quarantine import quarantine_routes
from onward.api.runs import run_routes
from onward.api.signals import signal_routes
from onward.api.streams import stream_routes
from onward.api.triggers import trigger_routes
from onward.api.workflows import workflow_routes
from onward.runtime.access import Doorkeeper
from onward.runtime.auditing import Auditor
from onward.runtime.backend import Backend

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
    doorkeeper = Doorkeeper(at.accounts, at.passwords, backend.clock)
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
        Guard,
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

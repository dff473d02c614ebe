"""The application that a server serves: every operation, one form of refusal, a guard in front."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI
from starlette.responses import JSONResponse

from onward import __version__
from onward.api.http.authorization import authoriser
from onward.api.http.identity import Access, Recogniser
from onward.api.http.middleware import ApiMiddleware
from onward.api.http.problems import add_handlers
from onward.api.http.router import router_of
from onward.api.http.websocket import socket_router
from onward.api.openapi import describe_app
from onward.api.operations.routes import health_routes
from onward.api.resources import PREFIX, auditor_of, authenticator_of, routes_of
from onward.api.routing.server_sent_events import HEARTBEAT_S
from onward.runtime.backend import Backend


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
    authenticator = authenticator_of(backend)
    authorised = [Depends(authoriser(backend))]
    for routes in routes_of(backend, access, authenticator, heartbeat_s):
        app.include_router(router_of(routes), prefix=PREFIX, dependencies=authorised)
    sockets = socket_router(backend, heartbeat_s)
    app.include_router(sockets, prefix=PREFIX, dependencies=authorised)
    app.include_router(router_of(health_routes(backend)), dependencies=authorised)
    app.include_router(_description_router(app), dependencies=authorised)
    add_handlers(app)
    describe_app(app, token=access.required)
    app.add_middleware(
        ApiMiddleware,
        access=access,
        recogniser=Recogniser(access, authenticator),
        auditor=auditor_of(backend, access),
    )
    return app


def _description_router(app: FastAPI) -> APIRouter:
    router = APIRouter()

    @router.get("/openapi.json", include_in_schema=False)
    async def get_description() -> JSONResponse:
        return JSONResponse(app.openapi())

    return router

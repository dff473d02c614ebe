"""Declared operations as FastAPI serves them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, get_args

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from onward.api.approvals.page import refused_page
from onward.api.http.models import model_of
from onward.api.http.problems import refusal_over_http
from onward.api.routing.refusals import RequestRefusedError, invalid_parameter, read_json
from onward.api.routing.routes import Call, Carries, Parameter, Reply, Route, Routes
from onward.errors import OnwardError

Handle = Callable[[Request], Coroutine[Any, Any, Response]]

_RESPONSES: Mapping[Carries, type[Response]] = {
    "json": JSONResponse,
    "html": HTMLResponse,
    "anything": Response,
}
_SOURCES: Mapping[str, Any] = {"path": Path, "query": Query, "header": Header}


def router_of(routes: Routes) -> APIRouter:
    """Return the router that serves declared operations."""
    router = APIRouter(route_class=LinkRoute if routes.refuses_in_html else StrictRoute)
    for route in routes:
        router.add_api_route(
            route.path,
            _endpoint_of(route),
            methods=[route.method],
            name=route.name,
            tags=list(route.tags),
            summary=route.summary,
            description=route.description or inspect.cleandoc(route.handler.__doc__ or ""),
            status_code=route.status,
            response_model=model_of(route.answer),
            response_class=_RESPONSES[route.carries],
            responses={code: _described(facts) for code, facts in route.responses.items()},
            openapi_extra=_with_schemas(route.openapi) if route.openapi else None,
        )
    return router


def _described(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: model_of(value) if name == "model" else value for name, value in facts.items()}


def _with_schemas(facts: Any) -> Any:
    """Return a part of the OpenAPI with the schema of each type in it."""
    if isinstance(facts, Mapping):
        return {name: _with_schemas(value) for name, value in facts.items()}
    return model_of(facts).model_json_schema() if isinstance(facts, type) else facts


def _endpoint_of(route: Route) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Return the function that FastAPI calls, with the parameters as it reads them."""
    parameters = [parameter for parameter in route.parameters if parameter.source != "call"]

    async def endpoint(**given: Any) -> Response:
        request: Request = given.pop("request")
        for parameter in route.parameters:
            if parameter.source == "body":
                given[parameter.name] = msgspec.convert(await request.json(), parameter.annotation)
            elif parameter.source == "call":
                given[parameter.name] = await _call_of(request)
        return _response(await route.call(given))

    request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # FastAPI reads it
        [*map(_parameter_of, parameters), request]
    )
    return endpoint


def _parameter_of(parameter: Parameter) -> inspect.Parameter:
    annotation = model_of(parameter.annotation)
    if parameter.source != "body":
        metas = get_args(parameter.annotation)[1:]
        about = next(
            (meta.description for meta in metas if getattr(meta, "description", None)), None
        )
        annotation = Annotated[annotation, _SOURCES[parameter.source](description=about)]
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=parameter.default,
        annotation=annotation,
    )


async def _call_of(request: Request) -> Call:
    return Call(
        who=request.scope["onward.who"],
        method=request.method,
        base_url=str(request.base_url).rstrip("/"),
        headers=request.headers,
        query=request.query_params.multi_items(),
        body=await request.body(),
    )


def _response(reply: Reply) -> Response:
    headers = dict(reply.headers)
    if reply.chunks is not None:
        return StreamingResponse(
            reply.chunks, reply.status, headers=headers, media_type=reply.media_type
        )
    return Response(reply.body, reply.status, headers=headers, media_type=reply.media_type)


# -- how routes read requests --------------------------------------------------------------------


class StrictRequest(Request):
    """A request whose JSON is read by the engine's own reader: no NaN, no endless nesting."""

    async def json(self) -> Any:
        """Return the body's value."""
        return read_json(await self.body())


class StrictRoute(APIRoute):
    """A route that reads JSON strictly, takes nothing but JSON, and no NUL in what it is asked."""

    def get_route_handler(self) -> Handle:
        """Return the handler with our way of reading in front."""
        inner = super().get_route_handler()
        takes_body = self.body_field is not None

        async def handle(request: Request) -> Response:
            _check_parameters(request)
            strict = StrictRequest(request.scope, request.receive)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if takes_body and kind != "application/json" and await strict.body():
                raise RequestRefusedError(
                    415, "NOT_JSON", "send the body as JSON, with Content-Type: application/json"
                )
            if takes_body and await strict.body():
                await strict.json()  # what cannot be read is refused in our words
            return await inner(strict)

        return handle


class LinkRoute(APIRoute):
    """A route that refuses browsers in HTML, and programs as every other does."""

    def get_route_handler(self) -> Handle:
        """Return the handler with pages for clients that accept them."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except (RequestRefusedError, OnwardError, RequestValidationError) as problem:
                if "text/html" not in request.headers.get("accept", "").lower():
                    raise
                refused = refusal_over_http(problem)
            return HTMLResponse(refused_page(refused), refused.status, headers=refused.headers)

        return handle


def _check_parameters(request: Request) -> None:
    """Refuse the character that one of the stores could not be asked about."""
    for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
        if "\0" in str(value):
            why = "it holds the character NUL"
            raise invalid_parameter(name, why, remedy="leave out the character NUL (%00)")

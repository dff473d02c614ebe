"""Refusals over HTTP: what the framework raises, and the responses that say why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from onward.api.routing.refusals import (
    MEDIA_TYPE,
    RequestRefusedError,
    escape_pointer,
    invalid_places,
    log_failure,
    no_such_route,
    problem_body,
    refusal_of,
)
from onward.api.views import Place
from onward.errors import OnwardError


def problem_response(path: str, request_id: str, refused: RequestRefusedError) -> Response:
    """Return the answer to a refused request."""
    body = problem_body(path, request_id, refused)
    return Response(body, refused.status, headers=refused.headers, media_type=MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Let every error of the application leave in this shape."""

    async def answer(request: Request, problem: Exception) -> Response:
        request_id = request.scope.get("onward.request_id", "")
        refused = refusal_over_http(problem)
        if refused.status >= 500:
            log_failure(request.method, request.url.path, problem)
        return problem_response(request.url.path, request_id, refused)

    for kind in (
        RequestRefusedError,
        OnwardError,
        RequestValidationError,
        HTTPException,
        Exception,
    ):
        app.add_exception_handler(kind, answer)


def refusal_over_http(problem: Exception) -> RequestRefusedError:
    """Return what an error means to the caller, also one of the framework."""
    match problem:
        case RequestValidationError():
            return invalid_places([_place(error) for error in problem.errors()])
        case HTTPException(status_code=404):
            return no_such_route()
        case HTTPException(status_code=405):
            return RequestRefusedError(
                405,
                "METHOD_NOT_ALLOWED",
                "this address does not take this method",
                headers=problem.headers,
            )
        case HTTPException():
            return RequestRefusedError(
                problem.status_code, "REFUSED", str(problem.detail), headers=problem.headers
            )
        case _:
            return refusal_of(problem)


def _place(error: Mapping[str, Any]) -> Place:
    source, *path = error["loc"]
    message, code = str(error["msg"]), str(error["type"]).upper()
    if source == "body":
        pointer = "".join(f"/{escape_pointer(str(part))}" for part in path)
        return Place(message=message, pointer=pointer, code=code)
    return Place(message=message, parameter=".".join(map(str, path)), code=code)

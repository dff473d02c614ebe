"""Everything that is refused, in one shape: RFC 9457, with a code, the places and the remedy."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from onward.api.views import Place
from onward.errors import (
    CredentialError,
    DefinitionError,
    ExpressionError,
    InputError,
    MessageError,
    NotThereError,
    OnwardError,
    StaleError,
    StateConflictError,
    StorageError,
    UnsupportedError,
)
from onward.errors import DocumentProblem as Finding
from onward.ports.cluster.bus import BusError

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = "2"

_LOG = logging.getLogger("onward.api")


class RequestRefusedError(Exception):
    """A request that is refused by the API itself."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[Place] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})
        super().__init__(detail)


def problem_response(path: str, request_id: str, refused: RequestRefusedError) -> Response:
    """Return the answer to a refused request."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "detail": refused.detail,
        "code": refused.code,
        "instance": path,
        "request_id": request_id,
        "errors": [error.model_dump(exclude_none=True) for error in refused.errors],
    }
    return Response(
        msgspec.json.encode(body), refused.status, headers=refused.headers, media_type=MEDIA_TYPE
    )


def add_handlers(app: FastAPI) -> None:
    """Let every error of the application leave in this shape."""

    async def answer(request: Request, problem: Exception) -> Response:
        request_id = request.scope.get("onward.request_id", "")
        refused = refusal_of(problem)
        if refused.status >= 500:
            _LOG.error("%s %s: %s", request.method, request.url.path, problem, exc_info=problem)
        return problem_response(request.url.path, request_id, refused)

    for kind in (
        RequestRefusedError,
        OnwardError,
        RequestValidationError,
        HTTPException,
        Exception,
    ):
        app.add_exception_handler(kind, answer)


_PLAIN: dict[type[OnwardError], tuple[int, str]] = {
    NotThereError: (404, "NOT_FOUND"),
    CredentialError: (409, "CREDENTIAL"),
    StaleError: (412, "STALE"),
    UnsupportedError: (501, "UNSUPPORTED"),
}


def refusal_of(problem: Exception) -> RequestRefusedError:
    """Return what an error means to the caller. What is not foreseen tells nothing of itself."""
    match problem:
        case RequestRefusedError():
            return problem
        case DefinitionError(problems=problems):
            return RequestRefusedError(
                422,
                "INVALID_DEFINITION",
                f"the document has {_many(len(problems), 'problem')}",
                errors=[place_of(problem) for problem in problems],
            )
        case NotThereError() | StaleError() | UnsupportedError() | CredentialError():
            return RequestRefusedError(*_PLAIN[type(problem)], str(problem))
        case StateConflictError(code=code):
            return RequestRefusedError(409, code, str(problem))
        case ExpressionError(code=code, pointer=pointer):
            place = Place(message=str(problem), pointer=pointer)
            return RequestRefusedError(422, code, str(problem), errors=[place])
        case InputError() | MessageError():
            return RequestRefusedError(422, "INVALID_INPUT", str(problem))
        case StorageError() | BusError():
            return RequestRefusedError(
                503, "UNAVAILABLE", str(problem), headers={"retry-after": RETRY_AFTER_S}
            )
        case RequestValidationError():
            return _invalid(problem)
        case HTTPException():
            return _http(problem)
        case _:
            return RequestRefusedError(
                500, "INTERNAL", "an error inside onward; its log has the request id and the cause"
            )


def place_of(finding: Finding) -> Place:
    """Return a problem of a document as the API tells it."""
    return Place(
        message=finding.message,
        pointer=finding.pointer,
        code=finding.code,
        hint=finding.hint or None,
        line=finding.line,
        column=finding.column,
    )


def _invalid(problem: RequestValidationError) -> RequestRefusedError:
    places = [_place(error) for error in problem.errors()]
    what = "the request is not as it should be"
    return RequestRefusedError(422, "INVALID_REQUEST", f"{what}: {_told(places[0])}", errors=places)


def _told(place: Place) -> str:
    return f"{place.pointer or place.parameter or 'body'}: {place.message}"


def _place(error: Mapping[str, Any]) -> Place:
    source, *path = error["loc"]
    message = str(error["msg"])
    if source == "body":
        pointer = "".join(f"/{_escaped(str(one))}" for one in path)
        return Place(message=message, pointer=pointer, code=str(error["type"]).upper())
    return Place(
        message=message, parameter=".".join(map(str, path)), code=str(error["type"]).upper()
    )


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _http(problem: HTTPException) -> RequestRefusedError:
    known = {
        404: (
            "NO_SUCH_ROUTE",
            "there is nothing at this address: /openapi.json lists what there is",
        ),
        405: ("METHOD_NOT_ALLOWED", "this address does not take this method"),
    }
    code, detail = known.get(problem.status_code, ("REFUSED", str(problem.detail)))
    return RequestRefusedError(problem.status_code, code, detail, headers=problem.headers)


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"

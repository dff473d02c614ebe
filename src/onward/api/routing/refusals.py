"""Everything that is refused, in one shape: RFC 9457, with a code, the places and the remedy."""

from __future__ import annotations

import logging
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from onward.api.views import Place
from onward.errors import (
    CredentialError,
    DefinitionError,
    DocumentProblem,
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
from onward.kernel.json import MAX_DEPTH, decode, is_too_deep
from onward.ports.cluster.bus import BusError

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = "2"

_LOG = logging.getLogger("onward.api")
_WHERE = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


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


def invalid_parameter(
    name: str, why: str, *, code: str = "INVALID_REQUEST", remedy: str = ""
) -> RequestRefusedError:
    """Return the refusal of a query parameter, a header or a part of the path."""
    place = Place(message=why, parameter=name)
    return RequestRefusedError(422, code, f"{name}: {remedy or why}", errors=[place])


def invalid_request(why: str) -> RequestRefusedError:
    """Return the refusal of a request whose parts do not go together."""
    return RequestRefusedError(422, "INVALID_REQUEST", why)


def invalid_places(places: Sequence[Place]) -> RequestRefusedError:
    """Return the refusal of a request that is wrong at some places."""
    first = places[0]
    where = first.pointer or first.parameter or "body"
    detail = f"the request is not valid: {where}: {first.message}"
    return RequestRefusedError(422, "INVALID_REQUEST", detail, errors=places)


def too_many_requests(wait_s: float) -> RequestRefusedError:
    """Return the refusal of what was tried too often."""
    seconds = max(1, math.ceil(wait_s))
    return RequestRefusedError(
        429,
        "TOO_MANY_REQUESTS",
        f"this was tried too often: try again in {seconds} s",
        headers={"retry-after": str(seconds)},
    )


def invalid_body(problem: msgspec.ValidationError) -> RequestRefusedError:
    """Return the refusal of a body that is not of its declared type."""
    text = str(problem)
    found = _WHERE.search(text)
    steps = _STEP.findall(found[1]) if found else []
    pointer = "".join(f"/{name or index}" for name, index in steps)
    return invalid_places([Place(message=_WHERE.sub("", text), pointer=pointer)])


def no_such_route() -> RequestRefusedError:
    """Return the refusal of an address that nothing is at."""
    return RequestRefusedError(
        404, "NO_SUCH_ROUTE", "there is nothing at this address: /openapi.json lists what there is"
    )


def read_json(body: bytes) -> Any:
    """Return the value of a JSON body, read by the engine's own reader: no NaN, bounded nesting."""
    if is_too_deep(body):
        raise _malformed(f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        return decode(body)
    except MessageError as problem:
        raise _malformed(str(problem)) from None


def _malformed(why: str) -> RequestRefusedError:
    return RequestRefusedError(
        400, "MALFORMED_JSON", f"the body cannot be read: {why}", errors=[Place(message=why)]
    )


def make_request_id() -> str:
    """Return a name for a request, by which its problem is found in the log."""
    return f"req_{secrets.token_hex(10)}"


def problem_body(path: str, request_id: str, refused: RequestRefusedError) -> bytes:
    """Return the body of the answer to a refused request."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "detail": refused.detail,
        "code": refused.code,
        "instance": path,
        "request_id": request_id,
        "errors": [_facts(place) for place in refused.errors],
    }
    return msgspec.json.encode(body)


def _facts(place: Place) -> dict[str, Any]:
    facts = msgspec.structs.asdict(place)
    return {name: value for name, value in facts.items() if value is not None}


_PLAIN: dict[type[OnwardError], tuple[int, str]] = {
    NotThereError: (404, "NOT_FOUND"),
    CredentialError: (409, "CREDENTIAL"),
    StaleError: (412, "STALE"),
    UnsupportedError: (501, "UNSUPPORTED"),
}


def refusal_of(problem: Exception) -> RequestRefusedError:
    """Return what an error means to the caller; only the log has details of an unforeseen one."""
    match problem:
        case RequestRefusedError():
            return problem
        case DefinitionError(problems=problems):
            count = len(problems)
            return RequestRefusedError(
                422,
                "INVALID_DEFINITION",
                f"the document has {count} problem{'s' * (count != 1)}",
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
        case _:
            return RequestRefusedError(
                500, "INTERNAL", "an error inside onward; its log has the request id and the cause"
            )


def log_failure(method: str, path: str, problem: Exception) -> None:
    """Write to the log why a request failed that should not have."""
    _LOG.error("%s %s: %s", method, path, problem, exc_info=problem)


def escape_pointer(name: str) -> str:
    """Return a name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def place_of(problem: DocumentProblem) -> Place:
    """Return the view of a problem of a document."""
    return Place(
        message=problem.message,
        pointer=problem.pointer,
        code=problem.code,
        hint=problem.hint or None,
        line=problem.line,
        column=problem.column,
    )

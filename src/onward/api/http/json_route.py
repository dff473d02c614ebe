"""Between HTTP and values: strict JSON, cursors that only we write, revisions in ETags."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from onward.api.http.problems import RequestRefusedError
from onward.api.views import Place
from onward.errors import MessageError
from onward.kernel.json import MAX_DEPTH, decode, is_too_deep

T = TypeVar("T")


class StrictRequest(Request):
    """A request whose JSON is read by the engine's own reader: no NaN, no endless nesting."""

    async def json(self) -> Any:
        """Return the body's value."""
        body = await self.body()
        if is_too_deep(body):
            raise _malformed(f"it is nested deeper than {MAX_DEPTH} levels")
        try:
            return decode(body)
        except MessageError as problem:
            raise _malformed(str(problem)) from None


class StrictRoute(APIRoute):
    """A route that reads JSON strictly, takes nothing but JSON, and no NUL in what it is asked."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
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
                await strict.json()  # what cannot be read is told in our words
            return await inner(strict)

        return handle


def _check_parameters(request: Request) -> None:
    """Refuse the character that one of the stores could not be asked about."""
    for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
        if "\0" in str(value):
            place = Place(message="it holds the character NUL", parameter=name)
            text = f"{name}: leave out the character NUL (%00)"
            raise RequestRefusedError(422, "INVALID_REQUEST", text, errors=[place])


def _malformed(why: str) -> RequestRefusedError:
    return RequestRefusedError(
        400, "MALFORMED_JSON", f"the body cannot be read: {why}", errors=[Place(message=why)]
    )


def json_response(
    view: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a view as the answer, whatever data is in it and however deep it nests."""
    body = msgspec.json.encode(view, enc_hook=vars)
    return Response(body, status, headers=headers, media_type="application/json")


def write_cursor(*parts: Any) -> str:
    """Return an opaque cursor for the page after these values."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode().rstrip("=")


def read_cursor(cursor: str | None, kind: type[T]) -> T | None:
    """Return the values of a cursor; None for the first page; refused when it is not ours."""
    if cursor is None:
        return None
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(data, type=kind)
    except (binascii.Error, msgspec.MsgspecError, ValueError, RecursionError):
        place = Place(message="it is no cursor of this list", parameter="cursor")
        raise RequestRefusedError(
            422,
            "BAD_CURSOR",
            "cursor: take next_cursor of the page before as it is, or leave it out",
            errors=[place],
        ) from None


_ETAG = re.compile(r'(?:W/)?"r([0-9]{1,18})"')


def write_etag(revision: int) -> str:
    """Return the ETag of a revision."""
    return f'"r{revision}"'


def read_if_match(value: str | None) -> int | None:
    """Return the revision that a change was made from; None: whatever is there now."""
    if value is None or value.strip() == "*":
        return None
    found = _ETAG.fullmatch(value.strip())
    if found is None:
        place = Place(message='it must be an ETag like "r3", or *', parameter="If-Match")
        raise RequestRefusedError(
            422, "BAD_ETAG", "If-Match: send the ETag of the workflow as it came", errors=[place]
        )
    return int(found[1])


def matches(if_none_match: str | None, revision: int) -> bool:
    """Return whether the caller has this revision already."""
    return if_none_match is not None and write_etag(revision) in if_none_match

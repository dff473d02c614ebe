"""Routes that people come to from a mail: what is refused is then a page they can read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import HTMLResponse

from onward.api.approval_page import refused_page
from onward.api.problems import RefusedError, refusal_of
from onward.errors import OnwardError

HTML = "text/html"


class LinkRoute(APIRoute):
    """A route that tells browsers in HTML why it refuses, and programs as every other does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with pages for whoever accepts them."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except (RefusedError, OnwardError, RequestValidationError) as problem:
                if HTML not in request.headers.get("accept", "").lower():
                    raise
                refused = refusal_of(problem)
            return HTMLResponse(refused_page(refused), refused.status, headers=refused.headers)

        return handle

"""How an operation is declared: a function with typed parameters, its path and its view.

    routes = Routes(prefix="/runs", tags=["runs"])

    @routes.get("/{execution_id}", summary="Inspect a run", view=RunDetailView)
    async def get_run(execution_id: RunId) -> Reply: ...

The name of the function is the operation's, and its docstring the description in the OpenAPI. A
parameter is in the path if the path names it, a header if `HEADERS` does, the body if it is a
`RequestBody`, what came with the request if it is a `Call`, and otherwise in the query.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from onward.api.routing.refusals import RequestRefusedError
from onward.api.views import Page, RequestBody, View
from onward.ports.security.accounts import Principal

Handler = Callable[..., Awaitable[Any]]
HandlerT = TypeVar("HandlerT", bound=Handler)
Source = Literal["path", "query", "header", "body", "call"]
Carries = Literal["json", "html", "anything"]

HEADERS = frozenset({"idempotency_key", "last_event_id", "if_match", "if_none_match"})

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Reply:
    """What an operation answers: a whole body, or a stream of chunks."""

    body: bytes = b""
    status: int = 0
    """0: the status that the route declares."""
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str | None = "application/json"
    chunks: AsyncIterator[bytes] | None = None


def json_reply(view: Any, status: int = 0, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a view as the answer, whatever data is in it and however deep it nests."""
    return Reply(_encode(view), status, headers or {})


NO_CONTENT = Reply(status=204, media_type=None)


@dataclass(frozen=True, slots=True)
class Call:
    """What came with a request besides its parameters."""

    who: Principal | RequestRefusedError
    """Who calls, or why the caller is not recognised."""
    method: str
    base_url: str
    headers: Mapping[str, str]
    query: Sequence[tuple[str, str]]
    body: bytes

    @property
    def principal(self) -> Principal:
        """Return who calls; refused when the caller is not recognised."""
        if isinstance(self.who, RequestRefusedError):
            raise self.who
        return self.who

    @property
    def content_type(self) -> str:
        """Return the media type of the body, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Parameter(NamedTuple):
    """One parameter of an operation."""

    name: str
    source: Source
    annotation: Any
    default: Any
    """`inspect.Parameter.empty`: it must be given."""


@dataclass(frozen=True)
class Route:
    """One operation, and where it is."""

    method: str
    path: str
    handler: Handler
    name: str
    tags: Sequence[str]
    summary: str
    status: int = 200
    view: Any = None
    """What it answers with; None: what the handler is annotated with, or nothing."""
    description: str = ""
    responses: Mapping[int | str, Mapping[str, Any]] = field(default_factory=dict)
    openapi: Mapping[str, Any] | None = None
    """What the OpenAPI of the operation has besides."""
    carries: Carries = "json"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return its parameters, in their order."""
        hints = get_type_hints(self.handler, include_extras=True)
        return tuple(
            Parameter(name, self._source_of(name, hints[name]), hints[name], parameter.default)
            for name, parameter in inspect.signature(self.handler).parameters.items()
        )

    def _source_of(self, name: str, annotation: Any) -> Source:
        if f"{{{name}}}" in self.path:
            return "path"
        if annotation is Call:
            return "call"
        if isinstance(annotation, type) and issubclass(annotation, RequestBody):
            return "body"
        return "header" if name in HEADERS else "query"

    @property
    def answer(self) -> Any:
        """Return the type of what it answers with; None when that is not JSON of ours."""
        if self.view is not None:
            return self.view
        returned = get_type_hints(self.handler, include_extras=True).get("return")
        if get_origin(returned) is Page and get_args(returned):
            return returned
        return returned if isinstance(returned, type) and issubclass(returned, View) else None

    async def call(self, arguments: Mapping[str, Any]) -> Reply:
        """Call the operation with its parameters by name."""
        answer = await self.handler(**arguments)
        if answer is None:
            return NO_CONTENT
        reply = answer if isinstance(answer, Reply) else json_reply(answer)
        return reply if reply.status else replace(reply, status=self.status)


class Routes:
    """Operations of one resource, in the order in which their paths are tried."""

    def __init__(
        self, *, prefix: str = "", tags: Sequence[str] = (), refuses_in_html: bool = False
    ) -> None:
        self._prefix = prefix
        self._tags = tags
        self._routes: list[Route] = []
        self.refuses_in_html = refuses_in_html
        """Whether refusals are written in HTML for browsers."""

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def add(
        self, method: str, path: str, handler: Handler, *, name: str = "", **facts: Any
    ) -> None:
        """Declare an operation."""
        route = Route(
            method,
            self._prefix + path,
            handler,
            name or getattr(handler, "__name__", ""),
            **{"tags": self._tags, **facts},
        )
        self._routes.append(route)

    def _declare(
        self, method: str, path: str, facts: dict[str, Any]
    ) -> Callable[[HandlerT], HandlerT]:
        def declare(handler: HandlerT) -> HandlerT:
            self.add(method, path, handler, **facts)
            return handler

        return declare

    def get(self, path: str, **facts: Any) -> Callable[[HandlerT], HandlerT]:
        """Declare what GET of a path does."""
        return self._declare("GET", path, facts)

    def post(self, path: str, **facts: Any) -> Callable[[HandlerT], HandlerT]:
        """Declare what POST to a path does."""
        return self._declare("POST", path, facts)

    def put(self, path: str, **facts: Any) -> Callable[[HandlerT], HandlerT]:
        """Declare what PUT of a path does."""
        return self._declare("PUT", path, facts)

    def patch(self, path: str, **facts: Any) -> Callable[[HandlerT], HandlerT]:
        """Declare what PATCH of a path does."""
        return self._declare("PATCH", path, facts)

    def delete(self, path: str, **facts: Any) -> Callable[[HandlerT], HandlerT]:
        """Declare what DELETE of a path does."""
        return self._declare("DELETE", path, facts)

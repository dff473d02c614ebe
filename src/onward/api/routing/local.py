"""The operations of the API answered inside the process, without a web framework.

A program with the engine in its own process is its administrator: there is no login and no limit
of rate. What is taken and refused, and what is written to the audit log, is the same as over HTTP.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from onward.api.routing.permissions import permission_of
from onward.api.routing.refusals import (
    MEDIA_TYPE,
    RequestRefusedError,
    invalid_body,
    invalid_places,
    log_failure,
    make_request_id,
    no_such_route,
    problem_body,
    read_json,
    refusal_of,
)
from onward.api.routing.routes import Call, Parameter, Reply, Route
from onward.api.views import Place
from onward.ports.security.accounts import Principal
from onward.runtime.security.audit import Auditor, open_record

LOCAL = Principal(kind="local", name="local", role="admin")
BASE_URL = "http://localhost"
ORIGIN = "127.0.0.1"
"""Where a change came from, as the audit log says it."""


class LocalApi:
    """Answers requests to declared operations."""

    def __init__(self, prefix: str, routes: Iterable[Route], auditor: Auditor) -> None:
        self._auditor = auditor
        self._routes = [(route, _pattern_of(prefix + route.path)) for route in routes]

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> Reply:
        """Return what the operation at a path answers, or the problem it is refused with."""
        request_id = make_request_id()
        call = Call(LOCAL, method, BASE_URL, headers, list(query.items()), body)
        try:
            route, named = self._find(method, path)
            return await self._call(route, named, call, path, request_id)
        except Exception as problem:
            refused = refusal_of(problem)
            if refused.status >= 500:
                log_failure(method, path, problem)
            text = problem_body(path, request_id, refused)
            return Reply(text, refused.status, refused.headers, MEDIA_TYPE)

    def _find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        known = False
        for route, pattern in self._routes:
            found = pattern.fullmatch(path)
            if found and route.method == method:
                return route, found.groupdict()
            known = known or found is not None
        if known:
            raise RequestRefusedError(
                405, "METHOD_NOT_ALLOWED", "this address does not take this method"
            )
        raise no_such_route()

    async def _call(
        self, route: Route, named: Mapping[str, str], call: Call, path: str, request_id: str
    ) -> Reply:
        arguments = {
            parameter.name: _value_of(parameter, named, call) for parameter in route.parameters
        }
        record = open_record()
        if permission_of(route.name).audited:
            record.action, record.target = route.name, path
        reply = await route.call(arguments)
        if record.action:
            await self._auditor.write(
                record, actor=LOCAL.actor, origin=ORIGIN, request_id=request_id
            )
        return reply


def _pattern_of(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path)
    text = [
        f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts)
    ]
    return re.compile("".join(text))


def _value_of(parameter: Parameter, named: Mapping[str, str], call: Call) -> Any:
    """Return the value of a parameter, of the type that it is declared with."""
    match parameter.source:
        case "call":
            return call
        case "body":
            return _read_body(parameter.annotation, call.body)
        case "path":
            text: str | None = named[parameter.name]
        case "header":
            text = call.headers.get(parameter.name.replace("_", "-"))
        case "query":
            text = dict(call.query).get(parameter.name)
    if text is None:
        if parameter.default is inspect.Parameter.empty:
            raise invalid_places([Place(message="it is missing", parameter=parameter.name)])
        return parameter.default
    if "\0" in text:
        message = "leave out the character NUL"
        raise invalid_places([Place(message=message, parameter=parameter.name)])
    try:
        return msgspec.convert(text, parameter.annotation, strict=False)
    except msgspec.ValidationError as problem:
        raise invalid_places([Place(message=str(problem), parameter=parameter.name)]) from None


def _read_body(kind: Any, body: bytes) -> Any:
    try:
        return msgspec.convert(read_json(body or b"{}"), kind)
    except msgspec.ValidationError as problem:
        raise invalid_body(problem) from None

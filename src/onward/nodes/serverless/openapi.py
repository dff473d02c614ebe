"""`call: openapi` of the Serverless Workflow DSL: an operation, by its name in a document."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from onward.kernel.outcome import Failed, Succeeded
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import send
from onward.nodes.failures import RefusedError, bad_request, failure_of
from onward.nodes.http.body import encode_body, text_of
from onward.nodes.http.headers import request_headers
from onward.nodes.http.request import DAY_S, with_work_headers
from onward.nodes.http.url import check_url, public_url
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_value
from onward.nodes.serverless.http import Output, http_outcome
from onward.nodes.serverless.openapi_document import (
    OpenApiOperation,
    OpenApiParameter,
    fill_server,
    find_operation,
)
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpRequest, OutsideError

_SEPARATORS = {"ssv": " ", "spaceDelimited": " ", "tsv": "\t", "pipes": "|", "pipeDelimited": "|"}
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"


class CallOpenapi(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call an operation that an OpenAPI document (3.x or Swagger 2.0) describes.

    `parameters` are put where the document says. `body` is the request's body, unless a
    parameter has that name; or what no parameter is called makes the body, field by field.
    """

    document: ResourceLocation
    operationId: str  # noqa: N815  (the language's own name)
    parameters: dict[str, Any] | None = None
    authentication: Authentication | None = None
    output: Output | None = None
    redirect: bool | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Find the operation, and send its request once."""
        where = f"operation {self.operationId[:100]!r}"
        try:
            value = await fetch_value(tools, self.document)
            operation = find_operation(value, self.operationId, self.document.uri)
            request = self._request(operation, tools)
            where = f"{request.method} {public_url(request.url)}"
            answer = await send(tools, request, self.authentication)
        except (RefusedError, OutsideError) as problem:
            return failure_of(problem, where)
        return http_outcome(request, answer, self.output, self.redirect)

    def _request(self, operation: OpenApiOperation, tools: Tools) -> HttpRequest:
        left = dict(self.parameters or {})
        path, query, headers, form, cookies = operation.path, [], {}, {}, []
        body: Any = None
        for parameter in operation.parameters:
            value = left.pop(parameter.name, None)
            if value is None:
                if parameter.required:
                    raise bad_request(
                        f"the {parameter.place} parameter {parameter.name!r} is missing"
                    )
                continue
            match parameter.place:
                case "path":
                    written = quote(_join(value, parameter), safe=",")
                    path = path.replace("{" + parameter.name + "}", written)
                case "query":
                    query += _pairs(value, parameter)
                case "header":
                    headers[parameter.name] = _join(value, parameter)
                case "cookie":
                    cookies.append(f"{parameter.name}={quote(_join(value, parameter), safe=',')}")
                case "body":
                    body = value
                case "formData":
                    form[parameter.name] = value
                case _:
                    raise bad_request(
                        f"parameter {parameter.name!r} has an unknown place, {parameter.place!r}"
                    )
        url = fill_server(operation, left).rstrip("/") + path
        body = form or _body(operation, body, left)
        if operation.accepts:
            headers.setdefault("accept", operation.accepts)
        if cookies:
            headers["cookie"] = "; ".join(cookies)
        check_url(url)
        ready = with_work_headers(request_headers(headers), operation.method, tools)
        data = _encode(body, operation.content_types, ready)
        return HttpRequest(
            method=operation.method,
            url=url,
            query=query,
            headers=ready,
            body=data,
            timeout_s=DAY_S,
            follow_redirects=bool(self.redirect),
        )


def _body(operation: OpenApiOperation, body: Any, left: dict[str, Any]) -> Any:
    """Return the body: the parameter `body`, or all that are left. Raises RefusedError."""
    if body is None and operation.content_types and "body" in left:
        body = left.pop("body")
    elif body is None and operation.content_types and left:
        body, left = left, {}
    if left:
        known = ", ".join(parameter.name for parameter in operation.parameters) or "none"
        raise bad_request(f"the operation has no parameter {next(iter(left))!r}: it has {known}")
    if body is None and operation.body_required:
        raise bad_request("the operation needs a body: give it as the parameter `body`")
    return body


def _encode(body: Any, types: tuple[str, ...], headers: dict[str, str]) -> bytes | None:
    if body is None:
        return None
    kind = headers.get("content-type") or _preferred(types, body)
    if kind == _MULTIPART:
        data, kind = _encode_parts(body)
        headers["content-type"] = kind
        return data
    headers["content-type"] = kind
    if kind.partition(";")[0].endswith("json") and isinstance(body, str):
        return msgspec.json.encode(body)
    return encode_body(body, kind)[0]


def _encode_parts(body: Any) -> tuple[bytes, str]:
    """Return the bytes of a form and its content type: each field is a part."""
    if not isinstance(body, Mapping):
        raise bad_request("a form must be an object: each of its fields is a part")
    boundary = secrets.token_hex(16)
    parts = []
    for name, value in body.items():
        if any(character in name for character in '"\r\n'):
            raise bad_request(f"{name[:60]!r} cannot be the name of a field of a form")
        plain = not isinstance(value, list | Mapping)
        kind = "" if plain else "content-type: application/json\r\n"
        head = f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n{kind}\r\n'
        parts.append(f"{head}{text_of(value)}\r\n".encode())
    data = b"".join(parts) + f"--{boundary}--\r\n".encode()
    return data, f"multipart/form-data; boundary={boundary}"


def _preferred(types: tuple[str, ...], body: Any) -> str:
    """Return the content type that suits the body: JSON, if it is offered."""
    json = [type_ for type_ in types if type_.partition(";")[0].endswith("json") or type_ == "*/*"]
    if json:
        return "application/json" if "*" in json[0] else json[0]
    forms = [type_ for type_ in types if type_ in (_FORM, _MULTIPART)]
    if forms and isinstance(body, Mapping):
        return forms[0]
    if types and isinstance(body, str):
        return types[0]
    raise bad_request(f"a body of the type {', '.join(types)[:200]} cannot be made from this value")


def _join(value: Any, parameter: OpenApiParameter) -> str:
    """Return a value as one text: items and fields with commas between them."""
    separator = _SEPARATORS.get(parameter.style, ",")
    if isinstance(value, list):
        return separator.join(text_of(item) for item in value)
    if isinstance(value, Mapping):
        if parameter.explode:
            return separator.join(f"{key}={text_of(item)}" for key, item in value.items())
        return separator.join(part for key, item in value.items() for part in (key, text_of(item)))
    return text_of(value)


def _pairs(value: Any, parameter: OpenApiParameter) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        if parameter.style == "deepObject":
            return [(f"{parameter.name}[{key}]", text_of(item)) for key, item in value.items()]
        if parameter.explode:
            return [(key, text_of(item)) for key, item in value.items()]
    if isinstance(value, list) and parameter.explode:
        return [(parameter.name, text_of(item)) for item in value]
    return [(parameter.name, _join(value, parameter))]

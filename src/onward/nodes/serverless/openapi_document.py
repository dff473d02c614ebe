"""OpenAPI documents (3.x, and Swagger 2.0): where an operation is and what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from onward.nodes.failures import bad_request
from onward.nodes.serverless.document_refs import fill_variables, follow_refs

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiParameter:
    """One parameter. `style` is how an array or an object is written."""

    name: str
    place: str
    """path, query, header, cookie; in Swagger 2.0 also body and formData."""
    required: bool
    style: str
    explode: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiOperation:
    """One operation of a document, with everything it refers to."""

    method: str
    path: str
    server: str
    variables: Mapping[str, Any]
    parameters: tuple[OpenApiParameter, ...]
    content_types: tuple[str, ...]
    """Of the body; empty when it takes none."""
    body_required: bool
    accepts: str


def find_operation(document: Any, operation_id: str, uri: str) -> OpenApiOperation:
    """Return an operation; `uri` is where the document is from. Raises RefusedError."""
    if not isinstance(document, Mapping) or not isinstance(document.get("paths"), Mapping):
        raise bad_request("the document is no OpenAPI document: it has no paths")
    old = str(document.get("swagger", "")).startswith("2.")
    if not old and not str(document.get("openapi", "")).startswith("3."):
        raise bad_request("the document is neither OpenAPI 3 nor Swagger 2.0")
    known = []
    for path, item, method, found in _operations(document):
        if found.get("operationId") == operation_id:
            return _operation(document, old, uri, path, item, method, found)
        known.append(str(found.get("operationId")))
    some = ", ".join(known[:20])
    raise bad_request(f"the document has no operation {operation_id[:60]!r}: it has {some}")


def _operations(
    document: Mapping[str, Any],
) -> Iterator[tuple[str, Mapping[str, Any], str, Mapping[str, Any]]]:
    for path, raw in document["paths"].items():
        item = follow_refs(document, raw)
        for method in _METHODS:
            found = item.get(method)
            if isinstance(found, Mapping):
                yield str(path), item, method, found


def _operation(
    document: Mapping[str, Any],
    old: bool,
    uri: str,
    path: str,
    item: Mapping[str, Any],
    method: str,
    found: Mapping[str, Any],
) -> OpenApiOperation:
    parameters: dict[tuple[str, str], OpenApiParameter] = {}
    for raw in (*(item.get("parameters") or ()), *(found.get("parameters") or ())):
        parameter = _parameter(follow_refs(document, raw), old)
        parameters[parameter.name, parameter.place] = parameter
    variables: Mapping[str, Any] = {}
    if old:
        server = _old_server(document, uri)
        types = tuple(found.get("consumes") or document.get("consumes") or ())
        places = {parameter.place for parameter in parameters.values()}
        if "formData" in places and not set(types) & set(_FORMS):
            types = (_FORMS[0],)
        elif not places & {"body", "formData"}:
            types = ()
        else:
            types = types or ("application/json",)
        body_required = any(
            parameter.required for parameter in parameters.values() if parameter.place == "body"
        )
        accepts = tuple(found.get("produces") or document.get("produces") or ())
    else:
        server, variables = _server(document, item, found, uri)
        body = follow_refs(document, found.get("requestBody") or {})
        types, body_required = tuple(body.get("content") or ()), bool(body.get("required"))
        accepts = tuple(_answers(document, found))
    return OpenApiOperation(
        method=method.upper(),
        path=path,
        server=server,
        variables=variables,
        parameters=tuple(parameters.values()),
        content_types=types,
        body_required=body_required,
        accepts=", ".join(dict.fromkeys(accepts)),
    )


def _parameter(raw: Mapping[str, Any], old: bool) -> OpenApiParameter:
    place = str(raw.get("in"))
    if old:
        style = str(raw.get("collectionFormat", "csv"))
        explode = style == "multi"
    else:
        style = str(raw.get("style") or ("form" if place in ("query", "cookie") else "simple"))
        stated = raw.get("explode")
        explode = style == "form" if stated is None else bool(stated)
    return OpenApiParameter(
        name=str(raw.get("name")),
        place=place,
        required=bool(raw.get("required")) or place == "path",
        style=style,
        explode=explode,
    )


def _answers(document: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    responses = found.get("responses")
    for status, raw in (responses if isinstance(responses, Mapping) else {}).items():
        if str(status).startswith("2"):
            yield from follow_refs(document, raw).get("content") or ()


def _server(
    document: Mapping[str, Any], item: Mapping[str, Any], found: Mapping[str, Any], uri: str
) -> tuple[str, Mapping[str, Any]]:
    for owner in (found, item, document):
        servers = owner.get("servers")
        if isinstance(servers, list) and servers and isinstance(servers[0], Mapping):
            return urljoin(uri, str(servers[0].get("url", "/"))), servers[0].get("variables") or {}
    return urljoin(uri, "/"), {}


def _old_server(document: Mapping[str, Any], uri: str) -> str:
    parts = urlsplit(uri)
    schemes = document.get("schemes") or ()
    scheme = parts.scheme if parts.scheme in schemes or not schemes else str(schemes[0])
    if "https" in schemes:
        scheme = "https"
    host = document.get("host") or parts.netloc
    return f"{scheme}://{host}{document.get('basePath') or ''}"


def fill_server(operation: OpenApiOperation, parameters: dict[str, Any]) -> str:
    """Return the URL of the server; the parameters that are its variables are removed."""

    def value_of(name: str) -> Any:
        described = operation.variables.get(name)
        described = described if isinstance(described, Mapping) else {}
        chosen = parameters.pop(name, described.get("default"))
        allowed = described.get("enum")
        if chosen is None or (allowed and chosen not in allowed):
            known = f": use one of {', '.join(map(str, allowed))}" if allowed else ""
            raise bad_request(f"the server's variable {name!r} cannot be {chosen!r}{known}")
        return chosen

    return fill_variables(operation.server, value_of)

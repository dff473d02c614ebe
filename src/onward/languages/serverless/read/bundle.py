"""Resources of a document from outside: functions of catalogs and URLs, schemas in other files.

All of them become part of the document before it is read further. So a workflow that has been
accepted never changes, even when its sources do, and no worker fetches anything to know what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urljoin

from onward.languages.document.problems import Findings, join, quote, suggest

_FROM_CATALOG = re.compile(r"([^:@/\s]+):([^:@/\s]+)@([^:@/\s]+)")
_URL = re.compile(r"(?:https?|file)://.+")
_HUB = re.compile(r"https://github\.com/([^/]+/[^/]+)/(?:tree|blob)/(.+)")
_LAB = re.compile(r"(https://gitlab\.[^/]+/.+)/-/(?:tree|blob)/(.+)")
_DATA = frozenset({"set", "with", "metadata", "document"})
"""Below these is data, which holds no references."""
MOST_RESOURCES = 100
"""How many resources a document may take from outside."""


@dataclass(frozen=True, slots=True)
class MissingResource:
    """A resource that could not be fetched, and why."""

    why: str


Fetched = Mapping[str, Any]
"""The resources by their URIs: each a value, or a MissingResource."""


@dataclass(frozen=True, slots=True)
class _Need:
    """A place in a document that needs a resource from outside."""

    uri: str
    at: str


def missing_uris(value: Any, fetched: Fetched) -> list[str]:
    """Return the URIs of the resources that the document needs and that were not fetched yet."""
    found = [need.uri for need in _all_needs(value, fetched, Findings())]
    return [uri for uri in dict.fromkeys(found) if uri not in fetched]


def bundle(value: Any, fetched: Fetched | None, findings: Findings) -> Any:
    """Return the document with its resources from outside inside of it.

    One that could not be fetched is reported where it is named. With None nothing is fetched here.
    """
    places = list(_all_needs(value, fetched or {}, findings))
    if not places:
        return value
    for place in places:
        _check(place, fetched, findings)
    known = {
        uri: body for uri, body in (fetched or {}).items() if not isinstance(body, MissingResource)
    }
    functions = dict(value.get("use", {}).get("functions") or {})
    for name, uri in _function_calls(value, known):
        if uri in known:
            functions[name] = _with_schemas(known[uri], known, uri)
    whole = _with_schemas(value, known, "")
    if functions:
        whole = {**whole, "use": {**(whole.get("use") or {}), "functions": functions}}
    return whole


def _check(need: _Need, fetched: Fetched | None, findings: Findings) -> None:
    if fetched is None:
        message = f"{quote(need.uri)} is outside the document, and nothing is fetched here"
        hint = "bundle it: `onward submit FILE` and `onward run FILE` fetch what a document needs"
        findings.error("NOT_FETCHED", message, at=need.at, hint=hint)
        return
    body = fetched.get(need.uri, MissingResource("the document needs too much from outside"))
    if isinstance(body, MissingResource):
        message = f"{quote(need.uri)} cannot be fetched: {body.why}"
        findings.error("NOT_FETCHED", message, at=need.at)


def _all_needs(value: Any, fetched: Fetched, findings: Findings) -> Iterator[_Need]:
    if not isinstance(value, Mapping):
        return
    seen: set[str] = set()
    waiting: list[tuple[Any, str, str]] = [(value, "", "")]
    while waiting:
        part, base, at = waiting.pop()
        for uri, here, schema in _needs(part, base, at, value, findings):
            yield _Need(uri, here)
            body = fetched.get(uri)
            if body is not None and not isinstance(body, MissingResource) and uri not in seen:
                seen.add(uri)
                waiting.append(({"schema": {"document": body}} if schema else body, uri, here))


def _needs(
    value: Any, base: str, at: str, document: Mapping[str, Any], findings: Findings
) -> Iterator[tuple[str, str, bool]]:
    """Yield what a part of a document needs: its URI, its place, whether it is a schema."""
    for here, node in _nodes(value, at):
        call = node.get("call")
        if isinstance(call, str):
            uri = _function_uri(call, base, document, join(here, "call"), findings)
            if uri:
                yield uri, join(here, "call"), False
        schema = node.get("schema")
        if not isinstance(schema, Mapping):
            continue
        there = join(here, "schema")
        if "resource" in schema:
            uri = _endpoint(schema["resource"], base)
            if uri:
                yield uri, join(there, "resource"), True
        inside = set(_ids(schema.get("document")))
        for ref in _refs(schema.get("document"), base):
            if ref not in inside:
                yield ref, join(there, "document"), True


def _nodes(value: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every mapping in which a task or a schema may be, with its place."""
    if isinstance(value, Mapping):
        yield at, value
        for key, part in value.items():
            if key not in _DATA or _has_tasks(value, key):
                yield from _nodes(part, join(at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _nodes(item, join(at, index))


def _has_tasks(task: Mapping[str, Any], key: str) -> bool:
    """Return whether the arguments of a call hold tasks: those for each message that is taken."""
    return key == "with" and task.get("call") == "asyncapi"


def _function_calls(value: Mapping[str, Any], known: Fetched) -> Iterator[tuple[str, str]]:
    """Yield every function from outside, as it is called, and its URI."""
    parts: list[tuple[Any, str]] = [(value, ""), *((body, uri) for uri, body in known.items())]
    for part, base in parts:
        for _, node in _nodes(part, ""):
            call = node.get("call")
            uri = _function_uri(call, base, value, "", Findings()) if isinstance(call, str) else ""
            if uri:
                yield str(call), uri


def _function_uri(
    call: str, base: str, document: Mapping[str, Any], at: str, findings: Findings
) -> str:
    """Return where a function is; "" when it is none from outside."""
    use = document.get("use")
    use = use if isinstance(use, Mapping) else {}
    if call in (use.get("functions") or {}):
        return ""
    if _URL.fullmatch(call):
        return _raw(call)
    found = _FROM_CATALOG.fullmatch(call)
    if found is None:
        return ""
    name, version, catalog = found.groups()
    catalogs = use.get("catalogs")
    catalogs = catalogs if isinstance(catalogs, Mapping) else {}
    described = catalogs.get(catalog)
    endpoint = described.get("endpoint") if isinstance(described, Mapping) else None
    if isinstance(endpoint, Mapping):
        endpoint = endpoint.get("uri")
    if not isinstance(endpoint, str):
        hint = suggest(catalog, catalogs) or "define it: use: {catalogs: {NAME: {endpoint: URL}}}"
        findings.error("UNKNOWN_NAME", f"there is no catalog {quote(catalog)}", at=at, hint=hint)
        return ""
    return f"{_raw(urljoin(base, endpoint)).rstrip('/')}/functions/{name}/{version}/function.yaml"


def _raw(url: str) -> str:
    """Return where the files are that a page of GitHub or GitLab shows."""
    if found := _HUB.fullmatch(url):
        return f"https://raw.githubusercontent.com/{found[1]}/{found[2]}"
    if found := _LAB.fullmatch(url):
        return f"{found[1]}/-/raw/{found[2]}"
    return url


def _endpoint(resource: Any, base: str) -> str:
    endpoint = resource.get("endpoint") if isinstance(resource, Mapping) else None
    if isinstance(endpoint, Mapping):
        endpoint = endpoint.get("uri")
    return _raw(urljoin(base, endpoint)) if isinstance(endpoint, str) else ""


def _refs(schema: Any, base: str) -> Iterator[str]:
    """Yield the URIs of other schemas that a schema refers to."""
    if isinstance(schema, Mapping):
        ref = schema.get("$ref")
        if isinstance(ref, str):
            uri = urldefrag(urljoin(base, ref)).url
            if uri != base and _URL.fullmatch(uri):
                yield uri
        for part in schema.values():
            yield from _refs(part, base)
    elif isinstance(schema, list):
        for part in schema:
            yield from _refs(part, base)


def _ids(schema: Any) -> Iterator[str]:
    """Yield the URIs of schemas that are inside of a schema already."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$id"), str):
            yield schema["$id"]
        for part in schema.values():
            yield from _ids(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _ids(part)


def _with_schemas(value: Any, known: Fetched, base: str) -> Any:
    """Return a part of a document with every schema of it inside."""
    if isinstance(value, list):
        return [_with_schemas(item, known, base) for item in value]
    if not isinstance(value, Mapping):
        return value
    found = {
        key: part
        if key in _DATA and not _has_tasks(value, key)
        else _with_schemas(part, known, base)
        for key, part in value.items()
    }
    schema = value.get("schema")
    if isinstance(schema, Mapping):
        found["schema"] = _whole(schema, known, base)
    return found


def _whole(schema: Mapping[str, Any], known: Fetched, base: str) -> dict[str, Any]:
    body = schema.get("document")
    rest = dict(schema)
    if "resource" in schema and (uri := _endpoint(schema["resource"], base)) in known:
        body, base = known[uri], uri
        rest.pop("resource")
        if isinstance(body, Mapping):
            body = {"$id": uri, **body}
    others: dict[str, Any] = {}
    waiting = list(_refs(body, base))
    while waiting:
        uri = waiting.pop()
        if uri in known and uri not in others:
            others[uri] = (
                {"$id": uri, **known[uri]} if isinstance(known[uri], Mapping) else known[uri]
            )
            waiting.extend(_refs(known[uri], uri))
    if others and isinstance(body, Mapping):
        body = {**body, "$defs": {**(body.get("$defs") or {}), **others}}
    return {**rest, "document": body} if body is not None else rest

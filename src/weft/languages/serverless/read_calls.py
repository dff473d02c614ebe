"""Reading calls. What is known of the language and cannot be called yet is refused by name."""

from __future__ import annotations

from typing import Any

from weft.languages.graph.fields import Fields
from weft.languages.graph.findings import join, kind_of, quote
from weft.languages.serverless.desk import CALL_DEFINITION, Desk
from weft.languages.serverless.model import Call, Task
from weft.languages.serverless.read_parts import reuse
from weft.languages.serverless.uri_template import UriTemplate, has_variables
from weft.languages.serverless.values import Computed, Template, expression_in

_LATER = ("a2a", "asyncapi", "grpc", "mcp", "openapi")
_HTTP = ("method", "endpoint", "headers", "body", "query", "output", "redirect")
_SCHEMES = {"basic": ("username", "password"), "bearer": ("token",)}
_LATER_SCHEMES = ("certificate", "digest", "oauth2", "oidc")


def read_call(fields: Fields, base: dict[str, Any], desk: Desk, _: tuple[str, ...]) -> Task | None:
    """Return a call, or nothing after what is wrong with it was reported."""
    function = fields.text("call", required="name what is called, such as http")
    at = join(fields.at, "call")
    if function is None:
        return None
    if function != "http":
        known = function in _LATER
        what = f"call: {function}" if known else f"calling the function {quote(function)}"
        desk.unsupported(what, at, "what can be called is http")
        return None
    given = desk.fields(fields.mapping("with"), f'{fields.owner}: "with"', join(fields.at, "with"))
    return _read_http(given, base, desk)


def _read_http(fields: Fields, base: dict[str, Any], desk: Desk) -> Task:
    fields.reject_unknown(_HTTP)
    fields.text("method", required="write method: get")
    fields.choice("output", ("raw", "content", "response"))
    value, secrets = dict(fields.value), set[str]()
    if isinstance(value.get("redirect"), str) is False:
        fields.flag("redirect")
    for name in ("headers", "query"):
        one = value.get(name)
        if one is not None and not isinstance(one, dict | str):
            message = f"{name} must be a mapping or an expression, not {kind_of(one)}"
            desk.error("BAD_FIELD", message, join(fields.at, name))
    endpoint = value.pop("endpoint", None)
    uri, policy, policy_at = _endpoint(endpoint, join(fields.at, "endpoint"), desk)
    value["endpoint"] = uri
    if policy is not None:
        value["authentication"] = read_authentication(policy, policy_at, desk, secrets)

    def compiled(text: str, inner: str) -> Computed | str:
        if inner == "/endpoint" and expression_in(text) is None:
            return UriTemplate(text) if has_variables(text) else text
        place = policy_at + inner.removeprefix("/authentication")
        where = place if inner.startswith("/authentication/") else fields.at + inner
        return desk.text(text, where, CALL_DEFINITION)

    template = Template(value, compiled)
    if "secrets" in template.names:
        secrets |= set(desk.uses.secrets)
    return Call(**base, function="http", arguments=template, secrets=tuple(sorted(secrets)))


def _endpoint(value: Any, at: str, desk: Desk) -> tuple[str, Any, str]:
    """Return the URI of an endpoint, and its authentication policy with its place."""
    policy = None
    if isinstance(value, dict):
        fields = desk.fields(value, "endpoint", at)
        fields.reject_unknown(("uri", "authentication"))
        policy = value.get("authentication")
        value = value.get("uri")
    if not isinstance(value, str) or not value:
        hint = "write a URL, or {uri: URL, authentication: {...}}"
        desk.error("BAD_FIELD", "the endpoint has no URI that is text", at, hint)
        value = ""
    return value, policy, join(at, "authentication")


def read_authentication(value: Any, at: str, desk: Desk, secrets: set[str]) -> dict[str, Any]:
    """Return a policy as the call takes it: a scheme, and its values or the secret they are in."""
    if isinstance(value, dict) and "use" in value:
        name = value["use"]
        value = reuse(desk, "authentications", str(name), join(at, "use"))
        at = join("/use/authentications", str(name))
    if not isinstance(value, dict) or len(value) != 1:
        if value is not None:
            hint = "write {basic: {...}}, {bearer: {...}} or {use: NAME}"
            desk.error("BAD_FIELD", "an authentication is a mapping with one scheme", at, hint)
        return {}
    ((scheme, given),) = value.items()
    here = join(at, scheme)
    if scheme in _LATER_SCHEMES:
        desk.unsupported(f"the authentication scheme {quote(scheme)}", here, "use basic or bearer")
        return {}
    if scheme not in _SCHEMES or not isinstance(given, dict):
        hint = f"known are: {', '.join(_SCHEMES)}"
        desk.error("BAD_FIELD", f"{quote(scheme)} is not a scheme with its values", here, hint)
        return {}
    fields = desk.fields(given, scheme, here)
    if "use" in given:
        fields.reject_unknown(("use",))
        return _by_secret(scheme, fields, desk, secrets)
    fields.reject_unknown(_SCHEMES[scheme])
    for name in _SCHEMES[scheme]:
        fields.text(name, required=f"write its {name}, best as ${{ $secrets.NAME.{name} }}")
    return {"scheme": scheme, **given}


def _by_secret(scheme: str, fields: Fields, desk: Desk, secrets: set[str]) -> dict[str, Any]:
    name = fields.text("use", required="name a secret") or ""
    if name and name not in desk.uses.secrets:
        at = join(fields.at, "use")
        message = f"use.secrets does not name {quote(name)}"
        desk.error("UNKNOWN_NAME", message, at, "add it under /use/secrets")
    secrets.add(name)
    return {"scheme": scheme, "secret": name}

"""Authentication policies: the scheme, and its values or the secret that holds them."""

from __future__ import annotations

from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, quote
from onward.languages.serverless.read.reader import DocumentReader
from onward.languages.serverless.read.task_fields import reuse
from onward.languages.serverless.templates import expression_in

_TOKEN_FIELDS = (
    "authority",
    "grant",
    "client",
    "request",
    "issuers",
    "scopes",
    "audiences",
    "username",
    "password",
    "subject",
    "actor",
)
_SCHEMES = {
    "basic": ("username", "password"),
    "bearer": ("token",),
    "digest": ("username", "password"),
    "oauth2": (*_TOKEN_FIELDS, "endpoints"),
    "oidc": _TOKEN_FIELDS,
}
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_GRANTS = ("authorization_code", "client_credentials", "password", "refresh_token", _EXCHANGE)
_GRANTS_OF_SECRETS = ("authorization_code", "refresh_token")
_METHODS = ("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt")
_ENCODINGS = ("application/x-www-form-urlencoded", "application/json")


def read_authentication(
    value: Any, at: str, reader: DocumentReader, secrets: set[str]
) -> dict[str, Any]:
    """Return a policy as a call takes it: a scheme, and its values or the secret they are in."""
    if isinstance(value, dict) and "use" in value:
        name = value["use"]
        value = reuse(reader, "authentications", str(name), join(at, "use"))
        at = join("/use/authentications", str(name))
    if not isinstance(value, dict) or len(value) != 1:
        if value is not None:
            hint = "write {basic: {...}}, {bearer: {...}} or {use: NAME}"
            reader.error("BAD_FIELD", "an authentication is a mapping with one scheme", at, hint)
        return {}
    ((scheme, body),) = value.items()
    here = join(at, scheme)
    if scheme == "certificate":
        hint = "the specification does not say what it holds: use another scheme"
        reader.unsupported('the authentication scheme "certificate"', here, hint)
        return {}
    if scheme not in _SCHEMES or not isinstance(body, dict):
        hint = f"known are: {', '.join(_SCHEMES)}"
        reader.error("BAD_FIELD", f"{quote(scheme)} is not a scheme with its values", here, hint)
        return {}
    fields = reader.fields(body, scheme, here)
    if "use" in body:
        fields.reject_unknown(("use",))
        return _by_secret(scheme, fields, reader, secrets)
    fields.reject_unknown(_SCHEMES[scheme])
    if scheme in ("oauth2", "oidc"):
        return {"scheme": scheme, **_tokens(fields, reader)}
    for name in _SCHEMES[scheme]:
        fields.text(name, required=f"write its {name}, best as ${{ $secrets.NAME.{name} }}")
    return {"scheme": scheme, **body}


def _by_secret(
    scheme: str, fields: Fields, reader: DocumentReader, secrets: set[str]
) -> dict[str, Any]:
    name = fields.text("use", required="name a secret") or ""
    if name and name not in reader.uses.secrets:
        at = join(fields.at, "use")
        message = f"use.secrets does not name {quote(name)}"
        reader.error("UNKNOWN_NAME", message, at, "add it under /use/secrets")
    secrets.add(name)
    return {"scheme": scheme, "secret": name}


def _tokens(fields: Fields, reader: DocumentReader) -> dict[str, Any]:
    """Check a policy of OAuth 2 or OpenID Connect, and return its values."""
    fields.text("authority", required="write the URL of the authority")
    found = dict(fields.value)
    grant = fields.text("grant", required=f"one of: {', '.join(_GRANTS)}")
    if grant is not None and expression_in(grant) is None:
        found["grant"] = grant.replace("-", "_") if grant.replace("-", "_") in _GRANTS else grant
        _check_grant(str(found["grant"]), fields, reader)
    client = fields.inside("client", ("id", "secret", "assertion", "authentication"))
    for name in ("id", "secret", "assertion"):
        client.text(name)
    if client.choice("authentication", (*_METHODS, "none")) == "private_key_jwt":
        client.text("assertion", required="write the signed statement, best as ${ $secrets... }")
    request = fields.inside("request", ("encoding",))
    request.choice("encoding", _ENCODINGS)
    if "endpoints" in fields.value:
        endpoints = fields.inside("endpoints", ("token", "revocation", "introspection"))
        for name in ("token", "revocation", "introspection"):
            endpoints.text(name)
    for name in ("issuers", "scopes", "audiences"):
        fields.texts(name)
    for name in ("subject", "actor"):
        if name in fields.value:
            proof = fields.inside(name, ("token", "type"))
            for part in ("token", "type"):
                proof.text(part, required=f"write its {part}")
    return found


def _check_grant(grant: str, fields: Fields, reader: DocumentReader) -> None:
    at = join(fields.at, "grant")
    if grant not in _GRANTS:
        reader.error("BAD_FIELD", f"there is no grant {quote(grant)}", at, ", ".join(_GRANTS))
    elif grant in _GRANTS_OF_SECRETS:
        needed = "code" if grant == "authorization_code" else grant
        message = f"the grant {grant} needs a {quote(needed)}, for which a policy has no place"
        hint = f"put the whole policy into a secret, and write {fields.owner}: {{use: NAME}}"
        reader.error("BAD_FIELD", message, at, hint)
    elif grant == "password":
        for name in ("username", "password"):
            fields.text(name, required=f"write its {name}, best as ${{ $secrets.NAME.{name} }}")
    elif grant == _EXCHANGE and "subject" not in fields.value:
        hint = "write subject: {token: ..., type: ...}"
        reader.error("MISSING_FIELD", "a token exchange has no subject", fields.at, hint)

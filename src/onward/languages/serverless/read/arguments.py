"""The arguments of a call: values with expressions, endpoints with their policies, secrets."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import msgspec

from onward.errors import ExpressionError
from onward.languages.document.fields import Fields
from onward.languages.document.problems import join
from onward.languages.serverless.model import CallTask
from onward.languages.serverless.read.authentication import read_authentication
from onward.languages.serverless.read.reader import CALL_DEFINITION, DocumentReader
from onward.languages.serverless.templates import (
    Computed,
    EvaluationInput,
    JsonTemplate,
    expression_in,
)

# -- URI templates as the language has them: RFC 6570's simple expansion, over top-level keys.


_VARIABLE = re.compile(r"\{([^{}]+)\}")


class UriTemplate:
    """A URI with `{variables}`, each a key of the task's input, taken as it is written."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def names(self) -> frozenset[str]:
        """No variables of expressions are known here."""
        return frozenset()

    def evaluate(self, given: EvaluationInput) -> str:
        """Return the URI; a key that is missing, or null, leaves nothing."""
        data = given.data if isinstance(given.data, dict) else {}
        return _VARIABLE.sub(lambda found: _text(found[1], data.get(found[1])), self._text)


def has_variables(text: str) -> bool:
    """Return whether a text is a URI template with anything to expand."""
    return _VARIABLE.search(text) is not None


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        kind = "an object" if isinstance(value, dict) else "an array"
        message = f"the URI's variable {{{name}}} is {kind}: only text, numbers and booleans fit"
        raise ExpressionError(message)
    plain = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return quote(plain, safe="")


_WORDS = {
    "basic": "Basic",
    "bearer": "Bearer",
    "digest": "Digest",
    "oauth2": "Bearer",
    "oidc": "Bearer",
}
_READ_FIRST = ("/document", "/proto", "/agentCard")


class Arguments:
    """Collects what a call is given, in the shape that its node type takes.

    What is moved on the way is remembered, so that a mistake is reported where it was written.
    """

    def __init__(self, desk: DocumentReader, at: str, value: dict[str, Any] | None = None) -> None:
        """`at` is the place of `with`."""
        self.desk = desk
        self.value = dict(value or {})
        self._at = at
        self._moved: dict[str, str] = {}
        self._uris: set[str] = set()
        self._secrets: set[str] = set()
        self._policies: dict[str, dict[str, Any]] = {}

    def endpoint(self, value: Any, at: str, inner: str) -> dict[str, Any]:
        """Return an endpoint as `{uri, authentication}`; `inner` is its pointer in the call."""
        policy = None
        if isinstance(value, dict):
            fields = self.desk.fields(value, "endpoint", at)
            fields.reject_unknown(("uri", "authentication"))
            policy = value.get("authentication")
            value = value.get("uri")
        if not isinstance(value, str) or not value:
            hint = "write a URL, or {uri: URL, authentication: {...}}"
            self.desk.error("BAD_FIELD", "the endpoint has no URI that is text", at, hint)
            value = ""
        self._moved[f"{inner}/uri"] = at
        self._uris.add(f"{inner}/uri")
        found = {"uri": value}
        if policy is not None:
            found["authentication"] = self.policy(
                policy, join(at, "authentication"), f"{inner}/authentication"
            )
        return found

    def resource(self, fields: Fields, name: str) -> dict[str, Any]:
        """Return an external resource, which is needed, as its endpoint."""
        value, at = fields.value.get(name), join(fields.at, name)
        if not isinstance(value, dict):
            hint = "write {endpoint: URL}"
            message = f"{fields.owner} has no {name}, which is a mapping with an endpoint"
            self.desk.error("MISSING_FIELD", message, fields.at if value is None else at, hint)
            return {}
        inner = self.desk.fields(value, f'{fields.owner}: "{name}"', at)
        inner.reject_unknown(("name", "endpoint"))
        inner.text("name")
        return self.endpoint(value.get("endpoint"), join(at, "endpoint"), f"/{name}")

    def policy(self, value: Any, at: str, inner: str) -> dict[str, Any]:
        """Return an authentication policy; `inner` is its pointer in the call."""
        self._moved[inner] = at
        self._policies[inner] = read_authentication(value, at, self.desk, self._secrets)
        return self._policies[inner]

    def uri(self, inner: str) -> None:
        """Say that the text with a pointer in the call is a URI template."""
        self._uris.add(inner)

    def moved(self, inner: str, at: str) -> None:
        """Say where the value with a pointer in the call was written."""
        self._moved[inner] = at

    def call(self, base: dict[str, Any], function: str) -> CallTask:
        """Return the call."""
        template = JsonTemplate(self.value, self._compiled)
        secrets = set(self._secrets)
        if "secrets" in template.names:
            secrets |= set(self.desk.uses.secrets)
        inner, policy = self._own_policy()
        early = None
        if "authorization" in template.names and policy:
            if policy.get("scheme") == "digest":
                message = "$authorization is not known before the challenge of the server"
                hint = "use it with basic, bearer, oauth2 or oidc"
                self.desk.error("UNKNOWN_VARIABLE", message, self._at, hint)
            early = JsonTemplate(
                {"authentication": policy},
                lambda text, at: self._of_policy(
                    text, self._place(inner + at.removeprefix("/authentication"))
                ),
            )
        return CallTask(
            **base,
            function=function,
            arguments=template,
            secrets=tuple(sorted(secrets)),
            policy=early,
            scheme=_WORDS.get(policy.get("scheme", ""), ""),
        )

    def _own_policy(self) -> tuple[str, dict[str, Any]]:
        """Return as whom the call is made, and where that stands; what it reads has its own."""
        for inner, policy in self._policies.items():
            if not inner.startswith(_READ_FIRST):
                return inner, policy
        return "", {}

    def _of_policy(self, text: str, at: str) -> Computed | str:
        return self.desk.text(text, at, CALL_DEFINITION - {"authorization"})

    def _compiled(self, text: str, inner: str) -> Computed | str:
        if inner in self._uris and expression_in(text) is None:
            plain = text.startswith("data:") or not has_variables(text)
            return text if plain else UriTemplate(text)
        return self.desk.text(text, self._place(inner), CALL_DEFINITION)

    def _place(self, inner: str) -> str:
        around = inner
        while around and around not in self._moved:
            around = around.rpartition("/")[0]
        return self._moved.get(around, self._at) + inner.removeprefix(around)

"""The arguments of a call: URI templates, endpoints with their policies, expressions, secrets."""

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
    ComputedText,
    EvaluationInput,
    JsonTemplate,
    expression_in,
)

_VARIABLE = re.compile(r"\{([^{}]+)\}")
_SCHEME_WORDS = {
    "basic": "Basic",
    "bearer": "Bearer",
    "digest": "Digest",
    "oauth2": "Bearer",
    "oidc": "Bearer",
}
_READ_BEFORE_CALL = ("/document", "/proto", "/agentCard")


# -- URI templates: RFC 6570's simple expansion, over top-level keys ------------------------------


class UriTemplate:
    """A URI with `{variables}`, each a key of the task's input, spelled exactly so."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def names(self) -> frozenset[str]:
        """No variables of expressions are known here."""
        return frozenset()

    def evaluate(self, inputs: EvaluationInput) -> str:
        """Return the URI; a key that is missing, or null, leaves nothing."""
        data = inputs.data if isinstance(inputs.data, dict) else {}
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


# -- arguments -----------------------------------------------------------------------------------


class Arguments:
    """Collects the arguments of a call, in the shape that its node type takes.

    The place of each value that is moved is recorded, so that a mistake is reported where it was
    written.
    """

    def __init__(
        self, reader: DocumentReader, at: str, value: dict[str, Any] | None = None
    ) -> None:
        """`at` is the place of `with`."""
        self.reader = reader
        self.value = dict(value or {})
        self._with_at = at
        self._moved: dict[str, str] = {}
        self._uris: set[str] = set()
        self._secrets: set[str] = set()
        self._policies: dict[str, dict[str, Any]] = {}

    def endpoint(self, value: Any, at: str, inner: str) -> dict[str, Any]:
        """Return an endpoint as `{uri, authentication}`; `inner` is its pointer in the call."""
        policy = None
        if isinstance(value, dict):
            self.reader.fields(value, "endpoint", at, ("uri", "authentication"))
            policy = value.get("authentication")
            value = value.get("uri")
        if not isinstance(value, str) or not value:
            hint = "write a URL, or {uri: URL, authentication: {...}}"
            self.reader.error("BAD_FIELD", "the endpoint has no URI that is text", at, hint)
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
            self.reader.error("MISSING_FIELD", message, fields.at if value is None else at, hint)
            return {}
        inner = self.reader.fields(value, f'{fields.owner}: "{name}"', at, ("name", "endpoint"))
        inner.text("name")
        return self.endpoint(value.get("endpoint"), join(at, "endpoint"), f"/{name}")

    def policy(self, value: Any, at: str, inner: str) -> dict[str, Any]:
        """Return an authentication policy; `inner` is its pointer in the call."""
        self._moved[inner] = at
        self._policies[inner] = read_authentication(value, at, self.reader, self._secrets)
        return self._policies[inner]

    def authentication(self, fields: Fields) -> None:
        """Read the policy that a mapping has as its `authentication`, if any, for the call."""
        policy = fields.value.get("authentication")
        if policy is not None:
            at = join(fields.at, "authentication")
            self.value["authentication"] = self.policy(policy, at, "/authentication")

    def mark_uri(self, inner: str) -> None:
        """Note that the text with a pointer in the call is a URI template."""
        self._uris.add(inner)

    def move(self, inner: str, at: str) -> None:
        """Note where the value with a pointer in the call was written."""
        self._moved[inner] = at

    def call(self, base: dict[str, Any], function: str) -> CallTask:
        """Return the call."""
        template = JsonTemplate(self.value, self._compile_text)
        secrets = set(self._secrets)
        if "secrets" in template.names:
            secrets |= set(self.reader.uses.secrets)
        inner, policy = self._own_policy()
        early = None
        if "authorization" in template.names and policy:
            if policy.get("scheme") == "digest":
                message = "$authorization is not known before the challenge of the server"
                hint = "use it with basic, bearer, oauth2 or oidc"
                self.reader.error("UNKNOWN_VARIABLE", message, self._with_at, hint)
            early = JsonTemplate(
                {"authentication": policy},
                lambda text, at: self._policy_text(
                    text, self._place(inner + at.removeprefix("/authentication"))
                ),
            )
        return CallTask(
            **base,
            function=function,
            arguments=template,
            secrets=tuple(sorted(secrets)),
            policy=early,
            scheme=_SCHEME_WORDS.get(policy.get("scheme", ""), ""),
        )

    def _own_policy(self) -> tuple[str, dict[str, Any]]:
        """Return the policy of the call itself and its pointer, not that of a document it reads."""
        for inner, policy in self._policies.items():
            if not inner.startswith(_READ_BEFORE_CALL):
                return inner, policy
        return "", {}

    def _policy_text(self, text: str, at: str) -> ComputedText | str:
        return self.reader.text(text, at, CALL_DEFINITION - {"authorization"})

    def _compile_text(self, text: str, inner: str) -> ComputedText | str:
        if inner in self._uris and expression_in(text) is None:
            plain = text.startswith("data:") or not has_variables(text)
            return text if plain else UriTemplate(text)
        return self.reader.text(text, self._place(inner), CALL_DEFINITION)

    def _place(self, inner: str) -> str:
        around = inner
        while around and around not in self._moved:
            around = around.rpartition("/")[0]
        return self._moved.get(around, self._with_at) + inner.removeprefix(around)

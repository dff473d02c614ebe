"""URI templates as the language has them: RFC 6570's simple expansion, over top-level keys."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import msgspec

from onward.errors import ExpressionError
from onward.languages.serverless.values import Given

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

    def evaluate(self, given: Given) -> str:
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

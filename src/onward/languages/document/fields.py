"""The fields of a mapping: each wrong or unknown one is a finding with its remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from onward.languages.document.problems import Findings, join, kind_of, quote, suggest

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ID_HINT = "use letters, digits, - and _ only"


class Fields:
    """The fields of one mapping, called `owner` in messages.

    A field that is null counts as missing. A field that is wrong gives its default after it was
    reported, so that reading continues and finds the next problem.
    """

    def __init__(self, value: Mapping[str, Any], owner: str, at: str, findings: Findings) -> None:
        self.value = value
        self.owner = owner
        self.at = at
        self.findings = findings

    def reject_unknown(self, known: tuple[str, ...]) -> None:
        """Report every field that is not one of `known`."""
        for name in self.value:
            if name not in known:
                hint = suggest(name, known) or f"known are: {', '.join(known)}"
                self._error("UNKNOWN_FIELD", name, f"has no field {quote(name)}", hint)

    def text(self, name: str, *, required: str = "") -> str | None:
        """Return a text; `required` is the hint for one that is missing."""
        value = self.value.get(name)
        if value is None:
            if required:
                self._missing(name, required)
            return None
        if not isinstance(value, str):
            hint = "put it in quotes" if isinstance(value, (int, float)) else "write a text"
            self._wrong(name, "text", value, hint)
            return None
        if not value and required:
            self._error("BAD_FIELD", name, f"has an empty {quote(name)}", required)
            return None
        return value

    def identifier(self, name: str, *, required: str = "") -> str | None:
        """Return an id that messages, keys and expressions can carry."""
        value = self.text(name, required=required)
        if value is None or _ID.fullmatch(value):
            return value
        message = f"cannot have the {name} {quote(value)}"
        self._error("BAD_ID", name, message, _ID_HINT)
        return None

    def is_name(self, name: str) -> bool:
        """Return whether a field is called so that expressions can name it."""
        if _ID.fullmatch(name):
            return True
        self._error("BAD_ID", name, f"cannot have the name {quote(name)}", _ID_HINT)
        return False

    def flag(self, name: str) -> bool:
        """Return true or false; a missing flag is false."""
        value = self.value.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._wrong(name, "true or false", value, "write true or false, without quotes")
        return False

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        """Return one of `choices`."""
        value = self.value.get(name)
        if value is None or (isinstance(value, str) and value in choices):
            return value
        shown = quote(value) if isinstance(value, str) else kind_of(value)
        hint = suggest(str(value), choices) or f"one of: {', '.join(choices)}"
        self._error("BAD_FIELD", name, f"has an unknown {name}, {shown}", hint)
        return None

    def seconds(self, name: str, *, zero: bool = False) -> float | None:
        """Return a duration: a number of seconds above zero, or zero where that is sensible."""
        value = self.value.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong(name, "a number of seconds", value, "write seconds, such as 30 or 0.5")
            return None
        if not 0 <= value <= 1e9 or (value == 0 and not zero):
            message = f"has {name} {value:.12g}, which is not a possible number of seconds"
            least = "from 0" if zero else "above 0 and"
            self._error("BAD_FIELD", name, message, f"write a number {least} up to 1e9")
            return None
        return float(value)

    def number(self, name: str, low: float, high: float, *, whole: bool = False) -> float | None:
        """Return a number from `low` to `high`."""
        value = self.value.get(name)
        if value is None:
            return None
        wanted = f"a {'whole ' if whole else ''}number from {low:g} to {high:g}"
        kinds = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds):
            self._wrong(name, wanted, value, f"write {wanted}")
            return None
        if not low <= value <= high:
            self._error("BAD_FIELD", name, f"has {name} {value:.12g}", f"write {wanted}")
            return None
        return float(value)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return a mapping; a missing one is empty."""
        value = self.value.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self._wrong(name, "a mapping", value, "write fields and their values")
            return {}
        return value

    def items(self, name: str, *, required: str = "") -> list[Any]:
        """Return a list; a missing one is empty, and `required` is then the hint."""
        value = self.value.get(name)
        if value is None:
            if required:
                self._missing(name, required)
            return []
        if not isinstance(value, list):
            self._wrong(name, "a list", value, "write a list, each item after `- `")
            return []
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; one text alone is a list of one."""
        value = self.value.get(name)
        if value is None:
            return ()
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            self._wrong(name, "a list of texts", value, 'write a list such as ["HTTP_TIMEOUT"]')
            return ()
        return tuple(items)

    def inside(self, name: str, known: tuple[str, ...] | None = None) -> Fields:
        """Return the fields of the mapping under `name`, which may have only the `known` ones."""
        owner = f'{self.owner}: "{name}"'
        fields = Fields(self.mapping(name), owner, join(self.at, name), self.findings)
        if known is not None:
            fields.reject_unknown(known)
        return fields

    def _missing(self, name: str, hint: str) -> None:
        message = f"{self.owner} has no {quote(name)}"
        self.findings.error("MISSING_FIELD", message, at=self.at, hint=hint)

    def _wrong(self, name: str, wanted: str, value: Any, hint: str) -> None:
        message = f"needs {wanted} as {quote(name)}, not {kind_of(value)}"
        self._error("BAD_FIELD", name, message, hint)

    def _error(self, code: str, name: str, message: str, hint: str) -> None:
        self.findings.error(code, f"{self.owner} {message}", at=join(self.at, name), hint=hint)

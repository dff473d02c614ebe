"""Redaction: secrets are kept out of what is stored, such as outputs, errors, logs and history.

A service may send a secret back in any shape, so every shape it is likely to take is looked for.
The judgement of what is secret errs on the side of hiding: a credential's field is a secret unless
its name is known to be harmless.
"""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, quote_plus

REDACTED: Final = "[redacted]"
"""What stands for a secret wherever one would become data."""

PUBLIC_FIELDS: Final = frozenset(
    {"host", "port", "tls", "verify_tls", "username", "user", "from", "header", "url", "base_url"}
    | {"scheme", "region", "realm", "database", "tenant", "type"}
)

# A shorter value protects nothing, and hiding every "a" or "42" would destroy the run's own data.
_SHORTEST_SECRET = 4
_LONGEST_NUMBER = 100
# Words that JSON and configuration are full of: a field may well hold one, a secret never does.
_WORDS = frozenset({"true", "false", "null", "none"})
# Stands between texts that are searched as one. A lone surrogate is in no secret, so no secret is
# found across two of them.
_APART = "\ud800"


class Redactor:
    """Replaces the secrets of some credentials wherever they occur in a value.

    It knows them raw, in base64 (alone and as `user:password`), percent-encoded, and escaped for
    JSON and HTML. It does not find a secret that was cut in pieces or transformed otherwise.
    """

    def __init__(self, credentials: Iterable[Mapping[str, str]] = ()) -> None:
        forms = {form for fields in credentials for form in _forms_of(fields)}
        # The longest first: a secret that holds another one must not be replaced in part.
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self._numbers = frozenset(number for form in forms for number in _numbers(form))

    def redact(self, value: Any) -> Any:
        """Return `value` with every secret replaced, keys included.

        When it holds none, the very same object is returned. Nesting may be of any depth.
        """
        if not self._forms or not self._touches(value):
            return value
        top: list[Any] = [None]
        todo: list[tuple[Any, Any, Any]] = [(value, top, 0)]
        while todo:
            old, parent, place = todo.pop()
            new = self._shell(old)
            parent[place] = new
            if isinstance(old, dict):
                # The names are set in order before the values, which come off the stack reversed.
                names = [self._scalar(name) for name in old]
                new.update(dict.fromkeys(names))
                todo.extend(zip(old.values(), (new for _ in names), names, strict=True))
            elif isinstance(old, (list, tuple)):
                todo.extend((item, new, index) for index, item in enumerate(old))
        return top[0]

    def _touches(self, value: Any) -> bool:
        """Return whether anything must be replaced; the texts are searched as one, for speed."""
        texts: list[str] = []
        todo = [value]
        while todo:
            item = todo.pop()
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, dict):
                todo.extend(item)
                todo.extend(item.values())
            elif isinstance(item, (list, tuple)):
                todo.extend(item)
            elif self._scalar(item) is not item:
                return True
        joined = _APART.join(texts)
        return any(form in joined for form in self._forms)

    def _shell(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {}
        if isinstance(value, (list, tuple)):
            return [None] * len(value)
        return self._scalar(value)

    def _scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            for form in self._forms:
                if form in value:
                    value = value.replace(form, REDACTED)
            return value
        if self._numbers and isinstance(value, (int, float)) and value in self._numbers:
            return REDACTED
        return value


def _forms_of(fields: Mapping[str, str]) -> Iterator[str]:
    for name, value in fields.items():
        if name.lower() not in PUBLIC_FIELDS and _worth_hiding(value):
            yield from _forms(value)
    user, password = fields.get("username", fields.get("user")), fields.get("password")
    if user is not None and password:
        # What basic authentication and AUTH PLAIN put on the wire.
        yield from _base64(f"{user}:{password}")
        yield from _base64(f"\0{user}\0{password}")


def _worth_hiding(value: str) -> bool:
    return len(value.strip()) >= _SHORTEST_SECRET and value.strip().lower() not in _WORDS


def _forms(secret: str) -> Iterator[str]:
    for text in {secret, secret.strip()}:
        yield text
        yield from _base64(text)
        for quoted in (quote(text, safe=""), quote(text), quote_plus(text)):
            yield quoted
            yield _lower_escapes(quoted)
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield html.escape(text)


def _numbers(form: str) -> Iterator[int | float]:
    """Yield the numbers that a secret of digits becomes when a service parses it."""
    if len(form) <= _LONGEST_NUMBER and form.isascii():
        for kind in (int, float):
            # Only as numbers are written: "0001" must not make every 1 a secret.
            with suppress(ValueError):
                if repr(kind(form)) == form:
                    yield kind(form)


def _base64(text: str) -> Iterator[str]:
    for encoded in (b64encode(text.encode()), urlsafe_b64encode(text.encode())):
        yield encoded.decode()
        yield encoded.decode().rstrip("=")


def _lower_escapes(quoted: str) -> str:
    head, *rest = quoted.split("%")
    return "%".join((head, *(part[:2].lower() + part[2:] for part in rest)))

"""The form of a credential: a name, and fields that are texts."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from onward.errors import CredentialError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def check_name(name: str) -> None:
    """Raise CredentialError unless `name` can be the name of a credential."""
    if not _NAME.fullmatch(name):
        raise CredentialError(
            f"{name[:100]!r} is not a credential's name: use letters, digits, '_' and '-'"
        )


def read_fields(value: object, place: str) -> dict[str, str]:
    """Return a credential's fields as texts; numbers and booleans as JSON writes them.

    Raises CredentialError naming `place` and the field, never a value.
    """
    if not isinstance(value, Mapping) or not value:
        raise CredentialError(f"{place} must be a JSON object with at least one field")
    fields: dict[str, str] = {}
    for name, item in value.items():
        if not isinstance(item, (str, int, float)):
            raise CredentialError(f"{place}: field {name!r} must be a text, number or boolean")
        fields[name] = item if isinstance(item, str) else msgspec.json.encode(item).decode()
        check_text(fields[name], f"{place}: field {name!r}")
    return fields


def check_text(value: str, place: str) -> None:
    """Raise CredentialError, naming `place`, when `value` holds bytes that were not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CredentialError(f"{place} is not valid UTF-8 text") from None

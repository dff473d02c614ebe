"""What the documents that describe an API share: references inside of them, variables in URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from onward.nodes.failures import bad_request

_DEEPEST_REF = 20
_VARIABLE = re.compile(r"\{([^{}]+)\}")


def follow_refs(document: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """Return the object that a value is or refers to; {} for none. Raises RefusedError."""
    for _ in range(_DEEPEST_REF):
        if not isinstance(value, Mapping):
            return {}
        ref = value.get("$ref")
        if not isinstance(ref, str):
            return value
        if not ref.startswith("#/"):
            raise bad_request(
                f"the document refers to {ref[:100]!r}, outside of it: bundle it first"
            )
        value = document
        for part in ref[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            value = value.get(name) if isinstance(value, Mapping) else None
    raise bad_request("the document's references go round in circles")


def fill_variables(text: str, value_of: Callable[[str], Any]) -> str:
    """Return a text with each `{variable}` replaced by its value."""
    return _VARIABLE.sub(lambda found: str(value_of(found[1])), text)

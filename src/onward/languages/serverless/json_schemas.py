"""JSON Schemas of a document: compiled once; nothing is fetched, no pattern can run away."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

_SHOWN = 3


class Schema:
    """One compiled schema."""

    def __init__(self, document: Any) -> None:
        """Compile it; ValueError says why it is no JSON Schema."""
        try:
            self._validator = jsonschema_rs.validator_for(
                document, retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions()
            )
        except (ValueError, TypeError) as problem:
            raise ValueError(str(problem).partition("\n")[0]) from None

    def complaint(self, value: Any) -> str:
        """Return what is wrong with `value`, in a sentence; "" when nothing is."""
        found = []
        for error in self._validator.iter_errors(value):
            where = "".join(f"/{part}" for part in error.instance_path)
            found.append(f"{where or '/'}: {error.message[:300]}")
            if len(found) == _SHOWN:
                break
        return "; ".join(found)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is outside the document: write what it refers to under $defs")

"""How a document of the Serverless Workflow DSL is recognised, without importing its reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_serverless(value: Any) -> bool:
    """Return whether a decoded document is one of this language: it begins with its version."""
    head = value.get("document") if isinstance(value, Mapping) else None
    return isinstance(head, Mapping) and "dsl" in head

"""A graph workflow as data: what a document says, typed, before anything is judged.

`places` maps JSON pointers to (line, column) of the source text, so that every later complaint can
name the line a person must change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from onward.kernel.retry import Backoff, RetryPolicy

__all__ = [
    "Backoff",
    "Document",
    "EdgeDocument",
    "EdgeKind",
    "ErrorPolicy",
    "ErrorStrategy",
    "LinkDocument",
    "NodeDocument",
    "RetryPolicy",
]

ErrorStrategy = Literal["halt", "ignore", "branch"]
EdgeKind = Literal["success", "error"]


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """What a run does when the node has failed for good."""

    type: ErrorStrategy = "halt"
    error_edge: str | None = None


@dataclass(frozen=True, slots=True)
class LinkDocument:
    """A signed link that a node sends out: to decide at an approval, or to send a signal."""

    name: str
    approval: str | None = None
    """The id of the approval node."""
    approver: Any = None
    signal: Any = None
    key: Any = None
    lasts: float | None = None
    """Seconds that it is good for."""


@dataclass(frozen=True, slots=True)
class NodeDocument:
    """One node, as written."""

    id: str
    type: str
    name: str = ""
    trigger: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    credentials: str | None = None
    error: ErrorPolicy = ErrorPolicy()
    retry: RetryPolicy | None = None
    timeout: float | None = None
    """Seconds one attempt may take."""
    links: tuple[LinkDocument, ...] = ()
    position: Any = None


@dataclass(frozen=True, slots=True)
class EdgeDocument:
    """One edge, as written."""

    id: str
    src: str
    dst: str
    kind: EdgeKind = "success"


@dataclass(frozen=True, slots=True)
class Document:
    """A whole workflow."""

    id: str
    name: str
    nodes: tuple[NodeDocument, ...]
    edges: tuple[EdgeDocument, ...]
    source: bytes = b""
    """The document as canonical JSON: what is hashed, stored and sent."""
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)

"""The plan of a random tree: its document, what its calls do, and which events it receives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NAMESPACE = "simulated"
ENDPOINT = f"http://{NAMESPACE}/"
"""The endpoint of a call, before its name."""


@dataclass(frozen=True, slots=True)
class PublishedEvent:
    """An event that is published from outside, in milliseconds after the run began."""

    at_ms: int
    type: str
    data: Any
    again_ms: int | None = None
    """When the same event is published once more."""


@dataclass(frozen=True, slots=True)
class TreePlan:
    """A workflow of the Serverless Workflow DSL to simulate, and how the world treats it."""

    document: dict[str, Any]
    failures: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Call -> which of its visits fail (the first is 1), and with which status."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Another workflow that is run -> how many milliseconds it takes. It fails as a call does."""
    events: tuple[PublishedEvent, ...] = ()
    fickle: bool = False
    """Whether calls may have another outcome when they are executed again."""


def callee_of(arguments: Mapping[str, Any]) -> str:
    """Return the name of the service or workflow that is called with these arguments."""
    if "workflow" in arguments:
        return str(arguments["workflow"]).removeprefix(f"{NAMESPACE}_")
    return str(arguments["endpoint"]).removeprefix(ENDPOINT)


def answer_of(name: str, visit: int, body: Any) -> Any:
    """Return the answer to a call that succeeds."""
    return {"n": body["n"] + 1, "t": [*body["t"], f"{name}#{visit}"]}

"""Calls: what they are given, made where the secrets that they need are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from weft.languages.serverless.model import Call
from weft.languages.serverless.stops import Act
from weft.languages.serverless.values import Given, Template


class Renders(Protocol):
    """A walk, as far as calls need it."""

    def render(self, template: Template | None, given: Given, at: str, default: Any = None) -> Any:
        """Return what a template makes; without one, the default."""
        ...


def call(
    walk: Renders,
    task: Call,
    given: Given,
    timeout_s: float | None,
    more: Mapping[str, Any] | None = None,
) -> Act:
    """Return the call that a task makes. `more` is what it gets beside its own arguments."""
    more = more or {}
    if not task.secrets:
        return Act(task, {**walk.render(task.arguments, given, task.at), **more}, timeout_s)

    def late(secrets: Any) -> Any:
        sight = {name: given.variables.get(name) for name in task.arguments.names}
        variables = {**sight, "secrets": secrets}
        return {**task.arguments.render(Given(given.data, variables, given.now_ms)), **more}

    return Act(task, late, timeout_s)

"""Calls: what they are given, made where the secrets that they need are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from onward.languages.serverless.model import Call
from onward.languages.serverless.stops import Act
from onward.languages.serverless.values import Given, Template


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
    if not task.late:
        return Act(task, {**walk.render(task.arguments, given, task.at), **more}, timeout_s)

    def late(template: Template, known: Mapping[str, Any]) -> Any:
        sight = {name: given.variables.get(name) for name in template.names}
        made = template.render(Given(given.data, {**sight, **known}, given.now_ms))
        return {**made, **more} if template is task.arguments else made

    return Act(task, late, timeout_s)

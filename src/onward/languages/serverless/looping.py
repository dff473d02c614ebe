"""Loops: each item in turn, for as long as the condition holds. Only an index moves on."""

from __future__ import annotations

from typing import Any, Protocol

from onward.languages.serverless import listening
from onward.languages.serverless.faults import FaultError, standard
from onward.languages.serverless.listening import Next
from onward.languages.serverless.model import For
from onward.languages.serverless.state import Action, Frame
from onward.languages.serverless.values import Expression, Given


class Walk(listening.Walk, Protocol):
    """The walk that has come to a loop, as far as it is needed here."""

    def evaluate(self, expression: Expression, given: Given, at: str) -> Any:
        """Return what an expression comes to."""
        ...


def begin(walk: Walk, task: For, frame: Frame) -> Next:
    """Begin a loop."""
    given = walk.given(task, frame, frame.given)
    items = walk.evaluate(task.items, given, task.at)
    if not isinstance(items, list):
        detail = f"for.in must be an array, but {task.items.text!r} is not"
        raise FaultError(standard("expression", detail, task.at))
    frame.items, frame.index = items, -1
    return on(walk, task, frame, frame.given)


def on(walk: Walk, task: For, frame: Frame, data: Any) -> Next:
    """Go on with the next item; `data` is what the one before came to."""
    frame.index += 1
    go_on = task.condition_to_go_on
    if frame.index < len(frame.items) and (
        go_on is None or walk.holds(go_on, walk.given(task, frame, data), task.at)
    ):
        return Action("enter", data, task.tasks[0].at)
    frame.items = None
    return walk.complete(data)

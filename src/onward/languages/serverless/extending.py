"""Extensions: tasks that run before and after other tasks, wherever those are."""

from __future__ import annotations

from typing import Any

from onward.languages.serverless.evaluating import Evaluator
from onward.languages.serverless.model import Extension, Task
from onward.languages.serverless.sight import Sight, described
from onward.languages.serverless.state import Action, Frame
from onward.languages.serverless.values import Given

LEFT = "left"
"""The phase of a task that an extension has replaced: nothing of it runs any more."""


def before(walk: Evaluator, task: Task, frame: Frame, first: int) -> Action | None:
    """Return the first task of the next extension that runs before a task; None for none."""
    for number, one in _from(task, first):
        if one.before and _applies(walk, one, task, frame):
            frame.phase, frame.index = "before", number
            return Action("enter", frame.given, one.before[0].at)
    frame.phase, frame.index = "", 0
    return None


def after(
    walk: Evaluator, task: Task, frame: Frame, raw: Any, then: str | None, first: int
) -> Action | None:
    """Return the first task of the next extension that runs after a task; None for none.

    What the task itself came to is kept meanwhile: an extension does not change it.
    """
    for number, one in _from(task, first):
        if one.after and _applies(walk, one, task, frame):
            frame.phase, frame.index, frame.error, frame.then = "after", number, raw, then or ""
            return Action("enter", raw, one.after[0].at)
    return None


def _from(task: Task, first: int) -> list[tuple[int, Extension]]:
    return list(enumerate(task.extensions))[first:]


def _applies(walk: Evaluator, one: Extension, task: Task, frame: Frame) -> bool:
    if one.when is None:
        return True
    seen = {"task": {**task.definition, **described(task, frame)}}
    sight = Sight(walk.run, walk.state, task, frame, seen)
    given = Given(frame.given, sight, walk.run.now_ms, walk.run.account)
    return walk.holds(one.when, given, task.at)

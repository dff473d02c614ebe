"""The blocks of a walk: loops, tries, extensions, and the arguments of calls.

Each function decides about the task on top of a path and returns the action or the stop that
follows. `walk` calls them; they know only the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onward.kernel.retry import backoff_factor
from onward.languages.serverless.durations import LONGEST_MS
from onward.languages.serverless.errors import Fault, FaultError, name_of, standard_fault
from onward.languages.serverless.model import (
    CallTask,
    Catch,
    Extension,
    ForTask,
    Retry,
    Task,
    TryTask,
)
from onward.languages.serverless.run.path import TreePath
from onward.languages.serverless.run.state import Action, TaskFrame
from onward.languages.serverless.run.stops import Act, Sleep
from onward.languages.serverless.run.variables import TaskVariables, describe_task
from onward.languages.serverless.templates import EvaluationInput, JsonTemplate

LEFT = "left"
"""The phase of a task that an extension has replaced: nothing of it runs any more."""


# -- loops: each item in turn, for as long as the condition holds; only an index moves on ---------


def begin_loop(path: TreePath, task: ForTask, frame: TaskFrame) -> Action:
    """Begin a loop."""
    inputs = path.inputs(task, frame, frame.input)
    items = path.evaluate(task.items, inputs, task.at)
    if not isinstance(items, list):
        detail = f"for.in must be an array, but {task.items.text!r} is not"
        raise FaultError(standard_fault("expression", detail, task.at))
    frame.items, frame.index = items, -1
    return next_item(path, task, frame, frame.input)


def next_item(path: TreePath, task: ForTask, frame: TaskFrame, data: Any) -> Action:
    """Enter the loop for its next item; `data` is the output for the item before."""
    frame.index += 1
    condition = task.loop_condition
    if frame.index < len(frame.items) and (
        condition is None or path.holds(condition, path.inputs(task, frame, data), task.at)
    ):
        return Action("enter", data, task.tasks[0].at)
    frame.items = None
    return Action("complete", data)


# -- tries: retry, run the tasks that handle the error, or let it pass ----------------------------


def handle_fault(
    path: TreePath, task: TryTask, frame: TaskFrame, fault: Fault
) -> Action | Sleep | None:
    """Return what follows from an error inside a try; None when it is not handled there.

    First the try is repeated, as long as the policy allows; then the handling tasks run. With a
    policy and no tasks the error goes up; with neither, the try completes with its own input.
    """
    catch = task.catch
    inputs = path.inputs(task, frame, fault.value(), **{catch.name: fault.value()})
    if not _matches(catch, fault) or not _applies_to(path, catch, inputs, task.at):
        return None
    if catch.retry is not None:
        pause = _retry_pause(path, catch.retry, task, frame, inputs, fault)
        if pause is not None:
            return pause
    if catch.tasks:
        frame.phase, frame.error = "catch", fault.value()
        return Action("enter", frame.input, catch.tasks[0].at)
    if catch.retry is not None:
        return None
    return Action("complete", frame.input, then=catch.then or "")


def _matches(catch: Catch, fault: Fault) -> bool:
    value = fault.value()
    return all(_equal(name, wanted, value.get(name)) for name, wanted in catch.filter.items())


def _equal(name: str, wanted: Any, found: Any) -> bool:
    if name == "type" and isinstance(found, str):
        return name_of(str(wanted)) == name_of(found)
    return bool(wanted == found)


def _applies_to(path: TreePath, policy: Catch | Retry, inputs: EvaluationInput, at: str) -> bool:
    if policy.when is not None and not path.holds(policy.when, inputs, at):
        return False
    return policy.except_when is None or not path.holds(policy.except_when, inputs, at)


def _retry_pause(
    path: TreePath,
    retry: Retry,
    task: TryTask,
    frame: TaskFrame,
    inputs: EvaluationInput,
    fault: Fault,
) -> Sleep | None:
    """Return the pause before another attempt, or None when there are to be no more."""
    if retry.count is not None and frame.attempt >= retry.count:
        return None
    if not _applies_to(path, retry, inputs, task.at):
        return None
    attempt = frame.attempt + 1
    delay_ms = path.duration(retry.delay, inputs, task.at)
    delay_ms = min(delay_ms * backoff_factor(retry.backoff, attempt), LONGEST_MS)
    jitter_ms = 0
    if retry.jitter is not None:
        low, high = (path.duration(bound, inputs, task.at) for bound in retry.jitter)
        delay_ms, jitter_ms = delay_ms + low, max(0, high - low)
    if retry.limit is not None:
        limit_ms = path.duration(retry.limit, inputs, task.at)
        if path.now_ms - frame.since + delay_ms > limit_ms:
            return None
    frame.attempt = attempt
    return Sleep(task.at, Action("attempt", None, task.at), delay_ms, jitter_ms, fault)


# -- extensions: tasks that run before and after other tasks, wherever those are ------------------


def enter_before(path: TreePath, task: Task, frame: TaskFrame, first: int) -> Action | None:
    """Return the first task of the next extension that runs before a task; None for none."""
    for number, extension in _extensions_from(task, first):
        if extension.before and _extends(path, extension, task, frame):
            frame.phase, frame.index = "before", number
            return Action("enter", frame.input, extension.before[0].at)
    frame.phase, frame.index = "", 0
    return None


def enter_after(
    path: TreePath, task: Task, frame: TaskFrame, raw: Any, then: str | None, first: int
) -> Action | None:
    """Return the first task of the next extension that runs after a task; None for none.

    The frame holds the task's own output meanwhile: an extension does not change it.
    """
    for number, extension in _extensions_from(task, first):
        if extension.after and _extends(path, extension, task, frame):
            frame.phase, frame.index, frame.error, frame.then = "after", number, raw, then or ""
            return Action("enter", raw, extension.after[0].at)
    return None


def _extensions_from(task: Task, first: int) -> list[tuple[int, Extension]]:
    return list(enumerate(task.extensions))[first:]


def _extends(path: TreePath, extension: Extension, task: Task, frame: TaskFrame) -> bool:
    if extension.when is None:
        return True
    extra = {"task": {**task.definition, **describe_task(task, frame)}}
    variables = TaskVariables(path.context, path.state, task, frame, extra)
    inputs = EvaluationInput(frame.input, variables, path.now_ms, path.context.account)
    return path.holds(extension.when, inputs, task.at)


# -- calls: their arguments, built where the secrets that they need are known ---------------------


def call_activity(
    path: TreePath,
    task: CallTask,
    inputs: EvaluationInput,
    timeout_s: float | None,
    more: Mapping[str, Any] | None = None,
) -> Act:
    """Return the activity of a call. `more` is added to the arguments that the task has."""
    more = more or {}
    if not task.late:
        return Act(task, {**path.render(task.arguments, inputs, task.at), **more}, timeout_s)

    def late_arguments(template: JsonTemplate, known: Mapping[str, Any]) -> Any:
        variables = {name: inputs.variables.get(name) for name in template.names}
        late = EvaluationInput(inputs.data, {**variables, **known}, inputs.now_ms)
        arguments = template.render(late)
        return {**arguments, **more} if template is task.arguments else arguments

    return Act(task, late_arguments, timeout_s)

"""What a try does about an error: try again, hand it to the tasks that handle it, or let it go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, assert_never

from onward.languages.serverless.durations import LONGEST_MS
from onward.languages.serverless.errors import Fault, FaultError, name_of, standard
from onward.languages.serverless.model import (
    CallTask,
    Catch,
    Duration,
    Extension,
    ForTask,
    Retry,
    Task,
    TryTask,
)
from onward.languages.serverless.run import listen
from onward.languages.serverless.run.evaluator import Evaluator
from onward.languages.serverless.run.listen import Next
from onward.languages.serverless.run.state import Action, TaskFrame
from onward.languages.serverless.run.stops import Act, Sleep, Stop
from onward.languages.serverless.run.variables import TaskVariables, WalkContext, described
from onward.languages.serverless.templates import EvaluationInput, Expression, JsonTemplate

# -- Loops: each item in turn, for as long as the condition holds. Only an index moves on.


class LoopWalk(listen.ListenWalk, Protocol):
    """The walk that has come to a loop, as far as it is needed here."""

    def evaluate(self, expression: Expression, given: EvaluationInput, at: str) -> Any:
        """Return what an expression comes to."""
        ...


def begin(walk: LoopWalk, task: ForTask, frame: TaskFrame) -> Next:
    """Begin a loop."""
    given = walk.given(task, frame, frame.given)
    items = walk.evaluate(task.items, given, task.at)
    if not isinstance(items, list):
        detail = f"for.in must be an array, but {task.items.text!r} is not"
        raise FaultError(standard("expression", detail, task.at))
    frame.items, frame.index = items, -1
    return on(walk, task, frame, frame.given)


def on(walk: LoopWalk, task: ForTask, frame: TaskFrame, data: Any) -> Next:
    """Go on with the next item; `data` is what the one before came to."""
    frame.index += 1
    go_on = task.condition_to_go_on
    if frame.index < len(frame.items) and (
        go_on is None or walk.holds(go_on, walk.given(task, frame, data), task.at)
    ):
        return Action("enter", data, task.tasks[0].at)
    frame.items = None
    return walk.complete(data)


class CatchWalk(Protocol):
    """The walk that met the error, as far as it is needed here."""

    @property
    def run(self) -> WalkContext:
        """The run it is part of."""
        ...

    def given(
        self, task: Task, frame: TaskFrame | None, data: Any, **extra: Any
    ) -> EvaluationInput:
        """Return what an expression of `task` works on."""
        ...

    def holds(self, expression: Expression, given: EvaluationInput, at: str) -> bool:
        """Return whether a condition is true."""
        ...

    def duration(self, duration: Duration, given: EvaluationInput, at: str) -> int:
        """Return a duration in milliseconds."""
        ...

    def complete(self, raw: Any, then: str | None = None) -> Action | Stop:
        """The task on top came to `raw`."""
        ...


def handle(walk: CatchWalk, task: TryTask, frame: TaskFrame, fault: Fault) -> Action | Stop | None:
    """Return what follows from an error inside a try; None when it is not handled there.

    First it is tried again, as long as the policy allows; then the handling tasks run. With a
    policy and no tasks the error goes on up; with neither, the try goes on with its own input.
    """
    catch = task.catch
    given = walk.given(task, frame, fault.value(), **{catch.name: fault.value()})
    if not _matches(catch, fault) or not _wanted(walk, catch, given, task.at):
        return None
    if catch.retry is not None:
        again = _again(walk, catch.retry, task, frame, given, fault)
        if again is not None:
            return again
    if catch.tasks:
        frame.phase, frame.error = "catch", fault.value()
        return Action("enter", frame.given, catch.tasks[0].at)
    if catch.retry is not None:
        return None
    return walk.complete(frame.given, catch.then)


def _matches(catch: Catch, fault: Fault) -> bool:
    value = fault.value()
    return all(_equal(name, wanted, value.get(name)) for name, wanted in catch.filter.items())


def _equal(name: str, wanted: Any, found: Any) -> bool:
    if name == "type" and isinstance(found, str):
        return name_of(str(wanted)) == name_of(found)
    return bool(wanted == found)


def _wanted(walk: CatchWalk, policy: Catch | Retry, given: EvaluationInput, at: str) -> bool:
    if policy.when is not None and not walk.holds(policy.when, given, at):
        return False
    return policy.except_when is None or not walk.holds(policy.except_when, given, at)


def _again(
    walk: CatchWalk,
    retry: Retry,
    task: TryTask,
    frame: TaskFrame,
    given: EvaluationInput,
    fault: Fault,
) -> Sleep | None:
    """Return the pause before another attempt, or None when there are to be no more."""
    if retry.count is not None and frame.attempt >= retry.count:
        return None
    if not _wanted(walk, retry, given, task.at):
        return None
    number = frame.attempt + 1
    delay_ms = _delay(walk.duration(retry.delay, given, task.at), retry, number)
    jitter_ms = 0
    if retry.jitter is not None:
        low, high = (walk.duration(one, given, task.at) for one in retry.jitter)
        delay_ms, jitter_ms = delay_ms + low, max(0, high - low)
    if retry.limit is not None:
        limit_ms = walk.duration(retry.limit, given, task.at)
        if walk.run.now_ms - frame.since + delay_ms > limit_ms:
            return None
    frame.attempt = number
    return Sleep(task.at, Action("attempt", None, task.at), delay_ms, jitter_ms, fault)


def _delay(delay_ms: int, retry: Retry, number: int) -> int:
    match retry.backoff:
        case "constant":
            return delay_ms
        case "linear":
            return min(delay_ms * number, LONGEST_MS)
        case "exponential":
            return int(min(delay_ms * 2 ** min(number - 1, 62), LONGEST_MS))
        case _:
            assert_never(retry.backoff)


# -- Extensions: tasks that run before and after other tasks, wherever those are.


LEFT = "left"
"""The phase of a task that an extension has replaced: nothing of it runs any more."""


def before(walk: Evaluator, task: Task, frame: TaskFrame, first: int) -> Action | None:
    """Return the first task of the next extension that runs before a task; None for none."""
    for number, one in _from(task, first):
        if one.before and _applies(walk, one, task, frame):
            frame.phase, frame.index = "before", number
            return Action("enter", frame.given, one.before[0].at)
    frame.phase, frame.index = "", 0
    return None


def after(
    walk: Evaluator, task: Task, frame: TaskFrame, raw: Any, then: str | None, first: int
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


def _applies(walk: Evaluator, one: Extension, task: Task, frame: TaskFrame) -> bool:
    if one.when is None:
        return True
    seen = {"task": {**task.definition, **described(task, frame)}}
    sight = TaskVariables(walk.run, walk.state, task, frame, seen)
    given = EvaluationInput(frame.given, sight, walk.run.now_ms, walk.run.account)
    return walk.holds(one.when, given, task.at)


# -- Calls: what they are given, made where the secrets that they need are known.


class Renders(Protocol):
    """A walk, as far as calls need it."""

    def render(
        self, template: JsonTemplate | None, given: EvaluationInput, at: str, default: Any = None
    ) -> Any:
        """Return what a template makes; without one, the default."""
        ...


def call(
    walk: Renders,
    task: CallTask,
    given: EvaluationInput,
    timeout_s: float | None,
    more: Mapping[str, Any] | None = None,
) -> Act:
    """Return the call that a task makes. `more` is what it gets beside its own arguments."""
    more = more or {}
    if not task.late:
        return Act(task, {**walk.render(task.arguments, given, task.at), **more}, timeout_s)

    def late(template: JsonTemplate, known: Mapping[str, Any]) -> Any:
        sight = {name: given.variables.get(name) for name in template.names}
        made = template.render(EvaluationInput(given.data, {**sight, **known}, given.now_ms))
        return {**made, **more} if template is task.arguments else made

    return Act(task, late, timeout_s)

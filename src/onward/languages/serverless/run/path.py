"""One path through the tree: where it stands, the tasks it has passed, the values it evaluates.

This is all that the blocks, listens and subscriptions of a walk need to know about it. An
expression, duration or schema that fails is a fault of its task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onward.errors import ExpressionError
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.errors import Fault, FaultError, standard_fault
from onward.languages.serverless.model import Duration, Shaping, Task
from onward.languages.serverless.run.state import TaskFrame, WalkState
from onward.languages.serverless.run.variables import TaskVariables, WalkContext
from onward.languages.serverless.templates import EvaluationInput, Expression, JsonTemplate


@dataclass(slots=True)
class TaskVisit:
    """The result of a task, the last time the path passed it."""

    output: Any = None
    fault: Fault | None = None
    times: int = 1
    keys: dict[str, Any] | None = None
    """Of a listen: the values that its correlated events agree in."""


class TreePath:
    """One path, as the run stands."""

    def __init__(self, context: WalkContext, state: WalkState) -> None:
        self.context = context
        self.state = state
        self.visits: dict[str, TaskVisit] = {}
        self.acted = False
        """Whether this message has done something outside already."""

    @property
    def now_ms(self) -> int:
        """Return the time of the token that is being handled."""
        return self.context.now_ms

    def task(self, at: str) -> Task:
        """Return the task with a pointer."""
        return self.context.workflow.tasks[at]

    def note(self, at: str, visit: TaskVisit) -> None:
        """Record the result of a task: it will be reported."""
        before = self.visits.get(at)
        if before is not None:
            visit.times += before.times
        self.visits[at] = visit

    def inputs(
        self, task: Task, frame: TaskFrame | None, data: Any, **extra: Any
    ) -> EvaluationInput:
        """Return what an expression of `task` works on."""
        variables = TaskVariables(self.context, self.state, task, frame, extra)
        return EvaluationInput(data, variables, self.now_ms, self.context.account)

    def holds(self, expression: Expression, inputs: EvaluationInput, at: str) -> bool:
        """Return whether a condition is true."""
        try:
            return expression.holds(inputs)
        except ExpressionError as problem:
            raise FaultError(standard_fault("expression", str(problem), at)) from None

    def evaluate(self, expression: Expression, inputs: EvaluationInput, at: str) -> Any:
        """Return the value of an expression."""
        try:
            return expression.evaluate(inputs)
        except ExpressionError as problem:
            raise FaultError(standard_fault("expression", str(problem), at)) from None

    def render(
        self, template: JsonTemplate | None, inputs: EvaluationInput, at: str, default: Any = None
    ) -> Any:
        """Return the value of a template; without one, the default."""
        if template is None:
            return default
        try:
            return template.render(inputs)
        except ExpressionError as problem:
            raise FaultError(standard_fault("expression", str(problem), at)) from None

    def duration(self, duration: Duration, inputs: EvaluationInput, at: str) -> int:
        """Return a duration in milliseconds."""
        if duration.fixed_ms is not None:
            return duration.fixed_ms
        value = self.render(duration.template, inputs, at)
        try:
            return duration_ms(value)
        except ValueError as problem:
            detail = f"this is not a duration: {problem}"
            raise FaultError(standard_fault("expression", detail, at)) from None

    def validate(self, shaping: Shaping, value: Any, at: str, what: str) -> None:
        """Raise a fault unless a value matches its schema."""
        complaint = shaping.schema.complaint(value) if shaping.schema is not None else ""
        if complaint:
            detail = f"{what} does not match its schema: {complaint}"
            raise FaultError(standard_fault("validation", detail, at))

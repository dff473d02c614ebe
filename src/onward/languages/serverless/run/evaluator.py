"""What every step of a walk computes: expressions, durations, schemas; a failure is a fault."""

from __future__ import annotations

from typing import Any

from onward.errors import ExpressionError
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.errors import FaultError, standard
from onward.languages.serverless.model import Duration, Shaping, Task
from onward.languages.serverless.run.state import TaskFrame, WalkState
from onward.languages.serverless.run.variables import TaskVariables, WalkContext
from onward.languages.serverless.templates import EvaluationInput, Expression, JsonTemplate


class Evaluator:
    """Computes what the tasks of a run say, as the run stands."""

    def __init__(self, run: WalkContext, state: WalkState) -> None:
        self.run = run
        self.state = state

    def task(self, at: str) -> Task:
        """Return the task with a pointer."""
        return self.run.workflow.tasks[at]

    def given(
        self, task: Task, frame: TaskFrame | None, data: Any, **extra: Any
    ) -> EvaluationInput:
        """Return what an expression of `task` works on."""
        sight = TaskVariables(self.run, self.state, task, frame, extra)
        return EvaluationInput(data, sight, self.run.now_ms, self.run.account)

    def holds(self, expression: Expression, given: EvaluationInput, at: str) -> bool:
        """Return whether a condition is true; a condition that fails is an error."""
        try:
            return expression.holds(given)
        except ExpressionError as problem:
            raise FaultError(standard("expression", str(problem), at)) from None

    def duration(self, duration: Duration, given: EvaluationInput, at: str) -> int:
        """Return a duration in milliseconds."""
        if duration.fixed_ms is not None:
            return duration.fixed_ms
        value = self.render(duration.template, given, at)
        try:
            return duration_ms(value)
        except ValueError as problem:
            detail = f"this is not a duration: {problem}"
            raise FaultError(standard("expression", detail, at)) from None

    def evaluate(self, expression: Expression, given: EvaluationInput, at: str) -> Any:
        """Return the value of an expression."""
        try:
            return expression.evaluate(given)
        except ExpressionError as problem:
            raise FaultError(standard("expression", str(problem), at)) from None

    def render(
        self, template: JsonTemplate | None, given: EvaluationInput, at: str, default: Any = None
    ) -> Any:
        """Return what a template makes; without one, the default."""
        if template is None:
            return default
        try:
            return template.render(given)
        except ExpressionError as problem:
            raise FaultError(standard("expression", str(problem), at)) from None

    def validate(self, shaping: Shaping, value: Any, at: str, what: str) -> None:
        """Raise an error unless a value matches its schema."""
        complaint = shaping.schema.complaint(value) if shaping.schema is not None else ""
        if complaint:
            detail = f"{what} does not match its schema: {complaint}"
            raise FaultError(standard("validation", detail, at))

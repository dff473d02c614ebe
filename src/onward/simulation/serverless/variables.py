"""What the oracle for trees computes with: paths, jumps, and the expressions of the document."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from onward.errors import ExpressionError
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.model import Catch, Duration, Retry, Shaping, Task
from onward.languages.serverless.templates import EvaluationInput, Expression, JsonTemplate

STANDARD = "https://serverlessworkflow.io/spec/1.0.0/errors/"


class Jump(Exception):  # noqa: N818  (a jump, not an error)
    """A path does not go on to its next task."""


class Thrown(Jump):
    """An error is on its way up."""

    def __init__(self, fault: dict[str, Any]) -> None:
        self.fault = fault


class Over(Jump):
    """The workflow ends here, with a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Never(Jump):
    """Something is waited for that never comes."""


@dataclass(slots=True)
class Path:
    """Where one line of work stands: its time, what it has exported, which names it sees."""

    now: float
    context: Any = None
    names: dict[str, Any] = field(default_factory=dict)

    def apart(self) -> Path:
        """Return another line of work that begins here."""
        return Path(self.now, self.context, self.names)


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that cannot be taken back once its time has come."""

    at: float
    kind: str
    name: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Expected:
    """How a run ends."""

    status: str
    output: Any = None
    context: Any = None
    error: tuple[str, int, str] | None = None
    """Type, status and instance."""
    visits: Counter[str] = field(default_factory=Counter)
    """How often each call was made."""


def fault_of(kind: str, status: int, at: str) -> dict[str, Any]:
    """Return an error of a standard type."""
    return {"type": STANDARD + kind, "status": status, "instance": at}


def passes(catch: Catch, fault: dict[str, Any]) -> bool:
    """Return whether the filter of a catch lets an error in."""
    return all(
        str(wanted).removeprefix(STANDARD) == str(fault.get(name)).removeprefix(STANDARD)
        for name, wanted in catch.filter.items()
    )


class ReferenceVariables:
    """Evaluates what a document says; what fails is an error of the task."""

    def sees(
        self, task: Task, path: Path, data: Any, raw: Any, given: Any = None
    ) -> EvaluationInput:
        """Return what an expression of `task` works on."""
        described = {"name": task.name, "reference": task.at, "input": raw}
        names = {"context": path.context, "input": given, "task": described}
        return EvaluationInput(data, {**path.names, **names}, 0)

    def shaped(
        self, shaping: Shaping, data: Any, at: str, path: Path, names: dict[str, Any]
    ) -> Any:
        """Return data as a template makes it."""
        if shaping.template is None:
            return data
        known = {**path.names, "context": path.context, **names}
        return self.render(shaping.template, EvaluationInput(data, known, 0), at)

    def valid(self, shaping: Shaping, data: Any, at: str) -> None:
        """Raise an error unless data matches a schema."""
        if shaping.schema is not None and shaping.schema.complaint(data):
            raise Thrown(fault_of("validation", 400, at))

    def evaluate(self, expression: Expression, given: EvaluationInput, at: str) -> Any:
        """Return the value of an expression."""
        try:
            return expression.evaluate(given)
        except ExpressionError:
            raise Thrown(fault_of("expression", 400, at)) from None

    def holds(self, expression: Expression, given: EvaluationInput, at: str) -> bool:
        """Return whether a condition is true."""
        value = self.evaluate(expression, given, at)
        return value is not None and value is not False

    def render(self, template: JsonTemplate, given: EvaluationInput, at: str) -> Any:
        """Return what a template makes."""
        try:
            return template.render(given)
        except ExpressionError:
            raise Thrown(fault_of("expression", 400, at)) from None

    def length(self, duration: Duration, given: EvaluationInput, at: str) -> int:
        """Return a duration in milliseconds."""
        if duration.template is None:
            return duration.fixed_ms or 0
        try:
            return duration_ms(self.render(duration.template, given, at))
        except ValueError:
            raise Thrown(fault_of("expression", 400, at)) from None

    def wanted(self, policy: Catch | Retry, given: EvaluationInput, at: str) -> bool:
        """Return whether a policy is about the error at hand."""
        if policy.when is not None and not self.holds(policy.when, given, at):
            return False
        return policy.except_when is None or not self.holds(policy.except_when, given, at)

    def patience(
        self, retry: Retry | None, retries: int, given: EvaluationInput, at: str
    ) -> tuple[float | None, float | None]:
        """Return how long to wait before trying again, and how long it may all take at most.

        The first is None when it is not tried again; the second when it may take any time.
        """
        if retry is None or (retry.count is not None and retries >= retry.count):
            return None, None
        if not self.wanted(retry, given, at):
            return None, None
        factor = {"constant": 1, "linear": retries + 1, "exponential": 2**retries}
        delay = self.length(retry.delay, given, at) * factor[retry.backoff]
        if retry.jitter is not None:  # in a simulation chance always says the least of it
            delay += self.length(retry.jitter[0], given, at)
        limit = None if retry.limit is None else self.length(retry.limit, given, at)
        return delay, limit

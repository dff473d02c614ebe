"""What the reference for trees computes with: paths, jumps, expressions and events.

All of it is plain data and functions; `reference.py` walks the document with them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from onward.errors import ExpressionError
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.model import (
    Catch,
    Duration,
    EventFilter,
    EventSelection,
    Retry,
    Shaping,
    Task,
)
from onward.languages.serverless.templates import EvaluationInput, Expression, JsonTemplate

STANDARD = "https://serverlessworkflow.io/spec/1.0.0/errors/"


class Jump(Exception):  # noqa: N818  (a jump, not an error)
    """A path does not continue with its next task."""


class RaisedFault(Jump):
    """An error that no task has caught yet."""

    def __init__(self, fault: dict[str, Any]) -> None:
        self.fault = fault


class WorkflowEnd(Jump):
    """The workflow ends here, with a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class EndlessWait(Jump):
    """A path waits for something that never arrives."""


@dataclass(slots=True)
class Path:
    """The state of one line of work: its time, what it has exported, which names it sees."""

    now: float
    context: Any = None
    names: dict[str, Any] = field(default_factory=dict)

    def branch(self) -> Path:
        """Return another line of work that begins at this state."""
        return Path(self.now, self.context, self.names)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened at a time, and cannot be undone after it."""

    at: float
    kind: str
    name: str
    data: Any = None


class ExpectedError(NamedTuple):
    """The error of a run that fails."""

    type: str
    status: int
    instance: str


@dataclass(frozen=True, slots=True)
class BranchEnd:
    """How one branch of a fork ended, and which occurrences are its own: from `first` to `last`."""

    path: Path
    value: Any
    jump: Jump | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Expected:
    """How a run ends."""

    status: str
    output: Any = None
    context: Any = None
    error: ExpectedError | None = None
    visits: Counter[str] = field(default_factory=Counter)
    """How often each call was made."""


def fault_of(kind: str, status: int, at: str) -> dict[str, Any]:
    """Return an error of a standard type."""
    return {"type": STANDARD + kind, "status": status, "instance": at}


def passes(catch: Catch, fault: dict[str, Any]) -> bool:
    """Return whether an error passes the filter of a catch."""
    return all(
        str(wanted).removeprefix(STANDARD) == str(fault.get(name)).removeprefix(STANDARD)
        for name, wanted in catch.filter.items()
    )


# -- expressions of the document: what fails is an error of the task -------------------------------


def inputs_of(task: Task, path: Path, data: Any, raw: Any, given: Any = None) -> EvaluationInput:
    """Return the inputs of an expression of `task`."""
    described = {"name": task.name, "reference": task.at, "input": raw}
    names = {"context": path.context, "input": given, "task": described}
    return EvaluationInput(data, {**path.names, **names}, 0)


def shape(shaping: Shaping, data: Any, at: str, path: Path, names: dict[str, Any]) -> Any:
    """Return data as the template of an input, output or export transforms it."""
    if shaping.template is None:
        return data
    known = {**path.names, "context": path.context, **names}
    return render(shaping.template, EvaluationInput(data, known, 0), at)


def validate(shaping: Shaping, data: Any, at: str) -> None:
    """Raise an error unless data matches a schema."""
    if shaping.schema is not None and shaping.schema.complaint(data):
        raise RaisedFault(fault_of("validation", 400, at))


def evaluate(expression: Expression, given: EvaluationInput, at: str) -> Any:
    """Return the value of an expression."""
    try:
        return expression.evaluate(given)
    except ExpressionError:
        raise RaisedFault(fault_of("expression", 400, at)) from None


def holds(expression: Expression, given: EvaluationInput, at: str) -> bool:
    """Return whether a condition is true."""
    value = evaluate(expression, given, at)
    return value is not None and value is not False


def render(template: JsonTemplate, given: EvaluationInput, at: str) -> Any:
    """Return the value of a template."""
    try:
        return template.render(given)
    except ExpressionError:
        raise RaisedFault(fault_of("expression", 400, at)) from None


def length_ms(duration: Duration, given: EvaluationInput, at: str) -> int:
    """Return a duration in milliseconds."""
    if duration.template is None:
        return duration.fixed_ms or 0
    try:
        return duration_ms(render(duration.template, given, at))
    except ValueError:
        raise RaisedFault(fault_of("expression", 400, at)) from None


def applies(policy: Catch | Retry, given: EvaluationInput, at: str) -> bool:
    """Return whether the conditions of a policy accept the error."""
    if policy.when is not None and not holds(policy.when, given, at):
        return False
    return policy.except_when is None or not holds(policy.except_when, given, at)


def retry_delay(
    retry: Retry | None, retries: int, given: EvaluationInput, at: str
) -> tuple[float | None, float | None]:
    """Return the delay before the next attempt, and the limit of all attempts together.

    The delay is None when there is no further attempt; the limit when there is none.
    """
    if retry is None or (retry.count is not None and retries >= retry.count):
        return None, None
    if not applies(retry, given, at):
        return None, None
    factor = {"constant": 1, "linear": retries + 1, "exponential": 2**retries}
    delay = length_ms(retry.delay, given, at) * factor[retry.backoff]
    if retry.jitter is not None:  # in a simulation the jitter is always the least
        delay += length_ms(retry.jitter[0], given, at)
    limit = None if retry.limit is None else length_ms(retry.limit, given, at)
    return delay, limit


# -- events ----------------------------------------------------------------------------------------


class ListenProgress:
    """The events that one visit to a listen has taken so far.

    Random plans distinguish events by their types alone.
    """

    def __init__(self, wanted: EventSelection) -> None:
        self._wanted = wanted
        self._met: list[EventFilter] = []
        self._last = wanted.until if isinstance(wanted.until, EventSelection) else None
        filters = (*wanted.filters, *(self._last.filters if self._last else ()))
        self.types = frozenset(wanted_filter.event_type for wanted_filter in filters)
        """The types of events that reach the listen at all."""

    def stops(self, event: Occurrence) -> bool:
        """Return whether this event ends it, and is itself not taken."""
        return self._last is not None and any(
            wanted.event_type == event.name for wanted in self._last.filters
        )

    def takes(self, event: Occurrence) -> bool:
        """Return whether this event is taken; of `all`, each filter takes one."""
        for wanted in self._wanted.filters:
            if wanted.event_type == event.name and not (self._wanted.each and wanted in self._met):
                self._met.append(wanted)
                return True
        return False

    def is_complete(self) -> bool:
        """Return whether no more events are wanted; with `until`, the caller decides."""
        if self._wanted.until is not None:
            return False
        return len(self._met) >= (len(self._wanted.filters) if self._wanted.each else 1)

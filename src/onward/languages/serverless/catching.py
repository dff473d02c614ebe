"""What a try does about an error: try again, hand it to the tasks that handle it, or let it go."""

from __future__ import annotations

from typing import Any, Protocol, assert_never

from onward.languages.serverless.durations import LONGEST_MS
from onward.languages.serverless.faults import Fault, name_of
from onward.languages.serverless.model import Catch, Duration, Retry, Task, Try
from onward.languages.serverless.sight import Run
from onward.languages.serverless.state import Action, Frame
from onward.languages.serverless.stops import Sleep, Stop
from onward.languages.serverless.values import Expression, Given


class Walk(Protocol):
    """The walk that met the error, as far as it is needed here."""

    @property
    def run(self) -> Run:
        """The run it is part of."""
        ...

    def given(self, task: Task, frame: Frame | None, data: Any, **extra: Any) -> Given:
        """Return what an expression of `task` works on."""
        ...

    def holds(self, expression: Expression, given: Given, at: str) -> bool:
        """Return whether a condition is true."""
        ...

    def duration(self, duration: Duration, given: Given, at: str) -> int:
        """Return a duration in milliseconds."""
        ...

    def complete(self, raw: Any, then: str | None = None) -> Action | Stop:
        """The task on top came to `raw`."""
        ...


def handle(walk: Walk, task: Try, frame: Frame, fault: Fault) -> Action | Stop | None:
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


def _wanted(walk: Walk, policy: Catch | Retry, given: Given, at: str) -> bool:
    if policy.when is not None and not walk.holds(policy.when, given, at):
        return False
    return policy.except_when is None or not walk.holds(policy.except_when, given, at)


def _again(
    walk: Walk, retry: Retry, task: Try, frame: Frame, given: Given, fault: Fault
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

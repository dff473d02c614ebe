"""Taking messages: one call after another, each an activity of its own.

A call waits for messages for a moment only. When none came the path sleeps on a timer, like a wait,
and calls again: a subscription that lasts for days holds neither a worker nor a connection.
"""

from __future__ import annotations

from typing import Any, Protocol

from onward.errors import ExpressionError
from onward.languages.serverless.errors import FaultError, standard
from onward.languages.serverless.model import ConsumeTask, Duration
from onward.languages.serverless.run import listen
from onward.languages.serverless.run.blocks import Renders, call
from onward.languages.serverless.run.listen import Next
from onward.languages.serverless.run.state import Action, TaskFrame
from onward.languages.serverless.run.stops import Go, Sleep
from onward.languages.serverless.templates import EvaluationInput

MOST = 100
"""How many messages one call takes at most."""
LINGER_MS = 2_000
"""How long one call waits for messages."""
_SHORTEST_MS, _LONGEST_MS = 250, 8_000
"""The pauses between calls that found nothing: each is twice the one before."""


class ConsumeWalk(listen.ListenWalk, Renders, Protocol):
    """The walk that has come to a subscription, as far as it is needed here."""

    def duration(self, duration: Duration, given: EvaluationInput, at: str) -> int:
        """Return a duration in milliseconds."""
        ...

    def tell(self, at: str, output: Any) -> None:
        """Tell what a task came to."""
        ...


def begin(walk: ConsumeWalk, task: ConsumeTask, frame: TaskFrame) -> Next:
    """Begin to take messages."""
    given = walk.given(task, frame, frame.given)
    amount = until = None
    if task.amount is not None:
        amount = walk.render(task.amount, given, task.at)
        if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
            detail = "consume.amount is not a whole number that is at least 1"
            raise FaultError(standard("expression", detail, task.at))
    if task.lasting is not None:
        until = frame.began + walk.duration(task.lasting, given, task.at)
    frame.items = []
    frame.memo = {"amount": amount, "until": until, "pending": [], "cursor": None, "quiet": 0}
    return on(walk, task)


def on(walk: ConsumeWalk, task: ConsumeTask) -> Next:
    """Handle what was taken, message by message; when nothing is left of it, take more."""
    frame = walk.state.frames[-1]
    while not _over(walk, task, frame):
        if not frame.memo["pending"]:
            return _take(walk, task, frame)
        message, *rest = frame.memo["pending"]
        frame.memo = {**frame.memo, "pending": rest}
        if not _wanted(walk, task, frame, message):
            continue
        frame.index = len(frame.items)
        if task.foreach is not None and task.foreach.tasks:
            frame.memo["event"] = message
            return Action("enter", message, task.foreach.tasks[0].at)
        listen.keep(walk, task, task.foreach, message, message)
    return walk.complete(frame.items)


def handled(walk: ConsumeWalk, task: ConsumeTask, output: Any) -> Next:
    """The tasks for one message came to `output`: keep it, and go on."""
    listen.keep(walk, task, task.foreach, output, None)
    return on(walk, task)


def taken(walk: ConsumeWalk, task: ConsumeTask, value: Any) -> Next:
    """A call came back: with messages, or without any, and then the next one is made later."""
    frame = walk.state.frames[-1]
    walk.tell(task.at, value)
    messages = value.get("messages") or []
    quiet = 0 if messages else frame.memo["quiet"] + 1
    news = {"pending": messages, "cursor": value.get("cursor"), "quiet": quiet}
    frame.memo = {**frame.memo, **news}
    if messages or _over(walk, task, frame):
        return on(walk, task)
    pause = min(_SHORTEST_MS * 2 ** min(quiet - 1, 10), _LONGEST_MS)
    return Sleep(task.at, Action("take", None, task.at), _left(walk, frame, pause))


def _take(walk: ConsumeWalk, task: ConsumeTask, frame: TaskFrame) -> Next:
    """Call for messages: only for one when the next decides whether there is another."""
    if walk.acted:
        return Go(Action("take", None, task.at))
    amount = frame.memo["amount"]
    most = MOST if amount is None else min(amount - len(frame.items), MOST)
    if task.until is not None or task.go_on is not None:
        most = 1
    poll = {
        "most": most,
        "wait_ms": _left(walk, frame, LINGER_MS),
        "cursor": frame.memo["cursor"],
    }
    given = walk.given(task, frame, frame.given)
    return call(walk, task, given, None, {"subscription": poll})


def _left(walk: ConsumeWalk, frame: TaskFrame, length_ms: int) -> int:
    """Return a length of time, or what is left of the subscription's own if that is less."""
    until = frame.memo["until"]
    return length_ms if until is None else max(0, min(length_ms, until - walk.run.now_ms))


def _over(walk: ConsumeWalk, task: ConsumeTask, frame: TaskFrame) -> bool:
    memo, items = frame.memo, frame.items
    if memo["amount"] is not None and len(items) >= memo["amount"]:
        return True
    if memo["until"] is not None and walk.run.now_ms >= memo["until"] and not memo["pending"]:
        return True
    given = walk.given(task, frame, items)
    if task.go_on is not None and not walk.holds(task.go_on, given, task.at):
        return True
    return task.until is not None and bool(items) and walk.holds(task.until, given, task.at)


def _wanted(walk: ConsumeWalk, task: ConsumeTask, frame: TaskFrame, message: Any) -> bool:
    """Return whether a message passes; one that the filter fails on does not."""
    if task.filter is None:
        return True
    try:
        return task.filter.holds(walk.given(task, frame, message))
    except ExpressionError:
        return False

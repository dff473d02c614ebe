"""Subscriptions to messages: one call after another, each an activity of its own.

A call waits for messages for a moment only. When none arrived the path sleeps on a timer, like a
wait, and calls again: a subscription that lasts for days holds neither a worker nor a connection.
"""

from __future__ import annotations

from typing import Any

from onward.errors import ExpressionError
from onward.languages.serverless.errors import FaultError, standard_fault
from onward.languages.serverless.model import ConsumeTask
from onward.languages.serverless.run import listen
from onward.languages.serverless.run.blocks import call_activity
from onward.languages.serverless.run.path import TaskVisit, TreePath
from onward.languages.serverless.run.state import Action, TaskFrame
from onward.languages.serverless.run.stops import Go, Next, Sleep

MOST_MESSAGES = 100
"""How many messages one call takes at most."""
POLL_MS = 2_000
"""How long one call waits for messages."""
_SHORTEST_PAUSE_MS, _LONGEST_PAUSE_MS = 250, 8_000
"""The pauses between calls that found nothing: each is twice the one before."""


def begin_consume(path: TreePath, task: ConsumeTask, frame: TaskFrame) -> Next:
    """Begin to take messages."""
    inputs = path.inputs(task, frame, frame.input)
    amount = until = None
    if task.amount is not None:
        amount = path.render(task.amount, inputs, task.at)
        if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
            detail = "consume.amount is not a whole number that is at least 1"
            raise FaultError(standard_fault("expression", detail, task.at))
    if task.lasting is not None:
        until = frame.began + path.duration(task.lasting, inputs, task.at)
    frame.items = []
    frame.memo = {"amount": amount, "until": until, "pending": [], "cursor": None, "quiet": 0}
    return take_next(path, task)


def take_next(path: TreePath, task: ConsumeTask) -> Next:
    """Handle the messages taken so far, one by one; when none is left, take more."""
    frame = path.state.frames[-1]
    while not _over(path, task, frame):
        if not frame.memo["pending"]:
            return _take(path, task, frame)
        message, *rest = frame.memo["pending"]
        frame.memo = {**frame.memo, "pending": rest}
        if not _wanted(path, task, frame, message):
            continue
        frame.index = len(frame.items)
        if task.foreach is not None and task.foreach.tasks:
            frame.memo["event"] = message
            return Action("enter", message, task.foreach.tasks[0].at)
        listen.collect(path, task, task.foreach, message, message)
    return Action("complete", frame.items)


def add_item(path: TreePath, task: ConsumeTask, output: Any) -> Next:
    """Add the output for one message to the items, and handle the next."""
    listen.collect(path, task, task.foreach, output, None)
    return take_next(path, task)


def take_result(path: TreePath, task: ConsumeTask, value: Any) -> Next:
    """Continue with the result of a call; when it has no messages, the next call is made later."""
    frame = path.state.frames[-1]
    path.note(task.at, TaskVisit(value))
    messages = value.get("messages") or []
    quiet = 0 if messages else frame.memo["quiet"] + 1
    news = {"pending": messages, "cursor": value.get("cursor"), "quiet": quiet}
    frame.memo = {**frame.memo, **news}
    if messages or _over(path, task, frame):
        return take_next(path, task)
    pause = min(_SHORTEST_PAUSE_MS * 2 ** min(quiet - 1, 10), _LONGEST_PAUSE_MS)
    return Sleep(task.at, Action("take", None, task.at), _left(path, frame, pause))


def _take(path: TreePath, task: ConsumeTask, frame: TaskFrame) -> Next:
    """Call for messages: only for one when it decides whether another is wanted."""
    if path.acted:
        return Go(Action("take", None, task.at))
    amount = frame.memo["amount"]
    most = MOST_MESSAGES
    if amount is not None:
        most = min(amount - len(frame.items), MOST_MESSAGES)
    if task.until is not None or task.while_condition is not None:
        most = 1
    poll = {
        "most": most,
        "wait_ms": _left(path, frame, POLL_MS),
        "cursor": frame.memo["cursor"],
    }
    inputs = path.inputs(task, frame, frame.input)
    return call_activity(path, task, inputs, None, {"subscription": poll})


def _left(path: TreePath, frame: TaskFrame, length_ms: int) -> int:
    """Return a length of time, or what is left of the subscription's own if that is less."""
    until = frame.memo["until"]
    return length_ms if until is None else max(0, min(length_ms, until - path.now_ms))


def _over(path: TreePath, task: ConsumeTask, frame: TaskFrame) -> bool:
    memo, items = frame.memo, frame.items
    if memo["amount"] is not None and len(items) >= memo["amount"]:
        return True
    if memo["until"] is not None and path.now_ms >= memo["until"] and not memo["pending"]:
        return True
    inputs = path.inputs(task, frame, items)
    if task.while_condition is not None and not path.holds(task.while_condition, inputs, task.at):
        return True
    return task.until is not None and bool(items) and path.holds(task.until, inputs, task.at)


def _wanted(path: TreePath, task: ConsumeTask, frame: TaskFrame, message: Any) -> bool:
    """Return whether a message passes; one that the filter fails on does not."""
    if task.filter is None:
        return True
    try:
        return task.filter.holds(path.inputs(task, frame, message))
    except ExpressionError:
        return False

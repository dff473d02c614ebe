"""Listens: which events one takes, and what is done with each.

An event is examined once. One that the listen does not want is gone for it; one that it wants is
taken, in the order of arrival, and with `foreach` each is handled before the next is examined.
"""

from __future__ import annotations

from typing import Any

from onward.kernel.json import encode
from onward.languages.serverless.model import EventSelection, Foreach, ListenTask, Shaping, Task
from onward.languages.serverless.run.event_filters import Event, EventMatch, is_enough
from onward.languages.serverless.run.path import TreePath
from onward.languages.serverless.run.state import Action, TaskFrame
from onward.languages.serverless.run.stops import Go, Hear, Next
from onward.languages.serverless.templates import Expression


def begin_listen(task: ListenTask, frame: TaskFrame) -> Hear:
    """Begin to listen."""
    frame.items, frame.memo = [], {"met": [], "until": [], "keys": {}}
    return Hear(task)


def hear_next(path: TreePath, task: ListenTask) -> Next:
    """Wait for the next event."""
    return Go(Action("hear", None, task.at)) if path.acted else Hear(task)


def take_event(path: TreePath, task: ListenTask, event: Event) -> Next:
    """Take an event that has arrived, or leave it."""
    frame = path.state.frames[-1]
    memo = frame.memo
    until = task.wanted.until
    match = EventMatch(
        lambda data: path.inputs(task, frame, data), frame.input, event, memo["keys"]
    )
    if isinstance(until, EventSelection):
        met = match.meets(until, memo["until"])
        if met is not None:
            frame.memo = {**memo, "until": met, "keys": match.keys}
            return (
                Action("complete", frame.items) if is_enough(until, met) else hear_next(path, task)
            )
    met = match.meets(task.wanted, memo["met"])
    if met is None:
        return hear_next(path, task)
    value = _read(event, task.read)
    frame.index = len(frame.items)
    frame.memo = {**memo, "met": met, "keys": match.keys}
    if task.foreach is None or not task.foreach.tasks:
        return add_item(path, task, value, value)
    frame.memo["event"] = value
    return Action("enter", value, task.foreach.tasks[0].at)


def add_item(path: TreePath, task: ListenTask, output: Any, event: Any = None) -> Next:
    """Add the output for one event to the items, and listen further if more events are wanted."""
    frame = path.state.frames[-1]
    collect(path, task, task.foreach, output, event)
    wanted = task.wanted
    if isinstance(wanted.until, Expression):
        over = path.holds(wanted.until, path.inputs(task, frame, frame.items), task.at)
    else:
        over = wanted.until is None and is_enough(wanted, frame.memo["met"])
    return Action("complete", frame.items) if over else hear_next(path, task)


def collect(path: TreePath, task: Task, foreach: Foreach | None, output: Any, event: Any) -> None:
    """Add the result for one event to the items of the task on top, shaped as `foreach` says."""
    frame = path.state.frames[-1]
    if foreach is not None:
        frame.memo = {"event": event, **frame.memo}
        raw = output
        output = _shape(path, task, foreach.output, frame, raw, {"raw_output": raw})
        exported = {"raw_output": raw, "output": output}
        if foreach.export.template is not None:
            path.state.context = _shape(path, task, foreach.export, frame, output, exported)
    frame.items = [*frame.items, output]
    frame.memo = {name: value for name, value in frame.memo.items() if name != "event"}


def _read(event: Event, form: str) -> Any:
    if form == "envelope":
        return event
    data = event.get("data", event.get("data_base64"))
    if form == "raw" and not isinstance(data, str):
        return bytes(encode(data)).decode()
    return data


def _shape(
    path: TreePath,
    task: Task,
    shaping: Shaping,
    frame: TaskFrame,
    data: Any,
    extra: dict[str, Any],
) -> Any:
    if shaping.template is not None:
        data = path.render(shaping.template, path.inputs(task, frame, data, **extra), task.at)
    path.validate(shaping, data, task.at, "the result of foreach")
    return data

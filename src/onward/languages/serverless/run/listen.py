"""Waiting for events: which of them a listen takes, and what becomes of each.

An event is looked at once. What the listen does not want is gone for it; what it wants is taken, in
the order events came, and with `foreach` each is handled before the next is looked at.
"""

from __future__ import annotations

from typing import Any, Protocol

from onward.errors import ExpressionError
from onward.kernel.json import encode
from onward.languages.serverless.errors import FaultError, standard
from onward.languages.serverless.model import EventSelection, Foreach, ListenTask, Shaping, Task
from onward.languages.serverless.run.event_filters import Event, Look, enough
from onward.languages.serverless.run.state import Action, TaskFrame, WalkState
from onward.languages.serverless.run.stops import Go, Hear, Stop
from onward.languages.serverless.run.variables import WalkContext
from onward.languages.serverless.templates import EvaluationInput, Expression

Next = Action | Stop


class ListenWalk(Protocol):
    """The walk that has come to a listen, as far as it is needed here."""

    acted: bool
    state: WalkState

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

    def complete(self, raw: Any, then: str | None = None) -> Next:
        """The task on top came to `raw`."""
        ...


def begin(task: ListenTask, frame: TaskFrame) -> Hear:
    """Begin to listen."""
    frame.items, frame.memo = [], {"met": [], "until": [], "keys": {}}
    return Hear(task)


def on(walk: ListenWalk, task: ListenTask) -> Next:
    """Look at the next event."""
    return Go(Action("hear", None, task.at)) if walk.acted else Hear(task)


def heard(walk: ListenWalk, task: ListenTask, event: Event) -> Next:
    """An event came: take it, or leave it."""
    frame = walk.state.frames[-1]
    memo = frame.memo
    until = task.wanted.until
    looking = Look(lambda data: walk.given(task, frame, data), frame.given, event, memo["keys"])
    if isinstance(until, EventSelection):
        met = looking.meets(until, memo["until"])
        if met is not None:
            frame.memo = {**memo, "until": met, "keys": looking.keys}
            return walk.complete(frame.items) if enough(until, met) else on(walk, task)
    met = looking.meets(task.wanted, memo["met"])
    if met is None:
        return on(walk, task)
    value = _read(event, task.read)
    frame.index = len(frame.items)
    frame.memo = {**memo, "met": met, "keys": looking.keys}
    if task.foreach is None or not task.foreach.tasks:
        return handled(walk, task, value, value)
    frame.memo["event"] = value
    return Action("enter", value, task.foreach.tasks[0].at)


def handled(walk: ListenWalk, task: ListenTask, output: Any, event: Any = None) -> Next:
    """The tasks for one event came to `output`: keep it, and go on listening if that is due."""
    frame = walk.state.frames[-1]
    keep(walk, task, task.foreach, output, event)
    wanted = task.wanted
    if isinstance(wanted.until, Expression):
        over = walk.holds(wanted.until, walk.given(task, frame, frame.items), task.at)
    else:
        over = wanted.until is None and enough(wanted, frame.memo["met"])
    return walk.complete(frame.items) if over else on(walk, task)


def keep(walk: ListenWalk, task: Task, foreach: Foreach | None, output: Any, event: Any) -> None:
    """Add what came of one event to the items of the task on top, shaped as `foreach` says."""
    frame = walk.state.frames[-1]
    if foreach is not None:
        frame.memo = {"event": event, **frame.memo}
        raw = output
        output = _shaped(walk, task, foreach.output, frame, raw, {"raw_output": raw})
        exported = {"raw_output": raw, "output": output}
        if foreach.export.template is not None:
            walk.state.context = _shaped(walk, task, foreach.export, frame, output, exported)
    frame.items = [*frame.items, output]
    frame.memo = {name: one for name, one in frame.memo.items() if name != "event"}


def _read(event: Event, form: str) -> Any:
    if form == "envelope":
        return event
    data = event.get("data", event.get("data_base64"))
    if form == "raw" and not isinstance(data, str):
        return bytes(encode(data)).decode()
    return data


def _shaped(
    walk: ListenWalk,
    task: Task,
    shaping: Shaping,
    frame: TaskFrame,
    data: Any,
    extra: dict[str, Any],
) -> Any:
    if shaping.template is not None:
        try:
            data = shaping.template.render(walk.given(task, frame, data, **extra))
        except ExpressionError as problem:
            raise FaultError(standard("expression", str(problem), task.at)) from None
    complaint = shaping.schema.complaint(data) if shaping.schema is not None else ""
    if complaint:
        detail = f"what foreach made does not match its schema: {complaint}"
        raise FaultError(standard("validation", detail, task.at))
    return data

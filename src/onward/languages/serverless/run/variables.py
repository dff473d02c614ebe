"""The variables of an expression, each computed when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onward import __version__
from onward.kernel.redaction import REDACTED
from onward.kernel.timestamps import to_iso
from onward.languages.serverless.model import (
    CallTask,
    ConsumeTask,
    Foreach,
    ForTask,
    ListenTask,
    ServerlessWorkflow,
    Task,
    TryTask,
)
from onward.languages.serverless.run.state import TaskFrame, WalkState
from onward.languages.serverless.templates import new_account

_RUNTIME = {"name": "onward", "version": __version__, "metadata": {}}


class WalkContext:
    """What all steps of one walk share: the workflow, the run, the time, the work done so far."""

    __slots__ = ("account", "now_ms", "run_id", "started_ms", "workflow")

    def __init__(
        self, workflow: ServerlessWorkflow, run_id: str, started_ms: int, now_ms: int
    ) -> None:
        self.workflow = workflow
        self.run_id = run_id
        self.started_ms = started_ms
        self.now_ms = now_ms
        self.account = new_account()


class TaskVariables(Mapping[str, Any]):
    """The variables at one task. Which of them may be named where was checked at load time."""

    __slots__ = ("_context", "_extra", "_frame", "_state", "_task")

    def __init__(
        self,
        context: WalkContext,
        state: WalkState,
        task: Task,
        frame: TaskFrame | None,
        extra: Mapping[str, Any],
    ) -> None:
        """`extra` holds what only this expression sees: the output, or the error to be caught."""
        self._context = context
        self._state = state
        self._task = task
        self._frame = frame
        self._extra = extra

    def __getitem__(self, name: str) -> Any:
        if name in self._extra:
            return self._extra[name]
        match name:
            case "context":
                return self._state.context
            case "input" if self._frame is not None:
                return self._frame.input
            case "task":
                return self._extended_task() or describe_task(
                    self._task, self._frame, self._current()
                )
            case "workflow":
                return self._describe_workflow()
            case "runtime":
                return _RUNTIME
            case "authorization":
                return _authorization(self._task)
            case _:
                return self._scoped(name)

    def _current(self) -> dict[str, Any]:
        """Return what is known of the current task beyond its frame."""
        began = self._frame.began if self._frame else self._context.now_ms
        return {"output": self._extra.get("raw_output"), "startedAt": time_value(began)}

    def _extended_task(self) -> Any:
        """Return the task that is being extended here; None when none is."""
        try:
            return self._scoped("task")
        except KeyError:
            return None

    def _describe_workflow(self) -> dict[str, Any]:
        return {
            "id": self._context.run_id,
            "definition": self._context.workflow.value,
            "input": self._state.input,
            "startedAt": time_value(self._context.started_ms),
        }

    def _scoped(self, name: str) -> Any:
        tasks = self._context.workflow.tasks
        for frame in reversed(self._state.frames):
            for known, value in variables_of(frame, tasks.get(frame.at)):
                if known == name:
                    return value
        return self._state.variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._extra)

    def __len__(self) -> int:
        return len(self._extra)


def _authorization(task: Task) -> dict[str, str] | None:
    """Return the authorization scheme of a call; its parameter stays hidden: this becomes data."""
    if not isinstance(task, CallTask) or not task.scheme:
        return None
    return {"scheme": task.scheme, "parameter": REDACTED}


def variables_of(frame: TaskFrame, task: Task | None) -> Iterator[tuple[str, Any]]:
    """Yield the variables that a frame defines for the tasks inside it."""
    if frame.phase in ("before", "after") and task is not None:
        output = frame.error if frame.phase == "after" else None
        yield "task", {**task.definition, **describe_task(task, frame, {"output": output})}
        return
    match task:
        case ForTask(each=each, index=index) if frame.items:
            yield each, frame.items[frame.index]
            yield index, frame.index
        case ListenTask(foreach=Foreach() as each) | ConsumeTask(foreach=Foreach() as each) if (
            frame.memo and "event" in frame.memo
        ):
            yield each.item, frame.memo["event"]
            yield each.index, frame.index
        case TryTask(catch=catch) if frame.phase == "catch":
            yield catch.name, frame.error


def describe_task(
    task: Task, frame: TaskFrame | None, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a task as expressions see it."""
    return {
        "name": task.name,
        "reference": task.at,
        "definition": task.definition,
        "input": frame.raw if frame else None,
        "output": None,
        "startedAt": time_value(frame.began) if frame else None,
        **(more or {}),
    }


def scope_variables(state: WalkState, workflow: ServerlessWorkflow) -> dict[str, Any]:
    """Return every variable that the loops and catches around a task define."""
    found = dict(state.variables)
    for frame in state.frames:
        found |= dict(variables_of(frame, workflow.tasks.get(frame.at)))
    return found


def time_value(ms: int) -> dict[str, Any]:
    """Return a point in time as expressions see it."""
    return {"iso8601": to_iso(ms), "epoch": {"seconds": ms // 1000, "milliseconds": ms}}

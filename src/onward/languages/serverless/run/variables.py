"""What an expression sees: the language's variables, made when one of them is asked for."""

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
    """What does not change while a token is handled."""

    __slots__ = ("account", "id", "now_ms", "started_ms", "workflow")

    def __init__(
        self, workflow: ServerlessWorkflow, run_id: str, started_ms: int, now_ms: int
    ) -> None:
        self.workflow = workflow
        self.id = run_id
        self.started_ms = started_ms
        self.now_ms = now_ms
        self.account = new_account()


class TaskVariables(Mapping[str, Any]):
    """The variables at one task. Which of them may be named where was checked at load time."""

    __slots__ = ("_extra", "_frame", "_run", "_state", "_task")

    def __init__(
        self,
        run: WalkContext,
        state: WalkState,
        task: Task,
        frame: TaskFrame | None,
        extra: Mapping[str, Any],
    ) -> None:
        """`extra` holds what only this place has: the output, the error that is being caught."""
        self._run = run
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
                return self._frame.given
            case "task":
                return self._extended() or described(self._task, self._frame, self._made())
            case "workflow":
                return self._describe_workflow()
            case "runtime":
                return _RUNTIME
            case "authorization":
                return _shown(self._task)
            case _:
                return self._scoped(name)

    def _made(self) -> dict[str, Any]:
        """Return what is known of the task at hand beyond its frame."""
        began = self._frame.began if self._frame else self._run.now_ms
        return {"output": self._extra.get("raw_output"), "startedAt": moment(began)}

    def _extended(self) -> Any:
        """Return the task that is being extended here; None when none is."""
        try:
            return self._scoped("task")
        except KeyError:
            return None

    def _describe_workflow(self) -> dict[str, Any]:
        return {
            "id": self._run.id,
            "definition": self._run.workflow.value,
            "input": self._state.given,
            "startedAt": moment(self._run.started_ms),
        }

    def _scoped(self, name: str) -> Any:
        tasks = self._run.workflow.tasks
        for frame in reversed(self._state.frames):
            for known, value in named_by(frame, tasks.get(frame.at)):
                if known == name:
                    return value
        return self._state.variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._extra)

    def __len__(self) -> int:
        return len(self._extra)


def _shown(task: Task) -> dict[str, str] | None:
    """Return how a task shows who calls; with what stays hidden, for this becomes data."""
    if not isinstance(task, CallTask) or not task.scheme:
        return None
    return {"scheme": task.scheme, "parameter": REDACTED}


def named_by(frame: TaskFrame, task: Task | None) -> Iterator[tuple[str, Any]]:
    """Yield the variables that a frame gives to the tasks inside it."""
    if frame.phase in ("before", "after") and task is not None:
        output = frame.error if frame.phase == "after" else None
        yield "task", {**task.definition, **described(task, frame, {"output": output})}
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


def described(
    task: Task, frame: TaskFrame | None, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a task as expressions see it."""
    return {
        "name": task.name,
        "reference": task.at,
        "definition": task.definition,
        "input": frame.raw if frame else None,
        "output": None,
        "startedAt": moment(frame.began) if frame else None,
        **(more or {}),
    }


def scoped(state: WalkState, workflow: ServerlessWorkflow) -> dict[str, Any]:
    """Return every variable that loops and catches around a place have named."""
    found = dict(state.variables)
    for frame in state.frames:
        found |= dict(named_by(frame, workflow.tasks.get(frame.at)))
    return found


def moment(ms: int) -> dict[str, Any]:
    """Return a point in time as expressions see it."""
    return {"iso8601": to_iso(ms), "epoch": {"seconds": ms // 1000, "milliseconds": ms}}

"""The walk through the tree: control flow, one task after another, until something must happen.

A walk is a function of a token and of its own choices: walked again, it comes to the same stop. It
goes no further than a bounded number of tasks, so that a long loop neither holds up other runs nor
is lost with its worker. After something outside was done (`acted`) it stops before everything that
needs more than one effect: that gets a message of its own, which can safely be handled twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from onward.languages.serverless.errors import Fault, FaultError, raised, read_fault, timed_out
from onward.languages.serverless.model import (
    CallTask,
    ConsumeTask,
    DoTask,
    ForkTask,
    ForTask,
    Function,
    ListenTask,
    RaiseTask,
    Root,
    SetTask,
    SwitchTask,
    Task,
    TryTask,
    WaitTask,
    lists_of,
)
from onward.languages.serverless.run import blocks, consume, listen
from onward.languages.serverless.run.evaluator import Evaluator
from onward.languages.serverless.run.state import Action, TaskFrame, WalkState
from onward.languages.serverless.run.stops import (
    LIMITED,
    Attempt,
    AwaitRun,
    BeginListening,
    Done,
    Escape,
    Faulted,
    Go,
    Limit,
    Sleep,
    Spread,
    Stop,
)
from onward.languages.serverless.run.variables import WalkContext
from onward.languages.serverless.templates import WORK, EvaluationInput

TASKS = 500
"""How many tasks one message enters at most."""

Next = Action | Stop
_ALONE = CallTask | ForkTask | ListenTask
"""What needs a message of its own, after something outside was done."""
_LASTING = ConsumeTask | DoTask | ForTask | ForkTask | Function | ListenTask | TryTask
"""What a time limit makes a scope of."""


@dataclass(slots=True)
class TaskVisit:
    """What a task came to, the last time this walk passed it."""

    output: Any = None
    fault: Fault | None = None
    times: int = 1
    keys: dict[str, Any] | None = None  # of a listen: what its events agreed in


class Walk(Evaluator):
    """One path through the tree, from one stop to the next."""

    def __init__(self, run: WalkContext, state: WalkState, scope: str) -> None:
        """`scope` names the scope that the path is in; "" is the run itself."""
        super().__init__(run, state)
        self.scope = scope
        self.visits: dict[str, TaskVisit] = {}
        self.acted = False
        self._carried = False  # whether the path came with an error, which was told elsewhere
        self._entered = 0

    def go(self, action: Action | None = None) -> Stop:
        """Walk on with `action`, or with what the state says is next, and return where it stops."""
        step: Next = action or self.state.action
        brought = "" if action else self.state.action.kind
        self._carried = brought == "raise"
        # What was waited for stands for what this message did.
        self.acted = self.acted or (brought in ("complete", "raise") and self._awaited())
        while isinstance(step, Action):
            try:
                step = self._do(step)
            except FaultError as error:
                step = Action("raise", error.fault.value())
        return step

    def _do(self, action: Action) -> Next:
        match action.kind:
            case "begin":
                return self._begin()
            case "enter":
                return self._enter(action)
            case "complete":
                return self.complete(action.value)
            case "after":
                return self._after(self.task(action.at), action.value, action.then)
            case "listed":
                return self._listed(action.value)
            case "attempt":
                return self._attempt()
            case "raise":
                return self._raise(read_fault(action.value))
            case "end":
                return self._end(action.value)
            case "await" | "hear" | "heard" | "take" | "taken":
                return self._waited(action)
            case _:
                assert_never(action.kind)

    def _waited(self, action: Action) -> Next:
        """Go on with a task that waits for what comes from outside."""
        if action.kind == "await":
            return AwaitRun(action.at, action.value)
        task = self.task(self.state.frames[-1].at)
        match task:
            case ListenTask() if action.kind == "heard":
                return listen.heard(self, task, action.value)
            case ListenTask():
                return listen.on(self, task)
            case ConsumeTask() if action.kind == "taken":
                return consume.taken(self, task, action.value)
            case ConsumeTask():
                return consume.on(self, task)
            case _:
                raise TypeError(f"{task.at} waits for nothing")

    # -- beginning -----------------------------------------------------------------------------

    def _begin(self) -> Next:
        root, given = self.task(""), self.state.given
        self.validate(root.input, given, "/input", "the workflow's input")
        data = self.render(root.input.template, self.given(root, None, given), "/input", given)
        limit_ms = None
        if root.timeout is not None:
            limit_ms = self.duration(root.timeout, self.given(root, None, given), "/timeout")
        self.state.frames.append(TaskFrame("", given, data, self.run.now_ms))
        first = Action("enter", data, self._first(root))
        if self.run.workflow.listens:
            return BeginListening(Go(first, limit_ms))
        return first if limit_ms is None else Go(first, limit_ms)

    def _enter(self, action: Action) -> Next:
        task, raw = self.task(action.at), action.value
        limited = task.timeout is not None and isinstance(task, _LASTING)
        if limited and not self.state.frames and self.scope == task.at + LIMITED:
            limited = False  # it is what this scope is about
        alone = limited or isinstance(task, _ALONE)
        if self._full or (alone and self.acted):
            return Go(action)
        self._entered += 1
        frame = TaskFrame(task.at, raw, raw, self.run.now_ms)
        if limited and task.timeout is not None:
            limit_ms = self.duration(task.timeout, self.given(task, frame, raw), task.at)
            return Limit(task, raw, limit_ms)
        if task.condition is not None and not self.holds(
            task.condition, self.given(task, frame, raw), task.at
        ):
            return self._after(task, raw, "continue")
        self.validate(task.input, raw, task.at, "the input")
        frame.given = self.render(task.input.template, self.given(task, frame, raw), task.at, raw)
        self.state.frames.append(frame)
        return blocks.before(self, task, frame, 0) or self._perform(task, frame)

    @property
    def _full(self) -> bool:
        """Whether this message has done its share; the next one goes on."""
        return self._entered >= TASKS or self.run.account.spent >= WORK

    def _perform(self, task: Task, frame: TaskFrame) -> Next:
        given = self.given(task, frame, frame.given)
        match task:
            case SetTask(value=value):
                return self.complete(self.render(value, given, task.at))
            case DoTask():
                return Action("enter", frame.given, self._first(task))
            case ForTask():
                return blocks.begin(self, task, frame)
            case Function(arguments=arguments):
                data = self.render(arguments, given, task.at, frame.given)
                return Action("enter", data, self._first(task))
            case SwitchTask():
                return self.complete(frame.given, self._choose(task, given))
            case RaiseTask(error=error):
                raise FaultError(raised(self.render(error, given, task.at), task.at))
            case TryTask():
                frame.since = self.run.now_ms
                return Action("attempt")
            case ForkTask():
                return Spread(task)
            case WaitTask() | ListenTask() | CallTask():
                return self._pause(task, frame, given)
            case _:
                raise TypeError(f"no such task: {task.kind}")

    def _pause(
        self, task: WaitTask | ListenTask | CallTask, frame: TaskFrame, given: EvaluationInput
    ) -> Next:
        match task:
            case WaitTask():
                return self._wait(task, given)
            case ListenTask():
                return listen.begin(task, frame)
            case ConsumeTask():
                return consume.begin(self, task, frame)
            case _:
                return blocks.call(self, task, given, self._limit(task, given))

    def _choose(self, task: SwitchTask, given: EvaluationInput) -> str:
        for case in task.cases:
            if case.when is not None and self.holds(case.when, given, task.at):
                return case.then
        return next((case.then for case in task.cases if case.when is None), task.then)

    def _wait(self, task: WaitTask, given: EvaluationInput) -> Stop:
        length = self.duration(task.duration, given, task.at)
        if task.timeout is not None:
            limit_ms = self.duration(task.timeout, given, task.at)
            if limit_ms < length:
                action = Action("raise", timed_out(task.at, limit_ms).value())
                return Sleep(task.at, action, limit_ms)
        return Sleep(task.at, Action("complete", given.data), length)

    def _limit(self, task: Task, given: EvaluationInput) -> float | None:
        limit = task.timeout
        return None if limit is None else self.duration(limit, given, task.at) / 1000

    def _attempt(self) -> Next:
        """Begin, or begin again, the tasks of the try on top."""
        frame = self.state.frames[-1]
        task = self.task(frame.at)
        if not isinstance(task, TryTask):
            raise TypeError(f"{frame.at} is not a try")
        retry = task.catch.retry
        if retry is None or retry.attempt_limit is None or frame.phase == "attempt":
            return Action("enter", frame.given, self._first(task))
        if self.acted:
            return Go(Action("attempt", None, task.at))
        given = self.given(task, frame, frame.given)
        return Attempt(task, self.duration(retry.attempt_limit, given, task.at))

    # -- ending --------------------------------------------------------------------------------

    def complete(self, raw: Any, then: str | None = None) -> Next:
        """The task on top came to `raw`: shape it, export from it, and leave the task."""
        frame = self.state.frames[-1]
        task = self.task(frame.at)
        if frame.phase not in ("after", blocks.LEFT):
            added = blocks.after(self, task, frame, raw, then, 0)
            if added is not None:
                if isinstance(task, CallTask):
                    self._note_call(task, raw)
                return added
        output = self.render(
            task.output.template, self.given(task, frame, raw, raw_output=raw), task.at, raw
        )
        self.validate(task.output, output, task.at, "the output")
        if task.export.template is not None:
            seen = self.given(task, frame, output, raw_output=raw, output=output)
            context = self.render(task.export.template, seen, task.at)
            self.validate(task.export, context, task.at, "what is exported")
            self.state.context = context
        elif task.export.schema is not None:
            self.validate(task.export, self.state.context, task.at, "the context")
        self.state.frames.pop()
        # Of an activity it is told what came of it, before it was shaped: a run whose state was
        # lost is walked again from that.
        if not isinstance(task, CallTask):
            agreed = frame.memo["keys"] if isinstance(task, ListenTask) else None
            self._note(task.at, TaskVisit(output, keys=agreed))
        elif frame.phase not in ("after", blocks.LEFT):  # told before; never called
            self._note_call(task, raw)
        return self._after(task, output, then)

    def _after(self, task: Task, output: Any, then: str | None = None) -> Next:
        then = then or task.then
        if then == "end":
            return self._end(output)
        if not self.state.frames:
            return Done(output, then)
        if then == "continue":
            following = self.run.workflow.following.get(task.at)
            return Action("enter", output, following) if following else self._listed(output)
        if then == "exit":
            top = self.state.frames[-1]
            if top.phase != "before":
                return self._listed(output)
            top.phase = blocks.LEFT  # an extension stands in for the task
            return self.complete(output)
        return Action("enter", output, self.run.workflow.beside[task.at][then])

    def _listed(self, output: Any) -> Next:
        """The tasks inside the task on top are done."""
        frame = self.state.frames[-1]
        if frame.phase in ("before", "after"):
            return self._go_on_extending(frame)
        match self.task(frame.at):
            case Root():
                return self._finish(output)
            case ForTask() as task:
                return blocks.on(self, task, frame, output)
            case ListenTask() as task:
                return listen.handled(self, task, output)
            case ConsumeTask() as task:
                return consume.handled(self, task, output)
            case TryTask(catch=catch) if frame.phase == "catch":
                return self.complete(output, catch.then)
            case TryTask() if frame.phase == "attempt":
                self.state.frames.pop()
                return Done(output)
            case _:
                return self.complete(output)

    def _go_on_extending(self, frame: TaskFrame) -> Next:
        task, number = self.task(frame.at), frame.index + 1
        if frame.phase == "before":
            if self.acted and isinstance(task, _ALONE):
                return Go(Action("listed", None, task.at))
            return blocks.before(self, task, frame, number) or self._perform(task, frame)
        raw, then = frame.error, frame.then or None
        added = blocks.after(self, task, frame, raw, then, number)
        return added or self.complete(raw, then)

    def _end(self, output: Any) -> Next:
        self.state.frames.clear()
        return Escape(Action("end", output)) if self.scope else self._finish(output)

    def _finish(self, output: Any) -> Next:
        self.state.frames.clear()
        root = self.task("")
        shaped = self.render(
            root.output.template, self.given(root, None, output), "/output", output
        )
        self.validate(root.output, shaped, "/output", "the workflow's output")
        return Done(shaped)

    def _raise(self, fault: Fault) -> Next:
        """Go up until a try handles the error."""
        frames = self.state.frames
        culprit = self.run.workflow.tasks.get(fault.instance)
        outside = isinstance(culprit, CallTask)
        if culprit is not None and not (outside and self._carried and not self._awaited()):
            self._note(culprit.at, TaskVisit(fault=fault))
            # A message tells of one activity at most: of two, a run that is rebuilt from what was
            # told would take the failure of the one for that of the other.
            self.acted = self.acted or outside
        self._carried = False
        while frames:
            frame = frames[-1]
            task = self.task(frame.at)
            if isinstance(task, TryTask) and frame.phase == "":
                try:
                    found = blocks.handle(self, task, frame, fault)
                except FaultError as error:  # what decides about the error has itself failed
                    fault, found = error.fault, None
                if found is not None:
                    return found
            if task.at not in ("", fault.instance):
                self._note(task.at, TaskVisit(fault=fault))
            frames.pop()
        return Escape(Action("raise", fault.value())) if self.scope else Faulted(fault)

    def tell(self, at: str, output: Any) -> None:
        """Tell what a task came to."""
        self._note(at, TaskVisit(output))

    def _awaited(self) -> bool:
        """Return whether the task on top is an activity whose end is told by something else."""
        return any(isinstance(self.task(frame.at), CallTask) for frame in self.state.frames[-1:])

    def _first(self, task: Task) -> str:
        return lists_of(task)[0][0].at

    def _note_call(self, task: CallTask, raw: Any) -> None:
        if not isinstance(task, ConsumeTask) or task.at not in self.visits:
            self._note(
                task.at, TaskVisit(raw)
            )  # else it is told what the last of its calls came to

    def _note(self, at: str, visit: TaskVisit) -> None:
        before = self.visits.get(at)
        if before is not None:
            visit.times += before.times
        self.visits[at] = visit

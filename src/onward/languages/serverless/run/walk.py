"""The walk through the tree: control flow, one task after another, until something must happen.

A walk is a function of a token and of its own choices: walked again, it reaches the same stop. It
enters a bounded number of tasks, so that a long loop neither holds up other runs nor is lost with
its worker. After something outside was done (`acted`) it stops before everything that needs more
than one effect: that gets a message of its own, which can safely be handled twice.
"""

from __future__ import annotations

from typing import Any, assert_never

from onward.languages.serverless.errors import (
    Fault,
    FaultError,
    fault_to_raise,
    read_fault,
    timeout_fault,
)
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
from onward.languages.serverless.run.path import TaskVisit, TreePath
from onward.languages.serverless.run.state import Action, TaskFrame, WalkState
from onward.languages.serverless.run.stops import (
    LIMITED,
    Attempt,
    AwaitRun,
    BeginListening,
    Escape,
    Go,
    Limit,
    Next,
    PathEnd,
    RunFailure,
    Sleep,
    Spread,
    Stop,
)
from onward.languages.serverless.run.variables import WalkContext
from onward.languages.serverless.templates import WORK, EvaluationInput

MOST_TASKS = 500
"""How many tasks one message enters at most."""

_ALONE = CallTask | ForkTask | ListenTask
"""What needs a message of its own, after something outside was done."""
_LASTING = ConsumeTask | DoTask | ForTask | ForkTask | Function | ListenTask | TryTask
"""What a time limit makes a scope of."""


class Walk(TreePath):
    """A path on its way, from one stop to the next."""

    def __init__(self, context: WalkContext, state: WalkState, scope: str) -> None:
        """`scope` names the scope that the path is in; "" is the run itself."""
        super().__init__(context, state)
        self.scope = scope
        self._carried = False  # whether the path brought an error, which was reported elsewhere
        self._entered = 0

    def go(self, action: Action | None = None) -> Stop:
        """Walk from `action`, or from the action of the state, and return where it stops."""
        step: Next = action or self.state.action
        brought = "" if action else self.state.action.kind
        self._carried = brought == "raise"
        # The end of a wait counts as what this message did.
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
                return self.complete(action.value, action.then or None)
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
        """Continue a task that waits for something outside."""
        if action.kind == "await":
            return AwaitRun(action.at, action.value)
        task = self.task(self.state.frames[-1].at)
        match task:
            case ListenTask() if action.kind == "heard":
                return listen.take_event(self, task, action.value)
            case ListenTask():
                return listen.hear_next(self, task)
            case ConsumeTask() if action.kind == "taken":
                return consume.take_result(self, task, action.value)
            case ConsumeTask():
                return consume.take_next(self, task)
            case _:
                raise TypeError(f"{task.at} waits for nothing")

    # -- beginning -----------------------------------------------------------------------------

    def _begin(self) -> Next:
        root, raw = self.task(""), self.state.input
        self.validate(root.input, raw, "/input", "the workflow's input")
        data = self.render(root.input.template, self.inputs(root, None, raw), "/input", raw)
        limit_ms = None
        if root.timeout is not None:
            limit_ms = self.duration(root.timeout, self.inputs(root, None, raw), "/timeout")
        self.state.frames.append(TaskFrame("", raw, data, self.now_ms))
        first = Action("enter", data, self._first(root))
        if self.context.workflow.listens:
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
        frame = TaskFrame(task.at, raw, raw, self.now_ms)
        if limited and task.timeout is not None:
            limit_ms = self.duration(task.timeout, self.inputs(task, frame, raw), task.at)
            return Limit(task, raw, limit_ms)
        if task.condition is not None and not self.holds(
            task.condition, self.inputs(task, frame, raw), task.at
        ):
            return self._after(task, raw, "continue")
        self.validate(task.input, raw, task.at, "the input")
        frame.input = self.render(task.input.template, self.inputs(task, frame, raw), task.at, raw)
        self.state.frames.append(frame)
        return blocks.enter_before(self, task, frame, 0) or self._perform(task, frame)

    @property
    def _full(self) -> bool:
        """Whether this message has done its share; the next one continues."""
        return self._entered >= MOST_TASKS or self.context.account.spent >= WORK

    def _perform(self, task: Task, frame: TaskFrame) -> Next:
        inputs = self.inputs(task, frame, frame.input)
        match task:
            case SetTask(value=value):
                return self.complete(self.render(value, inputs, task.at))
            case DoTask():
                return Action("enter", frame.input, self._first(task))
            case ForTask():
                return blocks.begin_loop(self, task, frame)
            case Function(arguments=arguments):
                data = self.render(arguments, inputs, task.at, frame.input)
                return Action("enter", data, self._first(task))
            case SwitchTask():
                return self.complete(frame.input, self._choose(task, inputs))
            case RaiseTask(error=error):
                raise FaultError(fault_to_raise(self.render(error, inputs, task.at), task.at))
            case TryTask():
                frame.since = self.now_ms
                return Action("attempt")
            case ForkTask():
                return Spread(task)
            case WaitTask() | ListenTask() | CallTask():
                return self._pause(task, frame, inputs)
            case _:
                raise TypeError(f"no such task: {task.kind}")

    def _pause(
        self, task: WaitTask | ListenTask | CallTask, frame: TaskFrame, inputs: EvaluationInput
    ) -> Next:
        match task:
            case WaitTask():
                return self._wait(task, inputs)
            case ListenTask():
                return listen.begin_listen(task, frame)
            case ConsumeTask():
                return consume.begin_consume(self, task, frame)
            case _:
                return blocks.call_activity(self, task, inputs, self._limit(task, inputs))

    def _choose(self, task: SwitchTask, inputs: EvaluationInput) -> str:
        for case in task.cases:
            if case.when is not None and self.holds(case.when, inputs, task.at):
                return case.then
        return next((case.then for case in task.cases if case.when is None), task.then)

    def _wait(self, task: WaitTask, inputs: EvaluationInput) -> Stop:
        length = self.duration(task.duration, inputs, task.at)
        if task.timeout is not None:
            limit_ms = self.duration(task.timeout, inputs, task.at)
            if limit_ms < length:
                action = Action("raise", timeout_fault(task.at, limit_ms).value())
                return Sleep(task.at, action, limit_ms)
        return Sleep(task.at, Action("complete", inputs.data), length)

    def _limit(self, task: Task, inputs: EvaluationInput) -> float | None:
        limit = task.timeout
        return None if limit is None else self.duration(limit, inputs, task.at) / 1000

    def _attempt(self) -> Next:
        """Begin, or begin again, the tasks of the try on top."""
        frame = self.state.frames[-1]
        task = self.task(frame.at)
        if not isinstance(task, TryTask):
            raise TypeError(f"{frame.at} is not a try")
        retry = task.catch.retry
        if retry is None or retry.attempt_limit is None or frame.phase == "attempt":
            return Action("enter", frame.input, self._first(task))
        if self.acted:
            return Go(Action("attempt", None, task.at))
        inputs = self.inputs(task, frame, frame.input)
        return Attempt(task, self.duration(retry.attempt_limit, inputs, task.at))

    # -- ending --------------------------------------------------------------------------------

    def complete(self, raw: Any, then: str | None = None) -> Next:
        """Complete the task on top with `raw`: shape it, export from it, and leave the task."""
        frame = self.state.frames[-1]
        task = self.task(frame.at)
        extendable = frame.phase not in ("after", blocks.LEFT)
        if extendable:
            added = blocks.enter_after(self, task, frame, raw, then, 0)
            if added is not None:
                if isinstance(task, CallTask):
                    self._note_call(task, raw)
                return added
        output = self.render(
            task.output.template, self.inputs(task, frame, raw, raw_output=raw), task.at, raw
        )
        self.validate(task.output, output, task.at, "the output")
        if task.export.template is not None:
            seen = self.inputs(task, frame, output, raw_output=raw, output=output)
            context = self.render(task.export.template, seen, task.at)
            self.validate(task.export, context, task.at, "what is exported")
            self.state.context = context
        elif task.export.schema is not None:
            self.validate(task.export, self.state.context, task.at, "the context")
        self.state.frames.pop()
        # Of an activity the raw output is reported, before it was shaped: a run whose state was
        # lost is walked again from that.
        if not isinstance(task, CallTask):
            keys = frame.memo["keys"] if isinstance(task, ListenTask) else None
            self.note(task.at, TaskVisit(output, keys=keys))
        elif extendable:  # reported before; never called
            self._note_call(task, raw)
        return self._after(task, output, then)

    def _after(self, task: Task, output: Any, then: str | None = None) -> Next:
        then = then or task.then
        if then == "end":
            return self._end(output)
        if not self.state.frames:
            return PathEnd(output, then)
        if then == "continue":
            following = self.context.workflow.following.get(task.at)
            return Action("enter", output, following) if following else self._listed(output)
        if then == "exit":
            top = self.state.frames[-1]
            if top.phase != "before":
                return self._listed(output)
            top.phase = blocks.LEFT  # an extension stands in for the task
            return self.complete(output)
        return Action("enter", output, self.context.workflow.beside[task.at][then])

    def _listed(self, output: Any) -> Next:
        """The tasks inside the task on top are done."""
        frame = self.state.frames[-1]
        if frame.phase in ("before", "after"):
            return self._go_on_extending(frame)
        match self.task(frame.at):
            case Root():
                return self._finish(output)
            case ForTask() as task:
                return blocks.next_item(self, task, frame, output)
            case ListenTask() as task:
                return listen.add_item(self, task, output)
            case ConsumeTask() as task:
                return consume.add_item(self, task, output)
            case TryTask(catch=catch) if frame.phase == "catch":
                return self.complete(output, catch.then)
            case TryTask() if frame.phase == "attempt":
                self.state.frames.pop()
                return PathEnd(output)
            case _:
                return self.complete(output)

    def _go_on_extending(self, frame: TaskFrame) -> Next:
        task, number = self.task(frame.at), frame.index + 1
        if frame.phase == "before":
            if self.acted and isinstance(task, _ALONE):
                return Go(Action("listed", None, task.at))
            return blocks.enter_before(self, task, frame, number) or self._perform(task, frame)
        raw, then = frame.error, frame.then or None
        added = blocks.enter_after(self, task, frame, raw, then, number)
        return added or self.complete(raw, then)

    def _end(self, output: Any) -> Next:
        self.state.frames.clear()
        return Escape(Action("end", output)) if self.scope else self._finish(output)

    def _finish(self, output: Any) -> Next:
        self.state.frames.clear()
        root = self.task("")
        shaped = self.render(
            root.output.template, self.inputs(root, None, output), "/output", output
        )
        self.validate(root.output, shaped, "/output", "the workflow's output")
        return PathEnd(shaped)

    def _raise(self, fault: Fault) -> Next:
        """Go up until a try handles the error."""
        frames = self.state.frames
        culprit = self.context.workflow.tasks.get(fault.instance)
        outside = isinstance(culprit, CallTask)
        if culprit is not None and not (outside and self._carried and not self._awaited()):
            self.note(culprit.at, TaskVisit(fault=fault))
            # A message reports one activity at most: of two, a run that is rebuilt from the reports
            # would take the failure of the one for that of the other.
            self.acted = self.acted or outside
        self._carried = False
        while frames:
            depth, frame = len(frames), frames[-1]
            task = self.task(frame.at)
            if isinstance(task, TryTask) and frame.phase == "":
                try:
                    found = self._handle(task, frame, fault)
                except FaultError as error:  # what decides about the error has itself failed
                    fault, found = error.fault, None
                if found is not None:
                    return found
                if len(frames) < depth:
                    continue  # the try was complete: what failed is around it
            if task.at not in ("", fault.instance):
                self.note(task.at, TaskVisit(fault=fault))
            frames.pop()
        return Escape(Action("raise", fault.value())) if self.scope else RunFailure(fault)

    def _handle(self, task: TryTask, frame: TaskFrame, fault: Fault) -> Next | None:
        found = blocks.handle_fault(self, task, frame, fault)
        if isinstance(found, Action) and found.kind == "complete":
            # At once, not as a step of its own: an output that fails now must go up, and would
            # otherwise be caught by the same try for ever.
            return self.complete(found.value, found.then or None)
        return found

    def _awaited(self) -> bool:
        """Return whether the task on top is an activity whose end was signalled from outside."""
        return any(isinstance(self.task(frame.at), CallTask) for frame in self.state.frames[-1:])

    def _first(self, task: Task) -> str:
        return lists_of(task)[0][0].at

    def _note_call(self, task: CallTask, raw: Any) -> None:
        if not isinstance(task, ConsumeTask) or task.at not in self.visits:
            # Otherwise the result of the last of its calls is noted already.
            self.note(task.at, TaskVisit(raw))

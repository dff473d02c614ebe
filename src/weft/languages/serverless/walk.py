"""The walk through the tree: control flow, one task after another, until something must happen.

A walk is a function of a token and of its own choices: walked again, it comes to the same stop. It
goes no further than a bounded number of tasks, so that a long loop neither holds up other runs nor
is lost with its worker. After something outside was done (`acted`) it stops before everything that
needs more than one effect: that gets a message of its own, which can safely be handled twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from weft.languages.serverless import catching, extending, listening
from weft.languages.serverless.evaluating import Evaluator
from weft.languages.serverless.faults import (
    Fault,
    FaultError,
    raised,
    read_fault,
    standard,
    timed_out,
)
from weft.languages.serverless.model import (
    Call,
    Do,
    For,
    Fork,
    Function,
    Listen,
    Raise,
    Root,
    Set,
    Switch,
    Task,
    Try,
    Wait,
    lists_of,
)
from weft.languages.serverless.sight import Run
from weft.languages.serverless.state import Action, Frame, State
from weft.languages.serverless.stops import (
    Act,
    Attempt,
    Await,
    Done,
    Escape,
    Faulted,
    Go,
    Limit,
    Sleep,
    Spread,
    Stop,
    Subscribe,
)
from weft.languages.serverless.values import WORK, Given

TASKS = 500
"""How many tasks one message enters at most."""
LIMITED = "/timeout"
ATTEMPTED = "/catch/retry/limit/attempt"
"""Below a task's pointer: the scope that its time limit, or that of an attempt, makes."""

Next = Action | Stop
_ALONE = Call | Fork | Listen
"""What needs a message of its own, after something outside was done."""
_LASTING = Do | For | Fork | Function | Listen | Try
"""What a time limit makes a scope of."""


@dataclass(slots=True)
class Visit:
    """What a task came to, the last time this walk passed it."""

    output: Any = None
    fault: Fault | None = None
    times: int = 1


class Walk(Evaluator):
    """One path through the tree, from one stop to the next."""

    def __init__(self, run: Run, state: State, scope: str) -> None:
        """`scope` names the scope that the path is in; "" is the run itself."""
        super().__init__(run, state)
        self.scope = scope
        self.visits: dict[str, Visit] = {}
        self.acted = False
        self._entered = 0

    def go(self, action: Action | None = None) -> Stop:
        """Walk on with `action`, or with what the state says is next, and return where it stops."""
        step: Next = action or self.state.action
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
            case "await":
                return Await(action.at, action.value)
            case "hear":
                return listening.on(self, self._listen())
            case "heard":
                return listening.heard(self, self._listen(), action.value)
            case _:
                assert_never(action.kind)

    # -- beginning -----------------------------------------------------------------------------

    def _begin(self) -> Next:
        root, given = self.task(""), self.state.given
        self.validate(root.input, given, "/input", "the workflow's input")
        data = self.render(root.input.template, self.given(root, None, given), "/input", given)
        limit_ms = None
        if root.timeout is not None:
            limit_ms = self.duration(root.timeout, self.given(root, None, given), "/timeout")
        self.state.frames.append(Frame("", given, data, self.run.now_ms))
        first = Action("enter", data, self._first(root))
        if self.run.workflow.listens:
            return Subscribe(Go(first, limit_ms))
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
        frame = Frame(task.at, raw, raw, self.run.now_ms)
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
        return extending.before(self, task, frame, 0) or self._perform(task, frame)

    @property
    def _full(self) -> bool:
        """Whether this message has done its share; the next one goes on."""
        return self._entered >= TASKS or self.run.account.spent >= WORK

    def _perform(self, task: Task, frame: Frame) -> Next:
        given = self.given(task, frame, frame.given)
        match task:
            case Set(value=value):
                return self.complete(self.render(value, given, task.at))
            case Do():
                return Action("enter", frame.given, self._first(task))
            case For():
                return self._loop(task, frame)
            case Function(arguments=arguments):
                data = self.render(arguments, given, task.at, frame.given)
                return Action("enter", data, self._first(task))
            case Switch():
                return self.complete(frame.given, self._choose(task, given))
            case Raise(error=error):
                raise FaultError(raised(self.render(error, given, task.at), task.at))
            case Try():
                frame.since = self.run.now_ms
                return Action("attempt")
            case Wait():
                return self._wait(task, given)
            case Fork():
                return Spread(task)
            case Listen():
                return listening.begin(task, frame)
            case Call():
                return self._call(task, given)
            case _:
                raise TypeError(f"no such task: {task.kind}")

    def _loop(self, task: For, frame: Frame) -> Next:
        given = self.given(task, frame, frame.given)
        items = self.evaluate(task.items, given, task.at)
        if not isinstance(items, list):
            detail = f"for.in must be an array, but {task.items.text!r} is not"
            raise FaultError(standard("expression", detail, task.at))
        frame.items, frame.index = items, -1
        return self._iterate(task, frame, frame.given)

    def _iterate(self, task: For, frame: Frame, data: Any) -> Next:
        frame.index += 1
        if frame.index >= len(frame.items):
            return self._leave_loop(frame, data)
        go_on = task.condition_to_go_on
        if go_on is not None and not self.holds(go_on, self.given(task, frame, data), task.at):
            return self._leave_loop(frame, data)
        return Action("enter", data, self._first(task))

    def _leave_loop(self, frame: Frame, data: Any) -> Next:
        frame.items = None
        return self.complete(data)

    def _choose(self, task: Switch, given: Given) -> str:
        for case in task.cases:
            if case.when is not None and self.holds(case.when, given, task.at):
                return case.then
        return next((case.then for case in task.cases if case.when is None), task.then)

    def _wait(self, task: Wait, given: Given) -> Stop:
        length = self.duration(task.duration, given, task.at)
        if task.timeout is not None:
            limit_ms = self.duration(task.timeout, given, task.at)
            if limit_ms < length:
                action = Action("raise", timed_out(task.at, limit_ms).value())
                return Sleep(task.at, action, limit_ms)
        return Sleep(task.at, Action("complete", given.data), length)

    def _call(self, task: Call, given: Given) -> Act:
        timeout_s = None
        if task.timeout is not None:
            timeout_s = self.duration(task.timeout, given, task.at) / 1000
        if task.secrets:

            def late(secrets: Any) -> Any:
                sight = {name: given.variables.get(name) for name in task.arguments.names}
                variables = {**sight, "secrets": secrets}
                return task.arguments.render(Given(given.data, variables, given.now_ms))

            return Act(task, late, timeout_s)
        return Act(task, self.render(task.arguments, given, task.at), timeout_s)

    def _attempt(self) -> Next:
        """Begin, or begin again, the tasks of the try on top."""
        frame = self.state.frames[-1]
        task = self.task(frame.at)
        if not isinstance(task, Try):
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
        if frame.phase not in ("after", extending.LEFT):
            added = extending.after(self, task, frame, raw, then, 0)
            if added is not None:
                if isinstance(task, Call):
                    self._note(task.at, Visit(raw))
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
        if not isinstance(task, Call):
            self._note(task.at, Visit(output))
        elif frame.phase not in ("after", extending.LEFT):  # told before; never called
            self._note(task.at, Visit(raw))
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
            top.phase = extending.LEFT  # an extension stands in for the task
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
            case For() as task:
                return self._iterate(task, frame, output)
            case Listen() as task:
                return listening.handled(self, task, output)
            case Try(catch=catch) if frame.phase == "catch":
                return self.complete(output, catch.then)
            case Try() if frame.phase == "attempt":
                self.state.frames.pop()
                return Done(output)
            case _:
                return self.complete(output)

    def _go_on_extending(self, frame: Frame) -> Next:
        task, number = self.task(frame.at), frame.index + 1
        if frame.phase == "before":
            if self.acted and isinstance(task, _ALONE):
                return Go(Action("listed", None, task.at))
            return extending.before(self, task, frame, number) or self._perform(task, frame)
        raw, then = frame.error, frame.then or None
        added = extending.after(self, task, frame, raw, then, number)
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
        if fault.instance in self.run.workflow.tasks:
            self._note(fault.instance, Visit(fault=fault))
        frames = self.state.frames
        while frames:
            frame = frames[-1]
            task = self.task(frame.at)
            if isinstance(task, Try) and frame.phase == "":
                try:
                    found = catching.handle(self, task, frame, fault)
                except FaultError as error:  # what decides about the error has itself failed
                    fault, found = error.fault, None
                if found is not None:
                    return found
            if task.at not in ("", fault.instance):
                self._note(task.at, Visit(fault=fault))
            frames.pop()
        return Escape(Action("raise", fault.value())) if self.scope else Faulted(fault)

    def _listen(self) -> Listen:
        task = self.task(self.state.frames[-1].at)
        if not isinstance(task, Listen):
            raise TypeError(f"{task.at} is not a listen")
        return task

    def _first(self, task: Task) -> str:
        return lists_of(task)[0][0].at

    def _note(self, at: str, visit: Visit) -> None:
        before = self.visits.get(at)
        if before is not None:
            visit.times += before.times
        self.visits[at] = visit

"""The reference for trees: the result a document of the Serverless Workflow DSL must have.

Plain recursion over the document, with time as arithmetic: calls take none, waits and delays add
up. It knows nothing of messages, tokens, frames or scopes, and shares with the engine only the
parsed document and its expressions. Branches of a fork are evaluated one after another, each from
the moment at which the fork began; what they did after the fork ended is then undone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from onward.languages.serverless.model import (
    CallTask,
    DoTask,
    EmitTask,
    ForkTask,
    ForTask,
    Function,
    ListenTask,
    RaiseTask,
    ServerlessWorkflow,
    SetTask,
    SwitchTask,
    Task,
    TaskList,
    TryTask,
    WaitTask,
)
from onward.languages.serverless.templates import EvaluationInput, Expression
from onward.simulation.serverless.plan import TreePlan, answer_of, callee_of
from onward.simulation.serverless.variables import (
    STANDARD,
    BranchEnd,
    EndlessWait,
    Expected,
    ExpectedError,
    Jump,
    ListenProgress,
    Occurrence,
    Path,
    RaisedFault,
    WorkflowEnd,
    applies,
    evaluate,
    fault_of,
    holds,
    inputs_of,
    length_ms,
    passes,
    render,
    retry_delay,
    shape,
    validate,
)

MAX_TASKS = 1500
"""A plan that enters more tasks takes too long."""

T = TypeVar("T")
TaskResult = tuple[Any, str | None]
"""The output of a task, and the task that follows if that was decided inside it."""


class EndlessError(Exception):
    """The plan does not end, or not soon enough."""


class TreeReference:
    """The interpreter of one plan."""

    def __init__(self, plan: TreePlan, workflow: ServerlessWorkflow) -> None:
        self.plan = plan
        self.workflow = workflow
        self.tied = False
        """Whether two things happened at the same instant and it matters which was first."""
        self.timed = False
        """Whether the result depends on how long something took."""
        self.occurrences: list[Occurrence] = [
            Occurrence(event.at_ms, "event", event.type, event.data) for event in plan.events
        ]
        self.entered = 0

    def run(self, given: Any) -> Expected:
        """Return how a run with input `given` ends; raises EndlessError if it does not."""
        root, path = self.workflow.root, Path(0)
        error: ExpectedError | None = None
        output: Any = None
        try:
            try:
                data = shape(root.input, given, "/input", path, {})
                output = self._list(root.tasks, data, path)
            except WorkflowEnd as end:
                output = end.value
            output = shape(root.output, output, "/output", path, {})
        except RaisedFault as raised:
            fault = raised.fault
            error = ExpectedError(fault["type"], fault["status"], fault["instance"])
        except EndlessWait:
            path.now = math.inf
        if root.timeout is not None:
            limit = length_ms(root.timeout, EvaluationInput(given, {}, 0), "/timeout")
            self.timed = True
            self.tied = self.tied or path.now == limit
            if path.now > limit:
                self._undo(0, len(self.occurrences), limit)
                error = ExpectedError(STANDARD + "timeout", 408, "/")
                return Expected("failed", error=error, visits=self.visits())
        if path.now == math.inf:
            raise EndlessError("it waits for something that never arrives")
        status = "completed" if error is None else "halted"
        return Expected(status, output, path.context, error, self.visits())

    def visits(self) -> Counter[str]:
        """Return how often each call was result."""
        return Counter(call.name for call in self.occurrences if call.kind == "call")

    # -- tasks ---------------------------------------------------------------------------------

    def _list(self, tasks: TaskList, data: Any, path: Path) -> Any:
        where = {task.name: index for index, task in enumerate(tasks)}
        at = 0
        while at < len(tasks):
            data, then = self._task(tasks[at], data, path)
            match then:
                case "continue":
                    at += 1
                case "exit":
                    break
                case "end":
                    raise WorkflowEnd(data)
                case _:
                    at = where[then]
        return data

    def _task(self, task: Task, raw: Any, path: Path) -> tuple[Any, str]:
        self.entered += 1
        if self.entered > MAX_TASKS:
            raise EndlessError("it enters too many tasks")
        if task.timeout is None or isinstance(
            task, WaitTask | CallTask | SetTask | SwitchTask | RaiseTask
        ):
            return self._whole_task(task, raw, path)
        limit = length_ms(task.timeout, inputs_of(task, path, raw, None), task.at)
        return self._within(task.at, limit, path, lambda inner: self._whole_task(task, raw, inner))

    def _whole_task(self, task: Task, raw: Any, path: Path) -> tuple[Any, str]:
        """Execute a task, from its condition to what it exports."""
        inputs = inputs_of(task, path, raw, raw)
        if task.condition is not None and not holds(task.condition, inputs, task.at):
            return raw, "continue"
        seen = {"task": inputs.variables["task"]}
        validate(task.input, raw, task.at)
        given = shape(task.input, raw, task.at, path, seen)
        seen["input"] = given
        result, then = self._execute(task, given, path, inputs_of(task, path, given, raw, given))
        seen["task"] = {**seen["task"], "output": result}
        output = shape(task.output, result, task.at, path, seen)
        validate(task.output, output, task.at)
        if task.export.template is not None:
            path.context = shape(task.export, output, task.at, path, {**seen, "output": output})
        return output, then or task.then

    def _execute(  # noqa: PLR0912
        self, task: Task, given: Any, path: Path, inputs: EvaluationInput
    ) -> TaskResult:
        match task:
            case SetTask(value=value):
                return render(value, inputs, task.at), None
            case DoTask(tasks=tasks):
                return self._list(tasks, given, path), None
            case Function(arguments=arguments, tasks=tasks):
                data = given if arguments is None else render(arguments, inputs, task.at)
                return self._list(tasks, data, path), None
            case ForTask():
                return self._loop(task, given, path, inputs), None
            case SwitchTask():
                return given, self._choice(task, inputs)
            case RaiseTask(error=error):
                raise RaisedFault({"instance": task.at, **render(error, inputs, task.at)})
            case TryTask():
                return self._try(task, given, path, inputs)
            case WaitTask():
                return self._wait(task, given, path, inputs), None
            case ForkTask():
                return self._fork(task, given, path), None
            case ListenTask():
                return self._listen(task, given, path), None
            case EmitTask():
                event = render(task.arguments, inputs, task.at)["event"]
                self.occurrences.append(Occurrence(path.now, "event", event["type"], event["data"]))
                return event, None
            case CallTask():
                return self._call(task, path, inputs), None
            case _:
                raise TypeError(f"the reference does not know {task.kind}")

    def _call(self, task: CallTask, path: Path, inputs: EvaluationInput) -> Any:
        arguments = render(task.arguments, inputs, task.at)
        name = callee_of(arguments)
        visit = 1 + self.visits()[name]
        self.occurrences.append(Occurrence(path.now, "call", name))
        path.now += self.plan.lengths.get(name, 0)
        status = self.plan.failures.get(name, {}).get(visit)
        if status is not None:
            raise RaisedFault(fault_of("communication", status, task.at))
        return answer_of(name, visit, arguments.get("body", arguments.get("input")))

    def _loop(self, task: ForTask, given: Any, path: Path, inputs: EvaluationInput) -> Any:
        items = evaluate(task.items, inputs, task.at)
        if not isinstance(items, list):
            raise RaisedFault(fault_of("expression", 400, task.at))
        data, before = given, path.names
        for index, item in enumerate(items):
            path.names = {**before, task.each: item, task.index: index}
            condition = task.loop_condition
            pass_inputs = inputs_of(task, path, data, given, given)
            try:
                if condition is not None and not holds(condition, pass_inputs, task.at):
                    break
                data = self._list(task.tasks, data, path)
            finally:
                path.names = before
        return data

    def _choice(self, task: SwitchTask, inputs: EvaluationInput) -> str | None:
        for case in task.cases:
            if case.when is not None and holds(case.when, inputs, task.at):
                return case.then
        return next((case.then for case in task.cases if case.when is None), None)

    def _wait(self, task: WaitTask, given: Any, path: Path, inputs: EvaluationInput) -> Any:
        length = length_ms(task.duration, inputs, task.at)
        limit = math.inf if task.timeout is None else length_ms(task.timeout, inputs, task.at)
        path.now += min(length, limit)
        if limit < length:
            raise RaisedFault(fault_of("timeout", 408, task.at))
        return given

    # -- errors --------------------------------------------------------------------------------

    def _try(self, task: TryTask, given: Any, path: Path, inputs: EvaluationInput) -> TaskResult:
        began, retries = path.now, 0
        while True:
            try:
                return self._attempt(task, given, path, inputs), None
            except RaisedFault as raised:
                fault = raised.fault
            catch = task.catch
            named = {**inputs.variables, "context": path.context, catch.name: fault}
            fault_inputs = EvaluationInput(fault, named, 0)
            if not passes(catch, fault) or not applies(catch, fault_inputs, task.at):
                raise RaisedFault(fault)
            delay, limit = retry_delay(catch.retry, retries, fault_inputs, task.at)
            self.timed = self.timed or limit is not None
            if limit is not None and delay is not None and path.now - began + delay > limit:
                delay = None
            if delay is not None:
                retries += 1
                path.now += delay
                continue
            if catch.tasks:
                before = path.names
                path.names = {**before, catch.name: fault}
                try:
                    return self._list(catch.tasks, given, path), catch.then
                finally:
                    path.names = before
            if catch.retry is not None:
                raise RaisedFault(fault)
            return given, catch.then

    def _attempt(self, task: TryTask, given: Any, path: Path, inputs: EvaluationInput) -> Any:
        retry = task.catch.retry
        if retry is None or retry.attempt_limit is None:
            return self._list(task.tasks, given, path)
        limit = length_ms(retry.attempt_limit, inputs, task.at)
        (output,) = self._within(
            task.at, limit, path, lambda inner: (self._list(task.tasks, given, inner),)
        )
        return output

    # -- branches, limits and events -----------------------------------------------------------

    def _within(self, at: str, limit: float, path: Path, work: Callable[[Path], T]) -> T:
        """Do some work, or raise an error at its time limit; what it exported is then lost."""
        self.timed = True
        inner, end, mark = path.branch(), path.now + limit, len(self.occurrences)
        jump: Jump | None = None
        found: T | None = None
        try:
            found = work(inner)
        except Jump as problem:
            jump = problem
            inner.now = math.inf if isinstance(problem, EndlessWait) else inner.now
        self.tied = self.tied or inner.now == end
        if inner.now >= end:
            self._undo(mark, len(self.occurrences), end)
            path.now = end
            raise RaisedFault(fault_of("timeout", 408, at)) from None
        path.now, path.context = inner.now, inner.context
        if found is None:
            raise jump or TypeError("the work has no result")
        return found

    def _fork(self, task: ForkTask, given: Any, path: Path) -> Any:
        ends: list[BranchEnd] = []
        for branch in task.branches:
            inner, first = path.branch(), len(self.occurrences)
            jump: Jump | None = None
            value: Any = None
            try:
                value, then = self._task(branch, given, inner)
                jump = WorkflowEnd(value) if then == "end" else None
            except Jump as problem:
                jump = problem
                inner.now = math.inf if isinstance(problem, EndlessWait) else inner.now
            ends.append(BranchEnd(inner, value, jump, first, len(self.occurrences)))
        return self._join(task, ends, path)

    def _join(self, task: ForkTask, ends: list[BranchEnd], path: Path) -> Any:
        stops = [
            end
            for end in ends
            if end.path.now < math.inf and (task.compete or end.jump is not None)
        ]
        if not stops:
            if any(end.jump is not None for end in ends):
                raise EndlessWait
            path.now = max(end.path.now for end in ends)
            return [end.value for end in ends]
        self.timed = True
        first = min(stops, key=lambda end: end.path.now)
        path.now = first.path.now
        self.tied = self.tied or sum(stop.path.now == path.now for stop in stops) > 1
        for end in reversed(ends):
            if end is not first:
                self._undo(end.first, end.last, path.now)
        if isinstance(first.jump, WorkflowEnd):
            path.context = first.path.context
        if first.jump is not None:
            raise first.jump
        return first.value

    def _undo(self, first: int, last: int, end: float) -> None:
        """Remove occurrences from `first` to `last` that come after `end`."""
        own = self.occurrences[first:last]
        self.tied = self.tied or any(occurrence.at == end for occurrence in own)
        self.occurrences[first:last] = [occurrence for occurrence in own if occurrence.at <= end]

    def _listen(self, task: ListenTask, given: Any, path: Path) -> Any:
        """Take events, in the order of their arrival, until there are enough of them."""
        progress = ListenProgress(task.wanted)
        taken: list[Any] = []
        while True:
            event = self._next_event(task, progress, path)
            if progress.stops(event):
                return taken
            if not progress.takes(event):
                continue
            output = self._handle_event(task, event.data, len(taken), given, path)
            taken = [*taken, output]
            if progress.is_complete():
                return taken
            until = task.wanted.until
            inputs = inputs_of(task, path, taken, given, given)
            if isinstance(until, Expression) and holds(until, inputs, task.at):
                return taken

    def _next_event(self, task: ListenTask, progress: ListenProgress, path: Path) -> Occurrence:
        """Return the first event that the listen has not received yet, when it arrives."""
        received = sum(
            occurrence.kind == "received" and occurrence.name == task.at
            for occurrence in self.occurrences
        )
        events = sorted(
            (
                occurrence
                for occurrence in self.occurrences
                if occurrence.kind == "event" and occurrence.name in progress.types
            ),
            key=lambda event: event.at,
        )
        if received >= len(events):
            raise EndlessWait
        event = events[received]
        self.tied = self.tied or sum(other.at == event.at for other in events) > 1
        path.now = max(path.now, event.at)
        self.occurrences.append(Occurrence(path.now, "received", task.at))
        return event

    def _handle_event(self, task: ListenTask, data: Any, index: int, given: Any, path: Path) -> Any:
        foreach = task.foreach
        if foreach is None:
            return data
        before = path.names
        path.names = {**before, foreach.item: data, foreach.index: index}
        try:
            result = self._list(foreach.tasks, data, path) if foreach.tasks else data
            return shape(foreach.output, result, task.at, path, {"input": given})
        finally:
            path.names = before

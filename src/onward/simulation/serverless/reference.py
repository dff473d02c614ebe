"""The oracle for trees: what a document of the Serverless Workflow DSL must come to.

Plain recursion over the document, with time as arithmetic: calls take none, waits and delays add
up. It knows nothing of messages, tokens, frames or scopes, and shares with the engine only the
parsed document and its expressions. Branches of a fork are evaluated one after another, each from
the moment at which the fork began; what they did after the fork was over is then undone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from onward.languages.serverless.model import (
    CallTask,
    DoTask,
    EmitTask,
    EventFilter,
    EventSelection,
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
from onward.simulation.serverless.plan import TreePlan, answered, name_of
from onward.simulation.serverless.variables import (
    STANDARD,
    Expected,
    Happened,
    Jump,
    Never,
    Over,
    Path,
    ReferenceVariables,
    Thrown,
    fault_of,
    passes,
)

# -- Which events a listen of the oracle for trees takes, and when it has heard enough.


class Named(Protocol):
    """An event, as far as it matters here: random plans tell events apart by their types."""

    @property
    def name(self) -> str:
        """Its type."""
        ...


class Ear:
    """What one visit to a listen has heard so far."""

    def __init__(self, wanted: EventSelection) -> None:
        self._wanted = wanted
        self._met: list[EventFilter] = []
        self._last = wanted.until if isinstance(wanted.until, EventSelection) else None
        filters = (*wanted.filters, *(self._last.filters if self._last else ()))
        self.types = frozenset(one.event_type for one in filters)
        """The types that are looked at; what a listen cannot want never comes to it."""

    def stops(self, event: Named) -> bool:
        """Return whether this event ends it, and is itself not taken."""
        return self._last is not None and any(
            one.event_type == event.name for one in self._last.filters
        )

    def takes(self, event: Named) -> bool:
        """Return whether this event is taken; of `all`, each filter takes one."""
        for one in self._wanted.filters:
            if one.event_type == event.name and not (self._wanted.each and one in self._met):
                self._met.append(one)
                return True
        return False

    def enough(self) -> bool:
        """Return whether nothing more is wanted; with `until` that is said elsewhere."""
        if self._wanted.until is not None:
            return False
        return len(self._met) >= (len(self._wanted.filters) if self._wanted.each else 1)


MOST_TASKS = 1500
"""A plan with more to do is not worth its time."""

Made = TypeVar("Made")
Result = tuple[Any, str | None]
"""What a task comes to, and where it leads if that was decided inside it."""


class EndlessError(Exception):
    """The plan does not end, or not soon enough."""


class TreeReference(ReferenceVariables):
    """Interprets one plan."""

    def __init__(self, plan: TreePlan, workflow: ServerlessWorkflow) -> None:
        super().__init__()
        self.plan = plan
        self.workflow = workflow
        self.tied = False
        """Whether two things happened at the same instant and it matters which was first."""
        self.timed = False
        """Whether the result depends on how long something took."""
        self.done: list[Happened] = [
            Happened(event.at_ms, "event", event.type, event.data) for event in plan.events
        ]
        self.entered = 0

    def run(self, given: Any) -> Expected:
        """Return how a run with input `given` ends; raises EndlessError if it does not."""
        root, path = self.workflow.root, Path(0)
        error: tuple[str, int, str] | None = None
        output: Any = None
        try:
            try:
                data = self.shaped(root.input, given, "/input", path, {})
                output = self._list(root.tasks, data, path)
            except Over as over:
                output = over.value
            output = self.shaped(root.output, output, "/output", path, {})
        except Thrown as thrown:
            error = (thrown.fault["type"], thrown.fault["status"], thrown.fault["instance"])
        except Never:
            path.now = math.inf
        if root.timeout is not None:
            limit = self.length(root.timeout, EvaluationInput(given, {}, 0), "/timeout")
            self.timed = True
            self.tied = self.tied or path.now == limit
            if path.now > limit:
                self._undo(0, len(self.done), limit)
                return Expected(
                    "failed", error=(STANDARD + "timeout", 408, "/"), visits=self.visits()
                )
        if path.now == math.inf:
            raise EndlessError("it waits for what never comes")
        status = "completed" if error is None else "halted"
        return Expected(status, output, path.context, error, self.visits())

    def visits(self) -> Counter[str]:
        """Return how often each call was made."""
        return Counter(one.name for one in self.done if one.kind == "call")

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
                    raise Over(data)
                case _:
                    at = where[then]
        return data

    def _task(self, task: Task, raw: Any, path: Path) -> tuple[Any, str]:
        self.entered += 1
        if self.entered > MOST_TASKS:
            raise EndlessError("it has too much to do")
        if task.timeout is None or isinstance(
            task, WaitTask | CallTask | SetTask | SwitchTask | RaiseTask
        ):
            return self._whole(task, raw, path)
        limit = self.length(task.timeout, self.sees(task, path, raw, None), task.at)
        return self._within(task.at, limit, path, lambda inner: self._whole(task, raw, inner))

    def _whole(self, task: Task, raw: Any, path: Path) -> tuple[Any, str]:
        """Do a task, from its condition to what it exports."""
        sees = self.sees(task, path, raw, raw)
        if task.condition is not None and not self.holds(task.condition, sees, task.at):
            return raw, "continue"
        seen = {"task": sees.variables["task"]}
        self.valid(task.input, raw, task.at)
        given = self.shaped(task.input, raw, task.at, path, seen)
        seen["input"] = given
        made, then = self._made(task, given, path, self.sees(task, path, given, raw, given))
        seen["task"] = {**seen["task"], "output": made}
        output = self.shaped(task.output, made, task.at, path, seen)
        self.valid(task.output, output, task.at)
        if task.export.template is not None:
            path.context = self.shaped(
                task.export, output, task.at, path, {**seen, "output": output}
            )
        return output, then or task.then

    def _made(  # noqa: PLR0912
        self, task: Task, given: Any, path: Path, sees: EvaluationInput
    ) -> Result:
        match task:
            case SetTask(value=value):
                return self.render(value, sees, task.at), None
            case DoTask(tasks=tasks):
                return self._list(tasks, given, path), None
            case Function(arguments=arguments, tasks=tasks):
                data = given if arguments is None else self.render(arguments, sees, task.at)
                return self._list(tasks, data, path), None
            case ForTask():
                return self._loop(task, given, path, sees), None
            case SwitchTask():
                return given, self._choice(task, sees)
            case RaiseTask(error=error):
                raise Thrown({"instance": task.at, **self.render(error, sees, task.at)})
            case TryTask():
                return self._try(task, given, path, sees)
            case WaitTask():
                return self._wait(task, given, path, sees), None
            case ForkTask():
                return self._fork(task, given, path), None
            case ListenTask():
                return self._listen(task, given, path), None
            case EmitTask():
                event = self.render(task.arguments, sees, task.at)["event"]
                self.done.append(Happened(path.now, "event", event["type"], event["data"]))
                return event, None
            case CallTask():
                return self._call(task, path, sees), None
            case _:
                raise TypeError(f"the reference does not know {task.kind}")

    def _call(self, task: CallTask, path: Path, sees: EvaluationInput) -> Any:
        arguments = self.render(task.arguments, sees, task.at)
        name = name_of(arguments)
        visit = 1 + sum(one.kind == "call" and one.name == name for one in self.done)
        self.done.append(Happened(path.now, "call", name))
        path.now += self.plan.lengths.get(name, 0)
        status = self.plan.failures.get(name, {}).get(visit)
        if status is not None:
            raise Thrown(fault_of("communication", status, task.at))
        return answered(name, visit, arguments.get("body", arguments.get("input")))

    def _loop(self, task: ForTask, given: Any, path: Path, sees: EvaluationInput) -> Any:
        items = self.evaluate(task.items, sees, task.at)
        if not isinstance(items, list):
            raise Thrown(fault_of("expression", 400, task.at))
        data, before = given, path.names
        for index, item in enumerate(items):
            path.names = {**before, task.each: item, task.index: index}
            go_on = task.loop_condition
            looks = self.sees(task, path, data, given, given)
            try:
                if go_on is not None and not self.holds(go_on, looks, task.at):
                    break
                data = self._list(task.tasks, data, path)
            finally:
                path.names = before
        return data

    def _choice(self, task: SwitchTask, sees: EvaluationInput) -> str | None:
        for case in task.cases:
            if case.when is not None and self.holds(case.when, sees, task.at):
                return case.then
        return next((case.then for case in task.cases if case.when is None), None)

    def _wait(self, task: WaitTask, given: Any, path: Path, sees: EvaluationInput) -> Any:
        length = self.length(task.duration, sees, task.at)
        limit = math.inf if task.timeout is None else self.length(task.timeout, sees, task.at)
        path.now += min(length, limit)
        if limit < length:
            raise Thrown(fault_of("timeout", 408, task.at))
        return given

    # -- errors --------------------------------------------------------------------------------

    def _try(self, task: TryTask, given: Any, path: Path, sees: EvaluationInput) -> Result:
        began, retries = path.now, 0
        while True:
            try:
                return self._attempt(task, given, path, sees), None
            except Thrown as thrown:
                fault = thrown.fault
            catch = task.catch
            named = {**sees.variables, "context": path.context, catch.name: fault}
            looks = EvaluationInput(fault, named, 0)
            if not passes(catch, fault) or not self.wanted(catch, looks, task.at):
                raise Thrown(fault)
            delay, limit = self.patience(catch.retry, retries, looks, task.at)
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
                raise Thrown(fault)
            return given, catch.then

    def _attempt(self, task: TryTask, given: Any, path: Path, sees: EvaluationInput) -> Any:
        retry = task.catch.retry
        if retry is None or retry.attempt_limit is None:
            return self._list(task.tasks, given, path)
        limit = self.length(retry.attempt_limit, sees, task.at)
        (output,) = self._within(
            task.at, limit, path, lambda inner: (self._list(task.tasks, given, inner),)
        )
        return output

    # -- side by side, and in time -------------------------------------------------------------

    def _within(self, at: str, limit: float, path: Path, work: Callable[[Path], Made]) -> Made:
        """Do some work, or raise an error when its time is over; what it exported is then lost."""
        self.timed = True
        inner, end, mark = path.apart(), path.now + limit, len(self.done)
        jump: Jump | None = None
        found: Made | None = None
        try:
            found = work(inner)
        except Jump as problem:
            jump = problem
            inner.now = math.inf if isinstance(problem, Never) else inner.now
        self.tied = self.tied or inner.now == end
        if inner.now >= end:
            self._undo(mark, len(self.done), end)
            path.now = end
            raise Thrown(fault_of("timeout", 408, at)) from None
        path.now, path.context = inner.now, inner.context
        if found is None:
            raise jump or TypeError("work came to nothing")
        return found

    def _fork(self, task: ForkTask, given: Any, path: Path) -> Any:
        ends: list[tuple[Path, Any, Jump | None, int, int]] = []
        for branch in task.branches:
            inner, first = path.apart(), len(self.done)
            jump: Jump | None = None
            value: Any = None
            try:
                value, then = self._task(branch, given, inner)
                jump = Over(value) if then == "end" else None
            except Jump as problem:
                jump = problem
                inner.now = math.inf if isinstance(problem, Never) else inner.now
            ends.append((inner, value, jump, first, len(self.done)))
        return self._joined(task, ends, path)

    def _joined(
        self, task: ForkTask, ends: list[tuple[Path, Any, Jump | None, int, int]], path: Path
    ) -> Any:
        stops = [
            end for end in ends if end[0].now < math.inf and (task.compete or end[2] is not None)
        ]
        if not stops:
            if any(end[2] is not None for end in ends):
                raise Never
            path.now = max(end[0].now for end in ends)
            return [end[1] for end in ends]
        self.timed = True
        first = min(stops, key=lambda one: one[0].now)
        path.now = first[0].now
        self.tied = self.tied or sum(stop[0].now == path.now for stop in stops) > 1
        for end in reversed(ends):
            if end is not first:
                self._undo(end[3], end[4], path.now)
        if isinstance(first[2], Over):
            path.context = first[0].context
        if first[2] is not None:
            raise first[2]
        return first[1]

    def _undo(self, first: int, last: int, end: float) -> None:
        """Take back what was done after something was over."""
        undone = self.done[first:last]
        self.tied = self.tied or any(one.at == end for one in undone)
        self.done[first:last] = [one for one in undone if one.at <= end]

    def _listen(self, task: ListenTask, given: Any, path: Path) -> Any:
        """Take events, in the order they came, until there are enough of them."""
        ear = Ear(task.wanted)
        taken: list[Any] = []
        while True:
            event = self._next_event(task, ear, path)
            if ear.stops(event):
                return taken
            if not ear.takes(event):
                continue
            output = self._handled(task, event.data, len(taken), given, path)
            taken = [*taken, output]
            if ear.enough():
                return taken
            until = task.wanted.until
            sees = self.sees(task, path, taken, given, given)
            if isinstance(until, Expression) and self.holds(until, sees, task.at):
                return taken

    def _next_event(self, task: ListenTask, ear: Ear, path: Path) -> Happened:
        """Return the first event that the listen has not looked at yet, when it is there."""
        looked = sum(one.kind == "heard" and one.name == task.at for one in self.done)
        events = sorted(
            (one for one in self.done if one.kind == "event" and one.name in ear.types),
            key=lambda one: one.at,
        )
        if looked >= len(events):
            raise Never
        event = events[looked]
        self.tied = self.tied or sum(one.at == event.at for one in events) > 1
        path.now = max(path.now, event.at)
        self.done.append(Happened(path.now, "heard", task.at))
        return event

    def _handled(self, task: ListenTask, data: Any, index: int, given: Any, path: Path) -> Any:
        foreach = task.foreach
        if foreach is None:
            return data
        before = path.names
        path.names = {**before, foreach.item: data, foreach.index: index}
        try:
            made = self._list(foreach.tasks, data, path) if foreach.tasks else data
            return self.shaped(foreach.output, made, task.at, path, {"input": given})
        finally:
            path.names = before

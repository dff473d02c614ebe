"""A workflow of the Serverless Workflow DSL as a tree of typed tasks, ready to run.

Every task knows its place as a JSON pointer: `/do/0/first/try/1/second`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from onward.errors import DocumentProblem
from onward.kernel.retry import Backoff
from onward.languages.document.problems import Place
from onward.languages.serverless.json_schemas import Schema
from onward.languages.serverless.templates import Expression, JsonTemplate
from onward.ports.storage.triggers import Settings


@dataclass(frozen=True, slots=True)
class Shaping:
    """A schema to hold data to, and a template to make other data of it."""

    schema: Schema | None = None
    template: JsonTemplate | None = None


AS_IT_IS = Shaping()


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time: known, or said by an expression."""

    fixed_ms: int | None
    template: JsonTemplate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What every task has."""

    at: str
    name: str
    definition: Mapping[str, Any] = field(repr=False)
    condition: Expression | None = None
    input: Shaping = AS_IT_IS
    output: Shaping = AS_IT_IS
    export: Shaping = AS_IT_IS
    timeout: Duration | None = None
    then: str = "continue"
    extensions: tuple[Extension, ...] = ()

    @property
    def kind(self) -> str:
        """Return the word that makes it this kind of task."""
        return type(self).__name__.removesuffix("Task").lower()


TaskList = tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Tasks that run before and after another task, when a condition holds."""

    name: str
    when: Expression | None
    before: TaskList
    after: TaskList


@dataclass(frozen=True, slots=True, kw_only=True)
class DoTask(Task):
    """Tasks one after another."""

    tasks: TaskList


@dataclass(frozen=True, slots=True, kw_only=True)
class ForTask(Task):
    """Tasks once for each item of an array."""

    items: Expression
    each: str
    index: str
    loop_condition: Expression | None
    tasks: TaskList


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOfSwitch:
    """One way out of a switch; without a condition it is the default."""

    name: str
    when: Expression | None
    then: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTask(Task):
    """The first case that holds says where to continue; a default is tried last."""

    cases: tuple[CaseOfSwitch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTask(Task):
    """Data, in place of the input."""

    value: JsonTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseTask(Task):
    """An error, on purpose: an object with the fields of RFC 7807."""

    error: JsonTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When and how often a try is repeated."""

    when: Expression | None = None
    except_when: Expression | None = None
    delay: Duration = Duration(0)
    backoff: Backoff = "constant"
    count: int | None = None
    attempt_limit: Duration | None = None
    limit: Duration | None = None
    jitter: tuple[Duration, Duration] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """Which errors a try handles, and how."""

    filter: Mapping[str, Any]
    name: str
    when: Expression | None
    except_when: Expression | None
    retry: Retry | None
    tasks: TaskList
    then: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TryTask(Task):
    """Tasks whose errors are handled."""

    tasks: TaskList
    catch: Catch


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitTask(Task):
    """A pause."""

    duration: Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkTask(Task):
    """Tasks side by side: all of them, or a race."""

    branches: TaskList
    compete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTask(Task):
    """Something outside, called with arguments. `function` is a name in the task catalogue."""

    function: str
    arguments: JsonTemplate
    secrets: tuple[str, ...]
    policy: JsonTemplate | None = None
    """Its authentication policy, when the arguments read the authorization."""
    scheme: str = ""
    """The scheme of its Authorization header, such as Bearer; "": it has none."""

    @property
    def late(self) -> bool:
        """Return whether its arguments can only be built where it is called."""
        return bool(self.secrets) or self.policy is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitTask(CallTask):
    """An event, published. `function` is "emit"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTask(CallTask):
    """A process of its own: a command, a script, a container. `awaited`: its end is waited for."""

    awaited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """A value that events must agree in: with each other, or with what is expected."""

    name: str
    value: Expression
    expected: JsonTemplate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """What one attribute of an event must be: a value, or an expression that is true of it.

    `pattern`: a text that is not equal may still match, as a regular expression.
    """

    name: str
    value: JsonTemplate
    pattern: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted."""

    attributes: tuple[Attribute, ...]
    correlations: tuple[Correlation, ...] = ()
    event_type: str = ""
    """The one type that can pass; "" is any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSelection:
    """Which events, and how many: one of any, one for each, or until something holds."""

    filters: tuple[EventFilter, ...]
    """Without any, every event is wanted."""
    each: bool = False
    """One event for each of the filters; otherwise one that passes any of them."""
    until: Expression | EventSelection | None = None
    """Not one, but all events until a condition holds, or until other events have arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreach:
    """What is done with each event before the next one is taken."""

    item: str
    index: str
    tasks: TaskList
    output: Shaping
    export: Shaping


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeTask(CallTask):
    """Messages, taken until there are enough: one call after another, each for some of them."""

    filter: Expression | None
    amount: JsonTemplate | None
    lasting: Duration | None
    while_condition: Expression | None
    until: Expression | None
    foreach: Foreach | None

    @property
    def kind(self) -> str:
        """Return the word that makes it this kind of task."""
        return "call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenTask(Task):
    """A wait for events."""

    wanted: EventSelection
    read: Literal["data", "envelope", "raw"]
    foreach: Foreach | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(Task):
    """A function of the document, called: one task, with the arguments as its input."""

    arguments: JsonTemplate | None
    tasks: TaskList


@dataclass(frozen=True, slots=True, kw_only=True)
class Root(DoTask):
    """The workflow itself, as what holds its first tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerlessWorkflow:
    """A whole document."""

    namespace: str
    name: str
    version: str
    title: str
    root: Root
    tasks: Mapping[str, Task]
    """Every task by its pointer; the workflow itself by the empty one."""
    beside: Mapping[str, Mapping[str, str]] = field(repr=False)
    """For each task: the pointers of the tasks of its own list, by name."""
    following: Mapping[str, str] = field(repr=False)
    """The pointer of the next task of the same list; the last of a list has none."""
    value: Mapping[str, Any] = field(repr=False)
    schedule: Settings | None = None
    """The triggers that start runs of it."""
    source: bytes = field(default=b"", repr=False)
    """The document as JSON: what is hashed, stored and sent."""
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)
    warnings: tuple[DocumentProblem, ...] = ()

    @property
    def listens(self) -> bool:
        """Return whether any of its tasks waits for events."""
        return any(isinstance(task, ListenTask) for task in self.tasks.values())

    @property
    def id(self) -> str:
        """Return the workflow's id: its namespace and its name."""
        return f"{self.namespace}_{self.name}"


def lists_of(task: Task) -> tuple[TaskList, ...]:
    """Return the lists of tasks inside a task that run one after another: its own come first."""
    added = tuple(
        tasks
        for extension in task.extensions
        for tasks in (extension.before, extension.after)
        if tasks
    )
    return (*_own_lists(task), *added)


def _own_lists(task: Task) -> tuple[TaskList, ...]:
    match task:
        case DoTask(tasks=tasks) | ForTask(tasks=tasks) | Function(tasks=tasks):
            return (tasks,)
        case TryTask(tasks=tasks, catch=catch):
            return (tasks, catch.tasks)
        case ListenTask(foreach=Foreach(tasks=tasks)) | ConsumeTask(foreach=Foreach(tasks=tasks)):
            return (tasks,)
        case _:
            return ()


def body_of(task: Task) -> TaskList:
    """Return the tasks directly inside a task, in the order of the document."""
    branches = task.branches if isinstance(task, ForkTask) else ()
    return branches + tuple(inner for tasks in lists_of(task) for inner in tasks)

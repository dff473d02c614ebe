"""The stops of a walk through the tree: what must happen before it can continue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onward.languages.serverless.errors import Fault
from onward.languages.serverless.model import CallTask, ForkTask, ListenTask, Task, TryTask
from onward.languages.serverless.run.state import Action

LIMITED = "/timeout"
ATTEMPTED = "/catch/retry/limit/attempt"
"""Below a task's pointer: the scope that its time limit, or that of an attempt, makes."""


@dataclass(frozen=True, slots=True)
class Go:
    """Continue in another message: the next action needs its own, or this one has done enough.

    `limit_ms`: the workflow begins, and must not take longer.
    """

    action: Action
    limit_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Do something outside. The top frame is the task's."""

    task: CallTask
    arguments: Any
    """A value; or, when they can only be built later, a function of a template and the variables
    that are known then."""
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Sleep:
    """Continue later: after `delay_ms`, and up to `jitter_ms` more by chance."""

    at: str
    action: Action
    delay_ms: int
    jitter_ms: int = 0
    fault: Fault | None = None
    """The error that is retried; None when it is a wait."""


@dataclass(frozen=True, slots=True)
class BeginListening:
    """The workflow begins, and says what it listens to before its first task."""

    then: Go


@dataclass(frozen=True, slots=True)
class Hear:
    """Wait until the listen on top has an event."""

    task: ListenTask


@dataclass(frozen=True, slots=True)
class AwaitRun:
    """Wait for the end of another run, which is signalled to an address."""

    at: str
    address: str


@dataclass(frozen=True, slots=True)
class Spread:
    """Run the branches of a fork, each in a scope of its own. The top frame is the fork's."""

    task: ForkTask


@dataclass(frozen=True, slots=True)
class Limit:
    """Run a task, which has no frame yet, in a scope that ends when its time is over."""

    task: Task
    raw: Any
    limit_ms: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """Run the tasks of a try in a scope that ends when its time is over. Its frame is on top."""

    task: TryTask
    limit_ms: int


@dataclass(frozen=True, slots=True)
class PathEnd:
    """This path is at its end. `then` is where the task it was about leads, if it was about one."""

    output: Any
    then: str = "continue"


@dataclass(frozen=True, slots=True)
class Escape:
    """This path ends its scope at once; the action is to be done outside."""

    action: Action


@dataclass(frozen=True, slots=True)
class RunFailure:
    """An error that nothing handles ends the run."""

    fault: Fault


Stop = (
    Go
    | Act
    | Sleep
    | BeginListening
    | Hear
    | AwaitRun
    | Spread
    | Limit
    | Attempt
    | PathEnd
    | Escape
    | RunFailure
)

Next = Action | Stop
"""What follows from a step of a walk: another step, or a stop."""

"""Where a walk through the tree stops, because something must happen before it can go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onward.languages.serverless.faults import Fault
from onward.languages.serverless.model import Call, Fork, Listen, Task, Try
from onward.languages.serverless.state import Action


@dataclass(frozen=True, slots=True)
class Go:
    """Go on in another message: what is next must have its own, or this one has done enough.

    `limit_ms`: the workflow begins, and must not take longer.
    """

    action: Action
    limit_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Do something outside. The top frame is the task's."""

    task: Call
    arguments: Any
    """A value; or, when they can only be made later, a function of a template and the variables
    that are known then."""
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Sleep:
    """Go on later: after `delay_ms`, and up to `jitter_ms` more by chance."""

    at: str
    action: Action
    delay_ms: int
    jitter_ms: int = 0
    fault: Fault | None = None
    """What is tried again; None when it is a wait."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The workflow begins, and says what it listens to before its first task."""

    then: Go


@dataclass(frozen=True, slots=True)
class Hear:
    """Wait until the listen on top has an event."""

    task: Listen


@dataclass(frozen=True, slots=True)
class Await:
    """Wait for the end of another run, which will be told at an address."""

    at: str
    address: str


@dataclass(frozen=True, slots=True)
class Spread:
    """Run the branches of a fork, each in a scope of its own. The top frame is the fork's."""

    task: Fork


@dataclass(frozen=True, slots=True)
class Limit:
    """Run a task, which has no frame yet, in a scope that ends when its time is over."""

    task: Task
    raw: Any
    limit_ms: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """Run the tasks of a try in a scope that ends when its time is over. Its frame is on top."""

    task: Try
    limit_ms: int


@dataclass(frozen=True, slots=True)
class Done:
    """This path is at its end. `then` is where the task it was about leads, if it was about one."""

    output: Any
    then: str = "continue"


@dataclass(frozen=True, slots=True)
class Escape:
    """This path ends its scope at once; the action is to be done outside."""

    action: Action


@dataclass(frozen=True, slots=True)
class Faulted:
    """An error that nothing handles ends the run."""

    fault: Fault


Stop = (
    Go | Act | Sleep | Subscribe | Hear | Await | Spread | Limit | Attempt | Done | Escape | Faulted
)

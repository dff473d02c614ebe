"""How a run starts: its options, and the first tokens."""

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from onward.kernel.context import Payload
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import VisitRecord
from onward.ports.storage.run_decisions import RunDecision
from onward.ports.storage.signals import StoredSignal


class StartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a run begins, beside its definition and its input."""

    priority: int = 0
    """From 0 to 5: the higher, the sooner."""
    deadline_ms: int | None = None
    """When it fails if it still goes on."""
    retry_of: str | None = None
    """The run that it tries again."""
    root: str = ""
    """The first attempt of all, whose token ids it has too."""
    kept: tuple[VisitRecord, ...] = ()
    """What it keeps of the history before, as its own."""
    signals: tuple[StoredSignal, ...] = ()
    """What was sent to the run before and is still good."""


DEFAULT_START = StartOptions()


def decision_of(execution_id: str, how: StartOptions) -> RunDecision:
    """Return what is kept about how a run began."""
    return RunDecision(
        execution_id=execution_id,
        retry_of=how.retry_of,
        root=how.root,
        priority=how.priority,
        deadline_ms=how.deadline_ms,
    )


def first_tokens(
    program: Program, execution_id: str, given: Raw, now_ms: int, how: StartOptions
) -> tuple[list[Token], list[Payload]]:
    """Return the tokens a run begins with, and what to store before them.

    A new attempt has the ids of the first one, so that it finds what it keeps.
    """
    tokens, payloads = program.start(how.root or execution_id, given, now_ms=now_ms)
    named = [
        msgspec.structs.replace(
            token, execution_id=execution_id, root=how.root, priority=how.priority
        )
        for token in tokens
    ]
    return named, payloads


def renamed(kept: Iterable[VisitRecord], execution_id: str) -> list[VisitRecord]:
    """Return lines of history as those of another run."""
    return [msgspec.structs.replace(one, execution_id=execution_id) for one in kept]

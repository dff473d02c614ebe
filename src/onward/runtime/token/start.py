"""How a run starts: its options, and its first tokens."""

from __future__ import annotations

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
    """How a run starts, beside its definition and its input."""

    priority: int = 0
    """From 0 to 5: the higher, the sooner."""
    deadline_ms: int | None = None
    """When it fails if it is still running, epoch ms."""
    retry_of: str | None = None
    """The run of which it is a new attempt."""
    root: str = ""
    """The first of all its attempts: it has the same token ids."""
    kept: tuple[VisitRecord, ...] = ()
    """Visits of the earlier attempt that it takes over as its own history."""
    signals: tuple[StoredSignal, ...] = ()
    """Signals to the earlier attempt that are still valid."""


DEFAULT_START = StartOptions()


def decision_of(execution_id: str, how: StartOptions) -> RunDecision:
    """Return the stored decision about how a run started."""
    return RunDecision(
        execution_id=execution_id,
        retry_of=how.retry_of,
        root=how.root,
        priority=how.priority,
        deadline_ms=how.deadline_ms,
    )


def first_tokens_of(
    program: Program, execution_id: str, given: Raw, now_ms: int, how: StartOptions
) -> tuple[list[Token], list[Payload]]:
    """Return the tokens that a run starts with, and the payloads to store before them.

    A new attempt has the token ids of the first one, so that it finds the history it takes over.
    """
    tokens, payloads = program.start(how.root or execution_id, given, now_ms=now_ms)
    named = [
        msgspec.structs.replace(
            token, execution_id=execution_id, root=how.root, priority=how.priority
        )
        for token in tokens
    ]
    return named, payloads


def copy_visits(visits: Iterable[VisitRecord], execution_id: str) -> list[VisitRecord]:
    """Return visits as those of another run."""
    return [msgspec.structs.replace(visit, execution_id=execution_id) for visit in visits]

"""Start rules: how many runs of a workflow may run at once, and how often they may start.

A run that may not start yet is parked: a row that is stored, in order, until there is room. Room is
counted from the runs themselves, so a run that has ended, however it did, leaves its room.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from onward.kernel.messages import CompletionMessage
from onward.kernel.records import Definition

AT_ONCE = 1000
"""Runs that are released in one step."""
AGAIN_MS = 30_000
"""After this time, a run that was released and did not start is started by another process."""


class StartRule(msgspec.Struct, frozen=True, kw_only=True):
    """How runs of a workflow may start. Every key is counted for itself."""

    key: str = ""
    """An expression on `$trigger`; empty: one key for the workflow."""
    concurrency: int | None = None
    """How many may run at once."""
    rate: int | None = None
    """How many may start..."""
    per_ms: int = 60_000
    """...within so long."""
    singleton: bool = False
    """While one is running or parked, another is refused."""
    debounce_ms: int | None = None
    """A run waits so long, and is cancelled if another comes meanwhile."""


class ParkedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that waits for room, or was just released."""

    execution_id: str
    workflow_id: str
    definition_ref: str
    flow_key: str
    at_ms: int
    due_ms: int
    """Not before this."""
    start: bytes
    """What it starts with, as JSON: its input, and how."""


class Ahead(msgspec.Struct, frozen=True, kw_only=True):
    """What a parked run waits for."""

    going_on: int
    """Runs of its key that are running."""
    before: int
    """Runs of its key that are parked before it."""
    due_ms: int


class StartRules(Protocol):
    """Stores rules and parked runs. Every method is one atomic step."""

    async def rule(self, workflow_id: str) -> StartRule | None:
        """Return the rule of a workflow."""
        ...

    async def set_rule(self, workflow_id: str, rule: StartRule | None) -> None:
        """Set the rule of a workflow, or remove it."""
        ...

    async def park(self, parked: ParkedRun, rule: StartRule, definition: Definition) -> str | None:
        """Park a run. The id of another one of its key, and nothing is parked: it must be alone."""
        ...

    async def older(self, flow_key: str) -> list[str]:
        """Return the runs of a key that are parked, but for the newest."""
        ...

    async def let_go(self, flow_key: str, rule: StartRule, now_ms: int) -> list[ParkedRun]:
        """Release the runs for which there is room, in their order, and return what to start now.

        Also those released a while ago that never started: the process that was to do it died.
        """
        ...

    async def waiting(self, now_ms: int) -> list[tuple[str, str]]:
        """Return (workflow, key) of every key with parked runs that may be due."""
        ...

    async def drop(self, completion: CompletionMessage, now_ms: int) -> bool:
        """End a parked run; False when it is not parked (any more)."""
        ...

    async def ahead(self, execution_id: str) -> Ahead | None:
        """Return what a parked run waits for; None when it is not parked."""
        ...


def room_of(rule: StartRule, going_on: int, lately: int) -> int:
    """Return how many may start now, when so many are running and so many started lately."""
    most = 1 if rule.singleton else rule.concurrency
    room = AT_ONCE if most is None else most - going_on
    if rule.rate is not None:
        room = min(room, rule.rate - lately)
    return max(0, room)

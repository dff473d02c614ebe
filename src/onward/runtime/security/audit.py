"""The audit of changes: who changed what.

The server opens an `AuditRecord` for a request; code below that changes something adds to it with
`note`, and need not know who asked. The record is written after the change and before the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import msgspec

from onward.errors import OnwardError
from onward.kernel.ids import fingerprint
from onward.ports.clock import Clock
from onward.ports.security.audit import AuditEntry, AuditLog

CLEANED_EVERY_MS = 60 * 60 * 1000

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class AuditedChange:
    """One thing that is different now."""

    target: str
    before: str = ""
    after: str = ""


@dataclass(slots=True)
class AuditRecord:
    """What a request changed, as far as it is known."""

    action: str = ""
    """The operation, if it is one that is audited."""
    target: str = ""
    """What was asked for, when nothing more is noted."""
    changes: list[AuditedChange] = field(default_factory=list)
    actor: str = ""
    """Who did it, when that was not known from the start."""
    always: bool = False
    """Whether it is written also when the request was refused."""


_record: ContextVar[AuditRecord | None] = ContextVar("audit record", default=None)


def open_record() -> AuditRecord:
    """Return a fresh record, to which every later `note` of this request is added."""
    record = AuditRecord()
    _record.set(record)
    return record


def current() -> AuditRecord | None:
    """Return the record of this request, if there is one."""
    return _record.get()


def note(target: str, before: Any = None, after: Any = None) -> None:
    """Add a change to the record of this request, if there is one. Give no secrets."""
    record = _record.get()
    if record is not None:
        record.changes.append(AuditedChange(target, digest(before), digest(after)))


def digest(value: Any) -> str:
    """Return a short hash of a value; "" for None."""
    return "" if value is None else fingerprint(_encode(value))[:32]


class Auditor:
    """Writes records, and drops those that are older than they are kept."""

    def __init__(
        self, log: AuditLog, clock: Clock, report_failure: Callable[[str], None], keep_ms: int
    ) -> None:
        self._log = log
        self._clock = clock
        self._report_failure = report_failure
        self._keep_ms = keep_ms
        self._next_cleaning_ms = 0

    async def write(self, record: AuditRecord, *, actor: str, origin: str, request_id: str) -> None:
        """Write every change of a record.

        The changes are made: when they cannot be written here they go to the process's log.
        """
        now_ms = self._clock.now_ms()
        for change in record.changes or [AuditedChange(record.target)]:
            entry = AuditEntry(
                at_ms=now_ms,
                actor=record.actor or actor,
                action=record.action,
                target=change.target,
                origin=origin,
                request_id=request_id,
                before=change.before,
                after=change.after,
            )
            try:
                await self._log.write(entry)
                await self._clean(now_ms)
            except OnwardError as problem:
                text = _encode(entry).decode()
                self._report_failure(f"not in the audit log ({problem}): {text}")

    async def _clean(self, now_ms: int) -> None:
        if now_ms >= self._next_cleaning_ms:
            self._next_cleaning_ms = now_ms + CLEANED_EVERY_MS
            await self._log.prune(now_ms - self._keep_ms)

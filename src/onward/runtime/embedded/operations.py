"""What operators ask of an engine in this process and its file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass

import msgspec

from onward.errors import StateConflictError
from onward.kernel.json import decode
from onward.kernel.records import QuarantineRecord
from onward.kernel.timestamps import to_iso
from onward.ports.cluster.inspection import Inspector
from onward.ports.cluster.workers import WorkerInfo
from onward.ports.storage.journal import JournalTables
from onward.ports.storage.run_queries import History
from onward.runtime.backend import Operations, PendingTimer, QuarantineEntry, QueueState
from onward.runtime.embedded.run_host import EmbeddedRunHost
from onward.runtime.explain.explain import RunExplanation
from onward.runtime.explain.facts import explain_in_journal


@dataclass(frozen=True, kw_only=True)
class EmbeddedOperations:
    """`Operations` on a journal."""

    host: EmbeddedRunHost
    tables: JournalTables
    open_inspector: Callable[[], AbstractContextManager[Inspector]]
    open_history: Callable[[], History]
    worker: WorkerInfo
    """This process, which is the only one."""

    async def explain(self, execution_id: str) -> RunExplanation | None:
        now_ms = self.host.clock.now_ms()
        with self.open_inspector() as inspector, closing(self.open_history()) as history:
            return await explain_in_journal(
                execution_id, inspector, history, self.host.compile, now_ms
            )

    async def quarantine(self) -> list[QuarantineEntry]:
        return [
            _entry(number, record)
            for number, record in enumerate(await self.tables.quarantine(), 1)
        ]

    async def release(
        self, numbers: Collection[int] | None, *, force: bool
    ) -> list[QuarantineEntry]:
        """Refuse: in this mode the run of a message in quarantine has ended for good."""
        raise StateConflictError(
            "the runs of these messages have ended, so they would be dropped:"
            " start the runs again, and discard the messages",
            "RUN_ENDED",
        )

    async def discard(self, numbers: Collection[int] | None) -> list[QuarantineEntry]:
        return [
            _entry(number, record) for number, record in await self.tables.drop_quarantine(numbers)
        ]

    async def timers(self, limit: int) -> list[PendingTimer]:
        return [
            PendingTimer(execution_id=execution_id, timer_id=timer_id, due_ms=due_ms)
            for execution_id, timer_id, due_ms in await self.tables.due_timers(limit)
        ]

    async def queues(self) -> list[QueueState]:
        """Return the only queue: tokens in the file."""
        return [QueueState(name="journal", messages=await self.tables.queued())]

    async def workers(self) -> list[WorkerInfo]:
        """Return this process."""
        return [msgspec.structs.replace(self.worker, seen_ms=self.host.clock.now_ms())]

    async def check(self) -> None:
        await self.tables.queued()


def _entry(number: int, record: QuarantineRecord) -> QuarantineEntry:
    return QuarantineEntry(
        number=number,
        at=to_iso(record.at_ms),
        execution_id=record.execution_id,
        node_id=_node_of(record.body),
        reason=record.reason,
        body=record.body,
    )


def _node_of(body: bytes) -> str:
    try:
        return str(decode(body).get("current_node", ""))
    except Exception:  # whatever it is, it is in quarantine for a reason
        return ""


_conforms: type[Operations] = EmbeddedOperations

"""How many status messages a second the history takes in, with the event log on.

    python benchmarks/history.py --postgres postgresql://... [--statuses 50000] [--batch 500]

Statuses are of visits inside a split, half of them `running`, as a storm of items sends them.
SQLite is written as the embedded engine writes it, PostgreSQL as a master folds it. Without
--postgres only SQLite is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from onward.adapters.postgres.store import open_store
from onward.adapters.sqlite.journal import SqliteJournal
from onward.kernel.history import visit_record_of
from onward.kernel.lineage import Frame
from onward.kernel.messages import NodeStatusMessage
from onward.kernel.records import Definition, RunRecord
from onward.kernel.run_events import EventDrafts, number_events
from onward.kernel.timestamps import to_iso
from onward.ports.storage.journal import JournalCommit

RUN = "run_history"
NOW_MS = 1_790_000_000_000


def statuses(many: int) -> Iterator[NodeStatusMessage]:
    """Iterate over the statuses of a split's items: each visit begins and succeeds."""
    for number in range(many // 2):
        frame = Frame("each", f"{RUN}_each_{number}", number, many // 2, "5" * 32)
        for status in ("running", "success"):
            yield NodeStatusMessage(
                workflow_id="history",
                execution_id=RUN,
                node_id="work",
                status=status,  # type: ignore[arg-type]  # one of the two above
                executed_at=to_iso(NOW_MS + number),
                duration_ms=5,
                lineage_stack=(frame,),
                token_id=f"{number:032x}",
            )


def batches(many: int, size: int) -> list[list[NodeStatusMessage]]:
    """Return the statuses in batches."""
    all_of_them = list(statuses(many))
    return [all_of_them[at : at + size] for at in range(0, len(all_of_them), size)]


def sqlite(folder: Path, many: int, size: int) -> float:
    """Return the seconds that the journal takes."""
    journal = SqliteJournal(folder / "history.db")
    execution = RunRecord(
        execution_id=RUN,
        workflow_id="history",
        definition_ref="ref",
        status="running",
        started_ms=NOW_MS,
    )
    journal.commit(
        JournalCommit(definitions=[Definition("ref", "history", b"{}")], started=[execution])
    )
    last, prepared = 0, batches(many, size)
    began = time.perf_counter()
    for some in prepared:
        drafts, batch = EventDrafts(), JournalCommit()
        for status in some:
            drafts.add_status(status)
            run = visit_record_of(status, NOW_MS)
            if run is not None:
                batch.node_runs.append(run)
        events = drafts.take().get(RUN, [])
        batch.events += number_events(RUN, events, last)
        last += len(events)
        journal.commit(batch)
    took = time.perf_counter() - began
    journal.close()
    return took


async def postgres(url: str, many: int, size: int) -> float:
    """Return the seconds that one master's folds take."""
    store = await open_store(url)
    try:
        await store.prune(2**62)
        prepared = batches(many, size)
        began = time.perf_counter()
        for some in prepared:
            await store.fold(some, ())
        return time.perf_counter() - began
    finally:
        await store.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--statuses", type=int, default=50_000)
    parser.add_argument("--batch", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        took = sqlite(Path(folder), given.statuses, given.batch)
    print(f"SQLite      {given.statuses / took:>8,.0f} statuses/s")
    if given.postgres:
        took = asyncio.run(postgres(given.postgres, given.statuses, given.batch))
        print(f"PostgreSQL  {given.statuses / took:>8,.0f} statuses/s")


if __name__ == "__main__":
    main()

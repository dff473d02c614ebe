"""What happened in a run, as a numbered log: the rules that every store shares.

Events follow from what the history accepted, so a message that comes twice adds nothing. A visit
inside an item of a split is counted, not told: a split of any size adds a few events to a batch. A
visit that begins and ends within one batch is told once, by how it ended; twice if something inside
of it was told in between.
The first event of a run is `run.started`. Numbers begin at 1 and have no gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from onward.kernel.lineage import describe
from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import to_iso

EventType = Literal[
    "run.started",
    "run.paused",
    "run.resumed",
    "node.running",
    "node.waiting",
    "node.progress",
    "node.succeeded",
    "node.failed",
    "node.items",
    "run.ended",
]


class RunEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened. `seq` is its number in the run."""

    seq: int = 0
    type: EventType
    at: str
    node_id: str = ""
    item: str = ""
    """Where it happened: `users[5] > orders[2]`, or "" outside all splits."""
    token_id: str = ""
    attempt: int = 1
    duration_ms: int | None = None
    processed: int | None = None
    total: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    """Of `node.items`: how many visits came to this since the event before. Of progress: so far."""
    status: str = ""
    """How the run ended."""
    error: NodeError | None = None
    metadata: dict[str, Any] | None = None


class VisitKey(NamedTuple):
    """What names a line of history."""

    execution_id: str
    token_id: str
    node_id: str


class StoredEvent(NamedTuple):
    """An event with its number and the run it belongs to, on its way into a store."""

    execution_id: str
    seq: int
    body: bytes


def visit_of(status: NodeStatusMessage) -> VisitKey:
    """Return the name of the visit that a status speaks of."""
    return VisitKey(status.execution_id, status.token_id, status.node_id)


def started(at_ms: int) -> RunEvent:
    """Return the first event of a run."""
    return RunEvent(type="run.started", at=to_iso(at_ms))


def turned(at_ms: int, *, paused: bool) -> RunEvent:
    """Return the event that somebody has paused a run, or let it go on."""
    return RunEvent(type="run.paused" if paused else "run.resumed", at=to_iso(at_ms))


def is_counted(status: NodeStatusMessage) -> bool:
    """Return whether a status is one of a storm, of which only the number is told.

    An item of a split is. A scope of the Serverless Workflow DSL, which is named by a JSON pointer,
    is not: a document has as many of them as it says.
    """
    lineage = status.lineage_stack
    return bool(lineage) and any(not one.split_node_id.startswith("/") for one in lineage)


def ended(completion: CompletionMessage) -> RunEvent:
    """Return the event that a run has ended."""
    return RunEvent(
        type="run.ended",
        at=completion.completed_at,
        status=completion.status,
        error=completion.error,
        node_id=completion.failed_node,
        duration_ms=completion.total_duration_ms,
    )


class Drafts:
    """Gathers what a batch adds to the logs of its runs, storms already made into counters."""

    def __init__(self) -> None:
        self._of_run: dict[str, list[RunEvent | None]] = {}
        self._newest: dict[tuple[str, ...], int] = {}
        """Where the event stands that later news of the same kind replaces."""
        self._inside: dict[tuple[str, str], int] = {}
        """Where the last event stands that is inside of a task of a run."""

    def see(self, status: NodeStatusMessage) -> None:
        """Take note of a status that the history has accepted, or that only tells of progress."""
        if is_counted(status):
            self._count(status)
            return
        event = _event(status)
        key = (status.execution_id, status.node_id, event.item, event.type)
        begun = (*visit_of(status), str(status.attempt))
        if event.type == "node.progress":
            self._replace(key, event)
        elif event.type == "node.running":
            self._newest[begun] = self._append(status.execution_id, event)
        else:
            earlier = self._newest.pop(begun, None)
            inside = self._inside.get((status.execution_id, status.node_id), -1)
            if earlier is not None and inside < earlier:
                # It began and ended within one batch: how it ended says both.
                self._of_run[status.execution_id][earlier] = None
            self._append(status.execution_id, event)

    def add(self, execution_id: str, event: RunEvent) -> None:
        """Take note of what happened to the run itself."""
        self._append(execution_id, event)

    def taken(self) -> dict[str, list[RunEvent]]:
        """Return the events of each run in their order, without numbers, and begin again."""
        found = {
            run: [event for event in events if event is not None]
            for run, events in self._of_run.items()
        }
        self._of_run, self._newest, self._inside = {}, {}, {}
        return found

    def __bool__(self) -> bool:
        return bool(self._of_run)

    def _append(self, execution_id: str, event: RunEvent) -> int:
        events = self._of_run.setdefault(execution_id, [])
        events.append(event)
        place = len(events) - 1
        # Tasks of the Serverless Workflow DSL are named by pointers: what is around them is known.
        around = event.node_id.rpartition("/")[0]
        while around:
            self._inside[execution_id, around] = place
            around = around.rpartition("/")[0]
        return place

    def _replace(self, key: tuple[str, ...], event: RunEvent) -> None:
        earlier = self._newest.get(key)
        if earlier is not None:
            self._of_run[key[0]][earlier] = None
        self._newest[key] = self._append(key[0], event)

    def _count(self, status: NodeStatusMessage) -> None:
        if status.status not in {"success", "failed"} or _to_be_repeated(status):
            return
        split = describe(status.lineage_stack[:-1])
        name = status.lineage_stack[-1].split_node_id
        item = f"{split} > {name}[]" if split else f"{name}[]"
        key = (status.execution_id, status.node_id, item)
        earlier = self._newest.get(key)
        before = self._of_run[key[0]][earlier] if earlier is not None else None
        good = (before.succeeded or 0 if before else 0) + (status.status == "success")
        bad = (before.failed or 0 if before else 0) + (status.status == "failed")
        event = RunEvent(
            type="node.items",
            at=status.executed_at,
            node_id=status.node_id,
            item=item,
            succeeded=good,
            failed=bad,
            error=(before.error if before else None) or status.error,
        )
        if earlier is not None:
            self._of_run[key[0]][earlier] = event
        else:
            self._newest[key] = self._append(key[0], event)


def _to_be_repeated(status: NodeStatusMessage) -> bool:
    """A failed attempt that is followed by another is not what the visit came to."""
    return bool(status.metadata and "next_attempt" in status.metadata)


def _event(status: NodeStatusMessage) -> RunEvent:
    progress = status.progress
    known: dict[str, EventType] = {
        "running": "node.running",
        "success": "node.succeeded",
        "failed": "node.failed",
        "waiting": "node.progress" if progress is not None else "node.waiting",
    }
    settled = status.status in {"success", "failed"}
    return RunEvent(
        type=known[status.status],
        at=status.executed_at,
        node_id=status.node_id,
        item=describe(status.lineage_stack),
        token_id=status.token_id,
        attempt=status.attempt,
        duration_ms=status.duration_ms if settled else None,
        processed=progress.processed if progress else None,
        total=progress.total if progress else None,
        failed=progress.failed if progress else None,
        error=status.error,
        metadata=status.metadata,
    )


def drafts_of(
    statuses: Sequence[NodeStatusMessage],
    completions: Sequence[CompletionMessage],
    *,
    fresh: Collection[VisitKey],
    stale: Collection[VisitKey],
    ended_now: Collection[str],
) -> dict[str, list[RunEvent]]:
    """Return the events of a folded batch, for each run.

    `fresh` are the visits that the history accepted in this fold, `stale` those it had before, and
    `ended_now` the runs whose ending was accepted. News of a visit that is stale is no news.
    """
    drafts = Drafts()
    told: set[VisitKey] = set()
    for status in statuses:
        visit = visit_of(status)
        passing = is_passing(status)
        if visit in stale or (not passing and (visit not in fresh or visit in told)):
            continue
        if not passing:
            told.add(visit)
        drafts.see(status)
    for completion in completions:
        if completion.execution_id in ended_now:
            ended_now = set(ended_now) - {completion.execution_id}
            drafts.add(completion.execution_id, ended(completion))
    return drafts.taken()


def is_passing(status: NodeStatusMessage) -> bool:
    """Return whether a status is only news of progress and leaves no line of history."""
    return status.status == "running" or (status.status == "waiting" and status.metadata is None)


def numbered(execution_id: str, events: Iterable[RunEvent], last: int) -> list[StoredEvent]:
    """Return the events of one run with the numbers after `last`, as they are stored."""
    return [
        StoredEvent(execution_id, seq, _encode(msgspec.structs.replace(event, seq=seq)))
        for seq, event in enumerate(events, last + 1)
    ]


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(RunEvent)


def read_event(body: bytes) -> RunEvent:
    """Return a stored event."""
    return _decoder.decode(body)

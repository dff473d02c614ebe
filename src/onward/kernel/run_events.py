"""The events of a run, as a numbered log: the rules that every store shares.

Events follow from what the history accepted, so a message that arrives twice adds nothing. A visit
inside an item of a split is counted, not reported: a split of any size adds a few events to a
batch. A visit that begins and ends within one batch is one event, by how it ended; two if an event
inside of it came in between.
The first event of a run is `run.started`. Numbers begin at 1 and have no gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from onward.kernel.history import is_passing
from onward.kernel.lineage import describe
from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.outcome import NodeError
from onward.kernel.records import VisitKey
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
    """Of `node.items`: how many visits ended so since the event before. Of progress: so far."""
    status: str = ""
    """How the run ended."""
    error: NodeError | None = None
    metadata: dict[str, Any] | None = None


class StoredEvent(NamedTuple):
    """An event with its number and its run, as it is stored."""

    execution_id: str
    seq: int
    body: bytes


def visit_of(status: NodeStatusMessage) -> VisitKey:
    """Return the key of the visit that a status is about."""
    return VisitKey(status.execution_id, status.token_id, status.node_id)


def started_event(at_ms: int) -> RunEvent:
    """Return the first event of a run."""
    return RunEvent(type="run.started", at=to_iso(at_ms))


def pause_event(at_ms: int, *, paused: bool) -> RunEvent:
    """Return the event that a run was paused, or resumed."""
    return RunEvent(type="run.paused" if paused else "run.resumed", at=to_iso(at_ms))


def is_counted(status: NodeStatusMessage) -> bool:
    """Return whether a status is one of many, of which only the number is reported.

    Inside an item of a split it is. Inside a scope of the Serverless Workflow DSL, which is named
    by a JSON pointer, it is not: a document has only as many of them as it declares.
    """
    return any(not frame.split_node_id.startswith("/") for frame in status.lineage_stack)


def ended_event(completion: CompletionMessage) -> RunEvent:
    """Return the event that a run has ended."""
    return RunEvent(
        type="run.ended",
        at=completion.completed_at,
        status=completion.status,
        error=completion.error,
        node_id=completion.failed_node,
        duration_ms=completion.total_duration_ms,
    )


class EventDrafts:
    """The events that a batch adds to the logs of its runs, those of items already counted."""

    def __init__(self) -> None:
        self._of_run: dict[str, list[RunEvent | None]] = {}
        self._newest: dict[tuple[str, ...], int] = {}
        """The position of the event that a later one of the same kind replaces."""
        self._inside: dict[tuple[str, str], int] = {}
        """The position of the last event inside of a task of a run."""

    def add_status(self, status: NodeStatusMessage) -> None:
        """Add a status that the history has accepted, or that only reports progress."""
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

    def add_event(self, execution_id: str, event: RunEvent) -> None:
        """Add an event about the run itself."""
        self._append(execution_id, event)

    def take(self) -> dict[str, list[RunEvent]]:
        """Return the events of each run in their order, without numbers, and begin again."""
        taken = {
            execution_id: [event for event in events if event is not None]
            for execution_id, events in self._of_run.items()
        }
        self._of_run, self._newest, self._inside = {}, {}, {}
        return taken

    def __bool__(self) -> bool:
        return bool(self._of_run)

    def _append(self, execution_id: str, event: RunEvent) -> int:
        events = self._of_run.setdefault(execution_id, [])
        events.append(event)
        position = len(events) - 1
        # Tasks of the Serverless Workflow DSL are named by pointers: they name the tasks around.
        around = event.node_id.rpartition("/")[0]
        while around:
            self._inside[execution_id, around] = position
            around = around.rpartition("/")[0]
        return position

    def _replace(self, key: tuple[str, ...], event: RunEvent) -> None:
        earlier = self._newest.get(key)
        if earlier is not None:
            self._of_run[key[0]][earlier] = None
        self._newest[key] = self._append(key[0], event)

    def _count(self, status: NodeStatusMessage) -> None:
        if status.status not in {"success", "failed"} or _is_followed_by_attempt(status):
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


def _is_followed_by_attempt(status: NodeStatusMessage) -> bool:
    """Return whether another attempt follows: then this failure is not the result of the visit."""
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


def events_of_batch(
    statuses: Sequence[NodeStatusMessage],
    completions: Sequence[CompletionMessage],
    *,
    fresh: Collection[VisitKey],
    stale: Collection[VisitKey],
    ended_now: Collection[str],
) -> dict[str, list[RunEvent]]:
    """Return the events of a folded batch, for each run.

    `fresh` are the visits that the history accepted in this fold, `stale` those it had before, and
    `ended_now` the runs whose ending was accepted. A status of a stale visit adds nothing.
    """
    drafts = EventDrafts()
    reported: set[VisitKey] = set()
    for status in statuses:
        visit = visit_of(status)
        passing = is_passing(status)
        if visit in stale or (not passing and (visit not in fresh or visit in reported)):
            continue
        if not passing:
            reported.add(visit)
        drafts.add_status(status)
    for completion in completions:
        if completion.execution_id in ended_now:
            ended_now = set(ended_now) - {completion.execution_id}
            drafts.add_event(completion.execution_id, ended_event(completion))
    return drafts.take()


def number_events(execution_id: str, events: Iterable[RunEvent], last: int) -> list[StoredEvent]:
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

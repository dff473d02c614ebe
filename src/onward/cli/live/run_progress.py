"""The progress of a run, folded from its messages: one entry for each node.

Ten thousand items of a split are ten thousand visits of the same few nodes, so a node keeps counts,
never visits: the cost of a message, and of drawing, does not depend on how many came before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from onward.kernel.lineage import scope_of
from onward.kernel.messages import CompletionMessage, NodeStatusMessage, Progress
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import from_iso
from onward.languages.graph.model import Document, NodeDocument
from onward.languages.graph.structure import analyse

Busy = Literal["running", "waiting", "retrying"]
Over = Literal["done", "partly", "failed", "skipped", "stopped"]
State = Literal["pending"] | Busy | Over
"""`partly`: some visits failed, others did not."""

_GATHERS = ("merge", "aggregator")
_STANDS = ("try", "listen")
"""Tasks of a tree that say each time anew that they wait: before each retry, for each event."""
_NOTHING = Progress(0, 0)


@dataclass(slots=True)
class NodeProgress:
    """Everything seen of one node, over all its visits."""

    node: NodeDocument
    splits: tuple[str, ...]
    """The splits that repeat it, outermost first."""
    running: int = 0
    waiting: int = 0
    retrying: int = 0
    succeeded: int = 0
    failed: int = 0
    attempt: int = 1
    items: int = 0
    began: str = ""
    ended: str = ""
    until_ms: int | None = None
    """When the newest wait, or pause before another attempt, is over."""
    error: NodeError | None = None
    standing: set[str] = field(default_factory=set)
    """Where a visit waits that may say so again."""
    gathering: dict[str, Progress] = field(default_factory=dict)
    """How far each open barrier of a merge or an aggregator is, by scope."""
    gathered: Progress = field(default_factory=lambda: _NOTHING)
    """What the barriers that have opened held together."""

    @property
    def visits(self) -> int:
        """Return how many visits have come to something."""
        return self.succeeded + self.failed

    @property
    def active(self) -> bool:
        """Return whether anything is going on at this node."""
        return bool(self.running or self.waiting or self.retrying or self.gathering)

    @property
    def progress(self) -> Progress:
        """Return how far the node's barriers are together."""
        parts = (self.gathered, *self.gathering.values())
        return Progress(
            sum(part.processed for part in parts),
            sum(part.total for part in parts),
            sum(part.failed for part in parts),
        )

    def span_ms(self, now_ms: int) -> int | None:
        """Return how long it took from the first beginning to the last ending, so far."""
        if not self.began:
            return None
        end = now_ms if self.active or not self.ended else from_iso(self.ended)
        return max(0, end - from_iso(self.began))

    def resume(self, at: str, items: int) -> None:
        """Take note of a split whose beginning was seen by another process."""
        self.began, self.waiting, self.items = at, 1, items

    def see(self, message: NodeStatusMessage) -> None:
        """Take note of a message about this node."""
        self.began = self.began or message.executed_at
        self.attempt = max(self.attempt, message.attempt)
        if self.node.type in _GATHERS:
            self._gather(message)
        else:
            self._count(message)
        if message.status in ("success", "failed"):
            self.ended = message.executed_at

    def _count(self, message: NodeStatusMessage) -> None:
        match message.status:
            case "running":
                self.running += 1
                if message.attempt > 1 and self.retrying:
                    self.retrying -= 1
            case "waiting":
                self.running = max(0, self.running - 1)
                self.waiting += not self._stands(message)
                self.attempt = max(self.attempt, (message.details or {}).get("retry", 0) + 1)
                self.items += (message.details or {}).get("items", 0)
                self.until_ms = (message.metadata or {}).get("resume_at")
            case "success":
                self._one_less()
                self.succeeded += 1
                self.standing.discard(scope_of(message.lineage_stack))
            case "failed":
                self._one_less()
                self._fail(message)
                self.standing.discard(scope_of(message.lineage_stack))

    def _stands(self, message: NodeStatusMessage) -> bool:
        """Return whether the visit that waits is known to wait already."""
        if self.node.type not in _STANDS:
            return False
        scope = scope_of(message.lineage_stack)
        known = scope in self.standing
        self.standing.add(scope)
        return known

    def _one_less(self) -> None:
        # What was seen before a restart was seen by another process: counts never go below zero.
        if self.waiting:
            self.waiting -= 1
        elif self.running:
            self.running -= 1

    def _fail(self, message: NodeStatusMessage) -> None:
        self.error = message.error
        retry_at = (message.metadata or {}).get("retry_at")
        if retry_at is None:
            self.failed += 1
            return
        self.retrying += 1
        self.until_ms = retry_at

    def _gather(self, message: NodeStatusMessage) -> None:
        scope = scope_of(message.lineage_stack)
        match message.status:
            case "running":
                return  # an arrival; the barrier itself will say what it did
            case "waiting":
                details = message.details or {}
                self.gathering[scope] = message.progress or Progress(
                    details.get("arrived", 0), details.get("expected", 0)
                )
            case "success" | "failed":
                last = self.gathering.pop(scope, _NOTHING)
                whole = message.progress or Progress(last.total, last.total)
                so_far = self.gathered
                self.gathered = Progress(
                    so_far.processed + whole.processed,
                    so_far.total + whole.total,
                    so_far.failed + last.failed,
                )
                if message.status == "success":
                    self.succeeded += 1
                else:
                    self._fail(message)


class RunProgress:
    """One run, as seen through its messages."""

    def __init__(self, document: Document) -> None:
        self.title = document.name or document.id
        self.nodes = {entry.node.id: entry for entry in _in_order(document)}
        self.execution_id = ""
        self.began = ""
        self.ending: CompletionMessage | None = None
        self.stopped = False
        """Whether the process that served the run has stopped: the run can be continued."""

    def see(self, message: NodeStatusMessage | CompletionMessage) -> None:
        """Take note of one message of the run."""
        if isinstance(message, CompletionMessage):
            self.ending = message
            return
        if not self.began:
            self.began, self.execution_id = message.executed_at, message.execution_id
        for frame in message.lineage_stack:
            split = self.nodes.get(frame.split_node_id)
            if split is not None and not split.began:
                split.resume(message.executed_at, frame.total_items)
        entry = self.nodes.get(message.node_id)
        if entry is not None:
            entry.see(message)

    def state_of(self, entry: NodeProgress) -> State:
        """Return the state of a node, over all its visits."""
        if self.ending is not None and entry.active:
            return "stopped" if self.ending.status != "completed" else _settled(entry)
        if entry.running:
            return "running"
        if entry.retrying:
            return "retrying"
        if entry.waiting or entry.gathering:
            return "waiting"
        if entry.visits:
            more = entry.splits and self.nodes[entry.splits[0]].active
            return "running" if more and self.ending is None else _settled(entry)
        return "pending" if self.ending is None else "skipped"

    def branches_of(self, fork: NodeProgress) -> list[NodeProgress]:
        """Return the branches of a fork of a tree."""
        stem = f"{fork.node.id}/fork/branches/"
        return [
            entry
            for name, entry in self.nodes.items()
            if name.startswith(stem) and name[len(stem) :].count("/") == 1
        ]

    def span_ms(self, now_ms: int) -> int:
        """Return how long the run has taken so far, or took."""
        if self.ending is not None:
            return self.ending.total_duration_ms
        return max(0, now_ms - from_iso(self.began)) if self.began else 0


def _settled(entry: NodeProgress) -> State:
    if not entry.failed:
        return "done"
    return "partly" if entry.succeeded else "failed"


def _in_order(document: Document) -> list[NodeProgress]:
    """Return the nodes in the order they run, what a split repeats below the split."""
    structure = analyse(document)
    inside: dict[tuple[str, ...], list[str]] = {}
    for name in structure.order:
        stack = min(structure.regions.get(name, {()}), key=lambda entry: (len(entry), entry))
        if structure.nodes[name].type == "aggregator":
            stack = stack[:-1]
        inside.setdefault(stack, []).append(name)

    def below(stack: tuple[str, ...]) -> list[NodeProgress]:
        found = []
        for name in inside.get(stack, ()):
            node = structure.nodes[name]
            found.append(NodeProgress(node, stack))
            if node.type == "split":
                found += below((*stack, name))
        return found

    return below(())

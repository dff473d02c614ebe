"""What a new attempt keeps of the run before it, visits and signals: pure, from its history.

A new attempt retraces the run with the same token ids, and finds what it keeps on record. Which
visits to execute again is given; whatever may depend on one of them is not kept either. A visit
depends on another when its node comes after the other's and the two are not in different items of
the same split: items know nothing of each other until they are joined.

A signal that was sent stays sent: nobody is asked again at a wait that is kept, nor at one that the
run had not come to the end of. Only a wait that ended and is executed again is asked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec

from onward.expressions import compile_template
from onward.kernel.ids import derive
from onward.kernel.lineage import Lineage, describe
from onward.kernel.records import VisitRecord
from onward.kernel.signal_waits import APPROVAL_PREFIX, address_of, read_address
from onward.languages.graph.model import NodeDocument
from onward.languages.graph.program import GraphProgram
from onward.ports.storage.signals import StoredSignal

Item = tuple[tuple[str, int], ...]
"""(split node, index), outermost first."""

_ANY = "*"
_ENDS = frozenset({"success", "failed"})


class RunOutline(msgspec.Struct, frozen=True):
    """What must be known about a workflow to tell what follows from what.

    Without `after`, order in time must do: whatever was recorded later may depend on it.
    """

    after: Mapping[str, frozenset[str]] | None = None
    """Node -> every node that may come after it."""
    handled: frozenset[str] = frozenset()
    """Nodes whose failure does not end an item or the run: the workflow continues with it."""


class RetriedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What of a run to execute again: always what failed and ended the run or an item of it."""

    nodes: frozenset[str] = frozenset()
    """And every visit of these."""
    item: Item = ()
    """But of `nodes` only those inside this item."""
    split: str = ""
    """Of the items that failed, only those of this split."""
    ended_at: str = ""
    """The node at which the run failed, if it did."""


def kept_visits(
    history: Sequence[VisitRecord], again: RetriedRun, outline: RunOutline
) -> list[VisitRecord]:
    """Return the lines of history that a new attempt keeps, in their order."""
    last = _last_of_each(history)
    splits = {frame.split_token for visit in history for frame in visit.lineage}
    chosen = _chosen(history, again, outline, last, splits)
    if outline.after is None:
        return list(_before(history, chosen, last))
    marks = _Marks()
    for visit in history:
        if visit.token_id in chosen:
            marks.add(visit, outline.after)
    return [
        visit
        for visit in history
        if last[visit.token_id] not in chosen
        and _has_result(visit, last)
        and not (visit.token_id in splits and visit.status == "failed")
        and not marks.reach(visit)
    ]


def count_repeated(history: Sequence[VisitRecord], again: RetriedRun, outline: RunOutline) -> int:
    """Return how many visits of a history are executed again because they were asked for."""
    last = _last_of_each(history)
    splits = {frame.split_token for visit in history for frame in visit.lineage}
    return len(_chosen(history, again, outline, last, splits))


def _chosen(
    history: Sequence[VisitRecord],
    again: RetriedRun,
    outline: RunOutline,
    last: Mapping[str, str],
    splits: Container[str],
) -> set[str]:
    """Return the tokens to execute again.

    A split that failed because of its items is not one of them: it is decided by its items again.
    """
    return {
        visit.token_id
        for place, visit in enumerate(history)
        if last[visit.token_id] == visit.token_id
        and not (visit.token_id in splits and visit.status == "failed")
        and _again(history, place, again, outline)
    }


def _last_of_each(history: Sequence[VisitRecord]) -> dict[str, str]:
    """Return token -> the token of the last attempt of the same visit, or of the end of its wait.

    All of them have one result, so they are kept together or not at all.
    """
    tokens = {visit.token_id for visit in history}
    found: dict[str, str] = {}
    for token in tokens:
        chain = [token]
        while (end := _next(chain[-1], tokens)) is not None and chain[-1] not in found:
            chain.append(end)
        last = found.get(chain[-1], chain[-1])
        found.update(dict.fromkeys(chain, last))
    return found


def _next(token: str, tokens: set[str]) -> str | None:
    followers = (derive(token, "retry"), derive(token, "resume"))
    return next((follower for follower in followers if follower in tokens), None)


def _has_result(visit: VisitRecord, last: Mapping[str, str]) -> bool:
    """Return whether a visit is over: it has ended, or another attempt has followed it."""
    return visit.status in _ENDS or last[visit.token_id] != visit.token_id


def _again(
    history: Sequence[VisitRecord], place: int, again: RetriedRun, outline: RunOutline
) -> bool:
    visit = history[place]
    path = tuple((frame.split_node_id, frame.item_index) for frame in visit.lineage)
    if visit.node_id in again.nodes and path[: len(again.item)] == again.item:
        return True
    if visit.status != "failed" or visit.node_id in outline.handled:
        return False
    if outline.after is None:
        # Of a tree only the end is known: what failed before it was caught, and is kept.
        later = any(
            other.node_id == visit.node_id and other.status == "failed"
            for other in history[place + 1 :]
        )
        return visit.node_id == again.ended_at and not later
    return not (again.split and path) or again.split in [split for split, _ in path]


def _before(
    history: Sequence[VisitRecord], chosen: set[str], last: Mapping[str, str]
) -> Iterator[VisitRecord]:
    for visit in history:
        if last[visit.token_id] in chosen:
            return
        if _has_result(visit, last):
            yield visit


class _Marks:
    """Where visits are executed again, by item, with the nodes that come after them."""

    def __init__(self) -> None:
        self.here: set[str] = set()
        """Nodes after what is executed again in this very scope."""
        self.whole: set[str] = set()
        """And after what is executed again in any scope inside this one."""
        self.inside: dict[str, dict[int, _Marks]] = {}
        """Run of a split -> item -> marks in it."""
        self.inside_whole: dict[str, set[str]] = {}
        self.splits: set[str] = set()
        """Runs of splits that have to be joined again."""

    def add(self, visit: VisitRecord, after: Mapping[str, frozenset[str]]) -> None:
        nodes = after.get(visit.node_id, frozenset())
        at = self
        at.whole |= nodes
        for frame in visit.lineage:
            self.splits.add(frame.split_token)
            at.inside_whole.setdefault(frame.split_token, set()).update(nodes)
            at = at.inside.setdefault(frame.split_token, {}).setdefault(frame.item_index, _Marks())
            at.whole |= nodes
        at.here |= nodes

    def reach(self, visit: VisitRecord) -> bool:
        """Return whether a visit may depend on what is executed again."""
        if visit.token_id in self.splits:
            return True
        return any(visit.node_id in nodes for nodes in self._above(visit.lineage))

    def _above(self, lineage: Lineage) -> Iterator[set[str]]:
        at = self
        for frame in lineage:
            yield at.here
            for split, nodes in at.inside_whole.items():
                if split != frame.split_token:
                    yield nodes  # another split: it may have been joined before this one began
            below = at.inside.get(frame.split_token, {}).get(frame.item_index)
            if below is None:
                return
            at = below
        yield at.whole


# -- signals ---------------------------------------------------------------------------------------


def inherited_signals(
    program: GraphProgram,
    history: Iterable[VisitRecord],
    kept: Iterable[VisitRecord],
    signals: Sequence[StoredSignal],
) -> list[StoredSignal]:
    """Return the signals that a new attempt at a run of a graph begins with."""
    nodes = {node.id: node for node in program.document.nodes}
    stays = {visit.token_id for visit in kept}
    standing: Counter[str] = Counter()
    again: Counter[str] = Counter()
    for visit in history:
        place = _place(nodes.get(visit.node_id), visit.lineage)
        if place and visit.status in _ENDS:
            (standing if visit.token_id in stays else again)[place] += 1
    found = []
    for signal in signals:
        name, _ = read_address(signal.address)
        anywhere = address_of(name, _ANY)
        place = anywhere if anywhere in again or anywhere in standing else signal.address
        if again[place]:
            if name.startswith(APPROVAL_PREFIX) or not standing[place]:
                continue
            standing[place] -= 1  # each was taken by one wait, in the order they came
        found.append(signal)
    return found


def signals_before(
    history: Iterable[VisitRecord], named: frozenset[str], signals: Iterable[StoredSignal]
) -> list[StoredSignal]:
    """Return the signals that a new attempt at any other run begins with.

    Of those only time is known: what was sent before the first task that is named was for what is
    kept.
    """
    begun = [visit.at_ms - visit.duration_ms for visit in history if visit.node_id in named]
    until_ms = min(begun, default=None)
    return [signal for signal in signals if until_ms is None or signal.sent_ms < until_ms]


def _place(node: NodeDocument | None, lineage: Lineage) -> str:
    """Return the address that a visit has waited at, with any key if that is worked out."""
    if node is not None and node.type == "approval":
        return address_of(f"{APPROVAL_PREFIX}{node.id}", describe(lineage))
    if node is None or node.type != "wait_for_signal":
        return ""
    name, key = node.parameters["signal"], node.parameters.get("key")
    if not compile_template(name).static:
        return ""
    if key is None:
        return address_of(name, describe(lineage))
    return address_of(name, str(key) if compile_template(key).static else _ANY)

"""Where the tokens of a run are, as far as the coordinator can tell.

It stores ids, not nodes. But every id is derived from what it names, so the graph and the ids of
the steps that were followed give the nodes back: a child's id is the hash of its parent, its edge
and the outcome. Pure: the same facts give the same places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

from onward.kernel.flow import Edge
from onward.kernel.ids import derive
from onward.kernel.lineage import Lineage, item_scope
from onward.kernel.messages import item_frame
from onward.ports.cluster.inspection import Barrier, ScopeState, Snapshot
from onward.runtime.explain.serverless import DocumentShape

_NO_VISITS = ("page", "timeout")
"""Outcomes whose tokens are signals of their own: they are no step of the workflow."""


class MergeShape(NamedTuple):
    """A merge of the graph."""

    into: tuple[str, ...]
    needed: int
    """How many arrivals open it."""


class GraphLayout(msgspec.Struct, frozen=True):
    """What must be known about a workflow to locate its tokens."""

    ways: Mapping[str, Edge] = {}
    entries: tuple[str, ...] = ()
    merges: Mapping[str, MergeShape] = {}
    aggregators: Mapping[str, tuple[str, ...]] = {}
    """Split node -> the aggregators that gather its items."""
    tree: DocumentShape | None = None
    """Of a document of the Serverless Workflow DSL, which has nothing of the above."""


class TokenPlace(NamedTuple):
    """A token that is alive, or several of the same kind."""

    state: Literal["held", "claimed", "recorded", "queued", "unknown"]
    lineage: Lineage
    node: str = ""
    token_id: str = ""
    many: int = 1


class TokenLocator:
    """The tokens of one run."""

    def __init__(self, execution_id: str, snapshot: Snapshot, layout: GraphLayout) -> None:
        self._run = execution_id
        self._stem = _stem(execution_id, snapshot)
        self._snapshot = snapshot
        self._layout = layout
        self._names = {way.src for way in layout.ways.values()}
        self._names |= {way.dst for way in layout.ways.values()} | {*layout.entries}
        self.lineages = _lineages(execution_id, snapshot)

    def tokens(self) -> list[TokenPlace]:
        """Return every live token that nothing else accounts for (a barrier, a merge, a timer)."""
        if self._snapshot.queued is not None:
            return [
                TokenPlace("held", token.lineage_stack, token.current_node, token.token_id)
                for token in self._snapshot.queued
            ]
        found = [place for scope in self._snapshot.scopes for place in self._of(scope)]
        return found + list(self._unclaimed_items())

    def _of(self, scope: ScopeState) -> Iterable[TokenPlace]:
        if scope.closed:
            return []
        lineage = self.lineages.get(scope.name, ())
        barriers = [
            barrier for barrier in self._snapshot.barriers if barrier.origin.scope == scope.name
        ]
        timers = [
            timer.token
            for timer in self._snapshot.alarms
            if timer.token.signal != "timeout" and timer.token.scope == scope.name
        ]
        waiting = [arrival for arrival in scope.arrivals if arrival.node not in scope.merged]
        accounted = {arrival.unit for arrival in scope.arrivals}
        accounted |= {token.parent for token in timers}
        accounted |= {barrier.split for barrier in barriers} | self._signals(scope, barriers)
        settled = {step for step, (_, children) in scope.fates.items() if children} | scope.left
        known = self._children(scope)
        queued = [*self._siblings(scope, known, lineage), *self._merged(scope, lineage)]
        claimed = [
            TokenPlace(
                "recorded" if token in scope.recorded else "claimed",
                lineage,
                _node(token, known),
                token,
            )
            for token in sorted(scope.claimed - settled - accounted)
        ]
        room = scope.live - len(timers) - len(barriers) - len(waiting)
        room -= sum(place.many for place in queued)
        # Signals that were handled long ago look like claimed tokens, but are not alive.
        claimed = sorted(claimed, key=lambda place: not place.node)[: max(0, room)]
        missing = room - len(claimed)
        unknown = [TokenPlace("unknown", lineage, many=missing)] if missing > 0 else []
        return [*claimed, *queued, *unknown]

    def _signals(self, scope: ScopeState, barriers: list[Barrier]) -> set[str]:
        """Return the ids that time-outs and pages of this scope have."""
        ids = {
            derive(derive(self._stem, scope.name, merge, "merge"), "timeout")
            for merge in self._layout.merges
        }
        for barrier in barriers:
            first, end, _ = barrier.origin.span
            for start in range(first, end, first or 1):
                ids.add(derive(derive(barrier.split, "page", start), "token"))
            for name in self._layout.aggregators.get(barrier.origin.current_node, ()):
                ids.add(derive(derive(barrier.split, "timeout", name), "token"))
        return ids

    def _children(self, scope: ScopeState) -> dict[str, tuple[str, str]]:
        """Return claimed token -> its parent and its node ("": that of its parent)."""
        known: dict[str, tuple[str, str]] = {}
        for step, (tag, children) in scope.fates.items():
            if not children or tag in _NO_VISITS:
                continue
            again = derive(step, tag)
            if again in scope.claimed:  # `retry` and `resume`: the same node once more
                known[again] = (step, "")
            for way in self._layout.ways.values():
                child = derive(step, way.edge, tag)
                if child in scope.claimed:
                    known[child] = (step, way.dst)
            for node in self._names if tag in ("start", "ok") else ():
                child = derive(step, node)
                if child in scope.claimed:
                    known[child] = (step, node)
        return known

    def _siblings(
        self, scope: ScopeState, known: dict[str, tuple[str, str]], lineage: Lineage
    ) -> list[TokenPlace]:
        """Return the children of followed steps that no worker has claimed."""
        claimed: dict[str, list[str]] = {}
        for parent, node in known.values():
            claimed.setdefault(parent, []).append(node)
        places = []
        for step, (tag, children) in scope.fates.items():
            here = claimed.get(step, [])
            missing = children - len(here)
            if missing <= 0 or tag in _NO_VISITS or not self._layout.ways:
                continue
            nodes = [node for node in self._after(step, tag, known, scope) if node not in here]
            if len(nodes) == missing:
                places += [TokenPlace("queued", lineage, node) for node in nodes]
            else:
                places.append(TokenPlace("queued", lineage, many=missing))
        return places

    def _after(
        self, step: str, tag: str, known: dict[str, tuple[str, str]], scope: ScopeState
    ) -> list[str]:
        """Return where the children of a step go."""
        if tag == "start":
            return list(self._layout.entries)
        ways = list(self._layout.ways.values())
        if tag.startswith("took:"):
            taken = tag.removeprefix("took:").split(",")
            return [way.dst for way in ways if way.edge in taken]
        sources = self._sources(step, tag, known, scope.name)
        return [way.dst for way in ways if way.src in sources]

    def _sources(
        self, step: str, tag: str, known: dict[str, tuple[str, str]], scope: str
    ) -> tuple[str, ...]:
        """Return the nodes from which a step continues."""
        node = _node(step, known)
        if tag == "item":
            lineage = self.lineages.get(scope, ())
            return (lineage[-1].split_node_id,) if lineage else ()
        if tag == "joined":
            return self._layout.aggregators.get(node, ())
        if tag == "opened":
            merges = self._layout.merges
            return tuple(
                merge for merge in merges if derive(self._stem, scope, merge, "merge") == step
            )
        return (node,)

    def _merged(self, scope: ScopeState, lineage: Lineage) -> list[TokenPlace]:
        """Return what follows merges that have opened and is not claimed."""
        places = []
        for node in sorted(scope.merged):
            unit = derive(self._stem, scope.name, node, "merge")
            if unit not in scope.fates and unit not in scope.left:
                after = [way.dst for way in self._layout.ways.values() if way.src == node]
                places.append(TokenPlace("queued", lineage, after[0] if len(after) == 1 else ""))
        return places

    def _unclaimed_items(self) -> Iterable[TokenPlace]:
        """Yield the items that were sent and are not claimed."""
        if self._snapshot.unread:
            return  # which of them are claimed is not known
        seen = {scope.name for scope in self._snapshot.scopes}
        for barrier in self._snapshot.barriers:
            ways = [
                way for way in self._layout.ways.values() if way.src == barrier.origin.current_node
            ]
            for index in range(barrier.sent):
                if index not in barrier.slots and item_scope(barrier.split, index) not in seen:
                    node = ways[0].dst if len(ways) == 1 else ""
                    yield TokenPlace("queued", item_lineage(self._run, barrier, index), node)


def item_lineage(execution_id: str, barrier: Barrier, index: int) -> Lineage:
    """Return the lineage of one item of a barrier."""
    origin = barrier.origin
    frame = item_frame(execution_id, barrier.split, origin.current_node, index, barrier.total)
    return (*origin.lineage_stack, frame)


def _lineages(execution_id: str, snapshot: Snapshot) -> dict[str, Lineage]:
    barriers = {barrier.split: barrier for barrier in snapshot.barriers}
    found: dict[str, Lineage] = {}
    for scope in snapshot.scopes:
        split, slash, index = scope.name.partition("/")
        if slash and split in barriers:
            found[scope.name] = item_lineage(execution_id, barriers[split], int(index))
    return found


def _node(token: str, known: Mapping[str, tuple[str, str]]) -> str:
    """Return the node of a token, or "" when it is not known."""
    while token in known:
        token, node = known[token]
        if node:
            return node
    return ""


def _stem(execution_id: str, snapshot: Snapshot) -> str:
    """Return what the ids of a run's tokens are derived from, if one of them says."""
    timers = (timer.token for timer in snapshot.alarms)
    origins = (barrier.origin for barrier in snapshot.barriers)
    tokens = (*timers, *snapshot.parked, *(snapshot.queued or ()), *origins)
    return next((token.stem for token in tokens), execution_id)

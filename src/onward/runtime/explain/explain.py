"""Why is it not moving? From what is known about a run to sentences that name what it waits for.

Pure: facts in, an explanation out. It says what the facts say and no more: where only a broker
knows, it says that. Read `explain` and `_waits` first; every other function makes the sentences of
one kind of wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from onward.kernel.lineage import describe
from onward.kernel.messages import decode_completion
from onward.kernel.outcome import NodeError
from onward.kernel.records import RunRecord, VisitRecord
from onward.kernel.timestamps import to_iso
from onward.ports.cluster.inspection import Barrier, ScopeState, Snapshot, TimerState
from onward.ports.cluster.workers import DeliveryFailure
from onward.runtime.explain import serverless
from onward.runtime.explain.holders import (
    Holder,
    delivery_failures,
    describe_holder,
    holder_of,
    without_failures,
)
from onward.runtime.explain.signal_waits import Awaited, awaited_by, describe_wait
from onward.runtime.explain.token_locator import GraphLayout, TokenLocator, TokenPlace, item_lineage
from onward.runtime.queues import RETRIES

Kind = Literal[
    "quarantine",
    "parked",
    "paused",
    "split",
    "fork",
    "merge",
    "timer",
    "limit",
    "work",
    "trouble",
    "queue",
    "closing",
    "unknown",
    "lost",
    "signal",
    "approval",
    "event",
    "run",
]
RECENT_VISITS = 3
SHOWN_NAMES = 5


class QuarantineCause(msgspec.Struct, frozen=True):
    """A message of the run that is in quarantine."""

    at: str
    reason: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about one run."""

    run: RunRecord
    snapshot: Snapshot
    layout: GraphLayout
    node_runs: Sequence[VisitRecord]
    quarantined: Sequence[QuarantineCause]
    now_ms: int


class WaitReason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing a run waits for."""

    kind: Kind
    text: str
    node: str = ""
    item: str = ""
    """Where it is: `users[5] > orders[2]`, or "" outside all splits."""
    due_at: str = ""
    """When a timer is due, or when a lease runs out."""
    worker: str = ""
    """Its holder, if that is known."""
    done: int | None = None
    total: int | None = None
    missing: tuple[str, ...] = ()
    """Items of a split, or edges of a merge."""
    tokens: tuple[str, ...] = ()
    awaited: Awaited | None = None
    """What is awaited from outside, for programs."""


class LastVisit(msgspec.Struct, frozen=True, kw_only=True):
    """A visit that was recorded lately."""

    node: str
    item: str
    status: str
    attempt: int
    at: str
    error: str


class RunExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """What a run waits for, or how it ended."""

    execution_id: str
    workflow_id: str
    status: str
    started_at: str
    ended_at: str | None
    summary: str
    waits: tuple[WaitReason, ...]
    recent: tuple[LastVisit, ...]
    """The last visits, newest first."""


# -- the explanation -------------------------------------------------------------------------------

_ENDINGS = {
    "completed": "it has completed",
    "failed": "it failed",
    "halted": "it was halted",
    "cancelled": "it was cancelled",
}
_NAMES: dict[Kind, str] = {
    "quarantine": "a decision about a message in quarantine",
    "parked": "room to start",
    "paused": "being resumed",
    "split": "the items of a split",
    "fork": "the branches of a fork",
    "merge": "the branches of a merge",
    "timer": "a time to come",
    "limit": "a time limit",
    "work": "nodes at work",
    "trouble": "a message to be tried again",
    "queue": "workers to take what is queued",
    "closing": "its last steps to be written",
    "unknown": "tokens that cannot be named",
    "lost": "nothing that will come",
    "signal": "a signal",
    "approval": "people to decide",
    "run": "another run",
    "event": "an event",
}
_KINDS: dict[str, Kind] = {
    "held": "work",
    "claimed": "work",
    "recorded": "work",
    "followed": "queue",
    "queued": "queue",
    "unknown": "unknown",
}
_STATES = {
    "held": "queued or at work; if nothing serves this database, `onward continue` executes it",
    "claimed": "claimed by a worker, no result yet: it is at work, or queued again after trouble",
    "recorded": "its outcome is fixed, what follows from it is being sent",
    "followed": "finished; what follows is queued or in a worker's hands",
    "queued": "queued, no worker has claimed it",
    "unknown": "alive, but its place is not known",
}


def explain(facts: Facts) -> RunExplanation:
    """Return what the run waits for."""
    run = facts.run
    waits = tuple(_waits(facts))
    newest = sorted(facts.node_runs, key=lambda visit: visit.at_ms, reverse=True)[:RECENT_VISITS]
    return RunExplanation(
        execution_id=run.execution_id,
        workflow_id=run.workflow_id,
        status=run.status,
        started_at=to_iso(run.started_ms),
        ended_at=None if run.ended_ms is None else to_iso(run.ended_ms),
        summary=_summary(facts, waits),
        waits=waits,
        recent=tuple(map(_last_visit, newest)),
    )


def _last_visit(visit: VisitRecord) -> LastVisit:
    return LastVisit(
        node=visit.node_id,
        item=describe(visit.lineage),
        status=visit.status,
        attempt=visit.attempt,
        at=to_iso(visit.at_ms),
        error=_error(visit),
    )


def _summary(facts: Facts, waits: tuple[WaitReason, ...]) -> str:
    run = facts.run
    if run.ended_ms is not None:
        return _ending_of(run)
    if facts.snapshot.over:
        return "it has ended; the master has not yet written how: does one run?"
    kinds = [wait.kind for wait in waits if wait.kind != "limit"]
    if "lost" in kinds and facts.snapshot.queued is None:  # on a cluster: masters repair
        return "its state was lost, and is rebuilt from its history"
    if "lost" in kinds:
        return "nothing will move it: its state is lost"
    if not kinds:
        return "nothing is known that it waits for: it moved meanwhile, ask again"
    if set(kinds) <= {"work", "queue", "closing", "unknown"}:
        return "it moves as soon as workers get to it"
    return "it waits for " + _join([_NAMES[kind] for kind in dict.fromkeys(kinds)], len(_NAMES))


def _ending_of(run: RunRecord) -> str:
    """Return how a run ended as a sentence."""
    text = f"{_ENDINGS[run.status]} at {to_iso(run.ended_ms or 0)}"
    if run.completion is None:
        return text
    message = decode_completion(run.completion)
    if message.error is None:
        return text
    where = f" at node {message.failed_node}" if message.failed_node else ""
    return f"{text}{where}: {message.error.message} [{message.error.code}]"


# -- the waits, in the order in which they are listed ----------------------------------------------


def _waits(facts: Facts) -> Iterator[WaitReason]:
    for cause in facts.quarantined:
        text = f"a message is in quarantine since {cause.at}: {cause.reason}"
        yield WaitReason(kind="quarantine", text=text)
    if facts.run.ended_ms is not None or facts.snapshot.over:
        return
    snapshot, run = facts.snapshot, facts.run.execution_id
    if snapshot.paused:
        many = len(snapshot.queued or snapshot.parked)
        text = f"the run is paused, and {many} of its tokens wait until it is resumed"
        yield WaitReason(kind="paused", text=text)
    locator = TokenLocator(run, snapshot, facts.layout)
    for barrier in snapshot.barriers:
        if len(barrier.slots) < barrier.total:
            yield from _opened(run, barrier, facts.layout)
    for scope in snapshot.scopes:
        yield from _merges(scope, describe(locator.lineages.get(scope.name, ())), facts.layout)
    for timer in snapshot.alarms:
        yield _timer(timer, facts)
    failures = delivery_failures(snapshot)
    yield from _failures(failures)
    yield from _tokens(without_failures(locator.tokens(), failures), facts)
    for scope in snapshot.scopes:
        if scope.closed:
            item = describe(locator.lineages.get(scope.name, ()))
            text = f"{item or 'the run'} is done, and that is being written"
            yield WaitReason(kind="closing", text=text, item=item)
    if snapshot.unreadable:
        text = f"{snapshot.unreadable} of its messages cannot be read: it will end in quarantine"
        yield WaitReason(kind="unknown", text=text)
    if snapshot.unread:
        text = f"{snapshot.unread} more items and splits were not read"
        yield WaitReason(kind="unknown", text=text)
    yield from _nothing(facts)


def _nothing(facts: Facts) -> Iterator[WaitReason]:
    """Yield why nothing is held of a run that has not ended."""
    snapshot = facts.snapshot
    held = snapshot.scopes or snapshot.alarms or snapshot.barriers or snapshot.queued
    if held or snapshot.unreadable or snapshot.notes:
        return
    if facts.node_runs and snapshot.queued is None:
        text = (
            "its coordination state is gone: a master rebuilds it from its history, and it"
            " continues; `onward repair` does so at once. Do not start it again"
        )
        yield WaitReason(kind="lost", text=text)
    elif snapshot.queued is None:
        nodes = ", ".join(facts.layout.entries)
        first = f" ({nodes})" if nodes else ""
        text = f"no worker has claimed its first message{first}: queued, is a worker running?"
        yield WaitReason(kind="queue", text=text)
    else:
        yield WaitReason(
            kind="lost", text="the journal has no token of it: the run cannot continue"
        )


def _opened(run: str, barrier: Barrier, layout: GraphLayout) -> Iterator[WaitReason]:
    if layout.tree is None:
        yield _split(run, barrier, layout)
    elif (fork := serverless.fork_of(barrier, layout.tree)) is not None:
        yield WaitReason(kind="fork", **fork)


def _split(run: str, barrier: Barrier, layout: GraphLayout) -> WaitReason:
    node, item = barrier.origin.current_node, describe(barrier.origin.lineage_stack)
    done, total = len(barrier.slots), barrier.total
    missing = tuple(
        describe(item_lineage(run, barrier, index))
        for index in range(barrier.sent)
        if index not in barrier.slots
    )
    gather = " and ".join(layout.aggregators.get(node, ()))
    text = f"split {_place(node, item)} has {done} of {total} items"
    text += f" at {gather}" if gather else ""
    text += f", missing {_join(missing)}" if missing else ""
    if barrier.failed:
        text += f"; {barrier.failed} failed"
    if barrier.sent < total:
        held = total - barrier.sent
        text += f"; {held} not started yet, at most {barrier.window} run at once"
    return WaitReason(
        kind="split", text=text, node=node, item=item, done=done, total=total, missing=missing
    )


def _merges(scope: ScopeState, item: str, layout: GraphLayout) -> Iterator[WaitReason]:
    for node in dict.fromkeys(arrival.node for arrival in scope.arrivals):
        if node in scope.merged:
            continue
        arrived = [arrival.edge for arrival in scope.arrivals if arrival.node == node]
        shape = layout.merges.get(node)
        if shape is None:
            text = f"merge {_place(node, item)} has {len(arrived)} branches and waits for more"
            yield WaitReason(kind="merge", text=text, node=node, item=item, done=len(arrived))
            continue
        dead = [edge for edge in shape.into if edge in scope.dead and edge not in arrived]
        missing = tuple(edge for edge in shape.into if edge not in arrived and edge not in dead)
        named = [
            f"{edge} from {layout.ways[edge].src}" if edge in layout.ways else edge
            for edge in missing
        ]
        text = f"merge {_place(node, item)} has {len(arrived)} of {shape.needed} branches"
        text += f", missing {_join(named)}"
        text += f"; not taken: {_join(dead)}" if dead else ""
        yield WaitReason(
            kind="merge",
            text=text,
            node=node,
            item=item,
            done=len(arrived),
            total=shape.needed,
            missing=missing,
        )


def _timer(timer: TimerState, facts: Facts) -> WaitReason:
    token, at = timer.token, to_iso(timer.due_ms)
    item, tree = describe(token.lineage_stack), facts.layout.tree
    place = _place(token.current_node, "" if tree else item)
    wanted = awaited_by(token) if token.signal == "awaited" else None
    if wanted is not None and wanted.kind == "event" and tree is not None:
        text = serverless.listen_of(token.current_node, tree)
    elif wanted is not None:
        text = describe_wait(place, wanted, timer.due_ms, token.execution_id)
    elif tree is not None:
        text = serverless.timer_of(token, at, facts.node_runs)
    elif token.signal == "timeout":
        text = f"{place} gives up at {at} if it still waits then"
    elif token.signal == "resume":
        text = f"{place} waits until {at}"
    else:
        text = f"{place} is tried again at {at}, attempt {token.attempt}"
        failure = next((run for run in facts.node_runs if run.token_id == token.parent), None)
        text += f", after {_error(failure)}" if failure is not None and failure.error else ""
    if timer.leased:
        text += " (due: a scheduler is sending it)"
    elif timer.due_ms < facts.now_ms:
        text += " (overdue: does a scheduler run?)"
    return WaitReason(
        kind=wanted.kind if wanted else "limit" if token.signal == "timeout" else "timer",
        text=text,
        node=token.current_node,
        item=item,
        due_at=at,
        tokens=(token.token_id,),
        awaited=wanted,
    )


def _failures(failures: Mapping[str, DeliveryFailure]) -> Iterator[WaitReason]:
    for token_id, failure in failures.items():
        node, item, at = failure.node, failure.item, to_iso(failure.due_ms)
        text = (
            f"node {_place(node, item)}: its message is tried again at {at}, after failure"
            f" {failure.failures} of {len(RETRIES)} outside the node: {failure.reason}"
        )
        yield WaitReason(
            kind="trouble", text=text, node=node, item=item, due_at=at, tokens=(token_id,)
        )


def _tokens(places: Iterable[TokenPlace], facts: Facts) -> Iterator[WaitReason]:
    """Yield one sentence for all tokens that are at the same node in the same state."""
    ended = {run.token_id: run for run in facts.node_runs}
    together: dict[tuple[str, str, Holder | None], list[TokenPlace]] = {}
    for place in places:
        run = ended.get(place.token_id) if place.token_id else None
        node = place.node or (run.node_id if run is not None else "")
        state = "followed" if run is not None and place.state == "claimed" else place.state
        holder = holder_of(place, facts.snapshot) if state == "claimed" else None
        together.setdefault((state, node, holder), []).append(place)
    for (stands, node, holder), group in together.items():
        items = tuple(dict.fromkeys(describe(place.lineage) for place in group if place.lineage))
        ids = tuple(place.token_id for place in group if place.token_id)
        many = sum(place.many for place in group)
        what = f"{many} token{'s' * (many > 1)}" if not node else f"node {node}"
        if not node and ids:
            what += f" ({_join(ids)})"
        what += f" at {_join(items)}" if items else ""
        held = describe_holder(holder, ids, facts.snapshot, facts.now_ms) if holder else None
        yield WaitReason(
            kind=_KINDS[stands],
            text=f"{what}: {held.text if held else _STATES[stands]}",
            node=node,
            item=items[0] if len(items) == 1 else "",
            due_at=to_iso(held.until_ms) if held and held.until_ms is not None else "",
            worker=holder.worker if holder else "",
            missing=items if len(items) > 1 else (),
            tokens=ids,
        )


# -- words -----------------------------------------------------------------------------------------


def _place(node: str, item: str) -> str:
    """Return a node, and the item it is in if it is in one."""
    return f"{node} ({item})" if item else node


def _join(names: Sequence[str], shown: int = SHOWN_NAMES) -> str:
    """Return names as one text; of many only the first."""
    if len(names) <= shown:
        return ", ".join(names)
    return f"{', '.join(names[:shown])} and {len(names) - shown} more"


def _error(visit: VisitRecord) -> str:
    if visit.error is None:
        return ""
    error = msgspec.json.decode(visit.error, type=NodeError)
    return f"{error.message} [{error.code}]"

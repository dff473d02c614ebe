"""A graph workflow as a Program: walk the edges (RFC 001, 004, 005 and 006).

A token is an ordinary visit of a node unless it carries a signal:

    resume    the wait at this node is over; it goes on
    page      a split that is still sending goes on with its next items (`from_edge` names it)
    timeout   a merge, or the aggregator of the split `from_edge`, has waited long enough
    awaited   the wait for a signal at this node is over: one came, or its time is up
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from onward.errors import DefinitionError, DocumentProblem
from onward.kernel import flow
from onward.kernel.context import Context, Payload
from onward.kernel.effects import (
    Judgement,
    Publish,
    Record,
    Report,
    SetTimer,
    Slot,
    Stands,
    Superseded,
    WriteLog,
    ask,
)
from onward.kernel.flow import Edge, Position, leave, position_of
from onward.kernel.ids import derive, fingerprint
from onward.kernel.json import encode
from onward.kernel.messages import Token
from onward.kernel.outcome import (
    Arrived,
    Awaits,
    Failed,
    NodeError,
    Outcome,
    Routed,
    Scattered,
    Succeeded,
    Suspended,
)
from onward.kernel.program import Activity
from onward.languages.graph import merge, signal_waits, split
from onward.languages.graph.check.document import check
from onward.languages.graph.compiled_graph import CompiledGraph, wire
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.failure import recover, tag_of, ways_despite
from onward.languages.graph.model import Document
from onward.languages.graph.routing import go_on, with_output
from onward.languages.graph.step import step
from onward.ports.nodes.node import Catalogue

PAGE = 100
"""How many items one message sends at most: a huge split never holds a worker, or a transaction."""


def compile_graph(
    document: Document,
    catalogue: Catalogue,
    *,
    problems: Iterable[DocumentProblem] | None = None,
    page: int = PAGE,
) -> GraphProgram:
    """Return the program of a document, or raise DefinitionError with every problem it has.

    `problems` is what `check` found, from a caller that has checked the document already.
    """
    found = check(document, catalogue) if problems is None else problems
    errors = [problem for problem in found if problem.severity == "error"]
    if errors:
        raise DefinitionError(errors)
    return GraphProgram(document, wire(document, catalogue), page)


class GraphProgram:
    """A compiled graph."""

    def __init__(self, document: Document, wiring: CompiledGraph, page: int) -> None:
        self.workflow_id = document.id
        self.document = document
        self.ref = fingerprint(document.source)
        self.wiring = wiring
        self.page = page

    # -- before a node runs --------------------------------------------------------------------

    def start(
        self, execution_id: str, given: Raw, *, now_ms: int
    ) -> tuple[list[Token], list[Payload]]:
        """Return a token for every entry: the triggers, or every node that nothing leads to."""
        context, payload = Context().add("$trigger", given)
        origin = derive(execution_id, "start")
        entries = self.wiring.entries
        tokens = [
            Token(
                workflow_id=self.workflow_id,
                execution_id=execution_id,
                current_node=entry,
                accumulated_context=context.inline,
                context_refs=context.refs,
                definition_ref=self.ref,
                token_id=derive(origin, entry),
                parent=origin,
                outcome="start",
                siblings=len(entries),
                started_at=now_ms,
                sent_at=now_ms,
            )
            for entry in entries
        ]
        return tokens, [payload] if payload else []

    def has_node(self, token: Token) -> bool:
        """Return whether the token's node, and every split on its lineage, is part of the graph."""
        nodes = self.wiring.nodes
        return token.current_node in nodes and all(
            frame.split_node_id in self.wiring.aggregators for frame in token.lineage_stack
        )

    def needs(self, token: Token) -> frozenset[str] | None:
        """Return the context entries that the node's expressions read."""
        node = self.wiring.nodes[token.current_node]
        if node.trigger:
            return frozenset({"trigger"})
        if node.kind == "aggregator" and "collect" not in node.jq:
            return frozenset({"input"})
        return node.needs

    def type_of(self, token: Token) -> str:
        """Return the type that the document gives the token's node."""
        return self.wiring.nodes[token.current_node].kind

    def runs_activity(self, token: Token) -> bool:
        """Return whether the token's node touches the world."""
        node = self.wiring.nodes.get(token.current_node)
        return node is not None and node.type.effect == "outside" and not node.trigger

    def input_of(self, token: Token) -> str:
        """Return the context entry that is this token's `$input`."""
        before = self.wiring.nodes.get(token.from_node)
        if before is None:
            return "trigger"
        return "item" if before.kind == "split" else before.id

    def step(self, token: Token, view: Mapping[str, Any]) -> Activity | Outcome:
        """Return what there is to do at the token's node."""
        return step(self.wiring.nodes[token.current_node], token, view)

    # -- after it ran --------------------------------------------------------------------------

    def settle(
        self, token: Token, outcome: Outcome, *, now_ms: int, dice: float
    ) -> Judgement[None]:
        """Yield everything that follows from `outcome`, in the order to do it."""
        node = self.wiring.nodes[token.current_node]
        place = position_of(token, now_ms)
        match outcome:
            case Succeeded(output):
                yield from self._succeed(place, node, outcome, encode(output), node.success, "ok")
            case Routed(output, edges):
                taken = tuple(way for way in node.success if way.edge in edges)
                tag = "took:" + ",".join(edges)
                yield from self._succeed(place, node, outcome, encode(output), taken, tag)
            case Failed(error):
                yield from self._fail(place, node, outcome, error, dice)
            case Scattered():
                yield from split.scatter(self, place, node, outcome)
            case Arrived(value):
                yield from self._arrive(place, node, value)
            case Suspended(until_ms):
                yield from self._suspend(place, node, until_ms)
            case Awaits():
                yield from signal_waits.wait(place, node, outcome)
            case _:
                assert_never(outcome)

    def _succeed(
        self,
        place: Position,
        node: CompiledNode,
        outcome: Outcome,
        output: Raw,
        taken: tuple[Edge, ...],
        tag: str,
    ) -> Judgement[None]:
        standing = yield from self._fix(place, node, outcome, taken, tag)
        if standing is not outcome:
            if standing is not None:
                yield from self.settle(place.token, standing, now_ms=place.now_ms, dice=0)
            return
        if node.kind == "log":
            line = msgspec.json.decode(output)
            yield WriteLog(place.token, line["level"], line["message"])
        place = yield from with_output(place, node.id, output)
        yield Report(
            token=place.token,
            node=node.id,
            status="success",
            lineage=place.lineage,
            output=output,
        )
        yield from go_on(self, place, node, taken, tag)

    def _fix(
        self,
        place: Position,
        node: CompiledNode,
        outcome: Outcome,
        taken: tuple[Edge, ...],
        tag: str,
    ) -> Judgement[Outcome | None]:
        """Fix the outcome of an activity before its effects, if they are more than one publish.

        Run again, an activity may come to something else, and two outcomes must not mix. Control
        nodes come to the same again. With exactly one successor and nothing to mark dead, the
        first child that is claimed decides, and nothing needs fixing. Inside a split it is fixed
        all the same: an item that has gone on must not be executed again beside the one that takes
        its place, or more of them would be under way than may be. What is fixed is gone with the
        item.
        """
        if node.type.effect != "outside":
            return outcome
        leaving = {way.edge for way in (*node.success, *node.error)}
        untaken = leaving - {way.edge for way in taken}
        if not place.lineage and len(taken) == 1 and not untaken & self.wiring.marking:
            return outcome
        answer = yield from ask(
            Record(
                scope=place.scope,
                token_id=place.unit,
                tag=tag,
                siblings=len(taken),
                outcome=msgspec.json.encode(outcome),
            )
        )
        match answer:
            case Superseded():
                return None
            case Stands(standing):
                mine = standing == msgspec.json.encode(outcome)
                return outcome if mine else msgspec.json.decode(standing, type=Outcome)
            case _:
                assert_never(answer)

    def _fail(
        self, place: Position, node: CompiledNode, outcome: Failed, error: NodeError, dice: float
    ) -> Judgement[None]:
        token = place.token
        delay_ms = node.retry.delay_ms(token.attempt, error.code, dice)
        if delay_ms is not None:
            yield from self._retry(place, node, error, delay_ms)
            return
        standing = yield from self._fix(
            place, node, outcome, ways_despite(self, node), tag_of(node)
        )
        if standing is not outcome:
            if standing is not None:
                yield from self.settle(token, standing, now_ms=place.now_ms, dice=0)
            return
        yield Report(token=token, node=node.id, status="failed", lineage=place.lineage, error=error)
        if node.kind == "aggregator":
            # It failed inside an item, on that item's data: the item failed, whatever the
            # aggregator's policy says about its barrier.
            yield from flow.halt(self, place, node.id, error, "halted")
        else:
            yield from recover(self, place, node, error)

    def _retry(
        self, place: Position, node: CompiledNode, error: NodeError, delay_ms: int
    ) -> Judgement[None]:
        token, due_ms = place.token, place.now_ms + delay_ms
        again = msgspec.structs.replace(
            token,
            token_id=derive(token.token_id, "retry"),
            publish_id="",
            parent=token.token_id,
            outcome="retry",
            siblings=1,
            attempt=token.attempt + 1,
            visit=token.visit or token.token_id,
            sent_at=due_ms,
        )
        yield Report(
            token=token,
            node=node.id,
            status="failed",
            lineage=place.lineage,
            error=error,
            metadata={"retry_at": due_ms, "next_attempt": again.attempt},
        )
        if delay_ms:
            yield SetTimer(again, due_ms)
        else:
            yield Publish(again)

    def _suspend(self, place: Position, node: CompiledNode, until_ms: int) -> Judgement[None]:
        token = place.token
        resume = msgspec.structs.replace(
            token,
            signal="resume",
            token_id=derive(token.token_id, "resume"),
            publish_id="",
            parent=token.token_id,
            outcome="resume",
            siblings=1,
            sent_at=max(until_ms, token.sent_at),
        )
        yield Report(
            token=token,
            node=node.id,
            status="waiting",
            lineage=place.lineage,
            metadata={"resume_at": until_ms},
        )
        yield SetTimer(resume, until_ms)

    def _arrive(self, place: Position, node: CompiledNode, value: Any) -> Judgement[None]:
        token = place.token
        if node.kind == "aggregator":
            left = split.arrival(self, node, token.from_edge, value)
            yield from leave(self, place, left)
            return
        yield from merge.arrive(self, place, node)

    # -- signals and second deliveries ---------------------------------------------------------

    def wake(self, token: Token, *, now_ms: int) -> Judgement[None]:
        """Yield what follows from a page or a time-out."""
        if token.signal == "page":
            yield from split.send_page(self, token, now_ms)
        elif token.signal == "awaited":
            yield from signal_waits.woken(self, token, now_ms)
        elif self.wiring.nodes[token.current_node].kind == "merge":
            yield from merge.overdue(self, token, now_ms)
        else:
            yield from split.overdue(self, token, now_ms)

    def finish(self, token: Token, depth: int, *, now_ms: int) -> Judgement[None]:
        """Yield again what followed when this token closed the scope at `depth`."""
        yield from flow.finish(self, position_of(token, now_ms), depth)

    # -- what only a graph can say about its splits --------------------------------------------

    def item_value(self, origin: str, left: dict[str, bytes]) -> bytes:
        """Return the slot value of an item."""
        return split.item_value(self, origin, left)

    def item_error(self, origin: str, error: bytes) -> bytes:
        """Return the slot value of a failed item."""
        return split.item_error(self, origin, error)

    def after_fill(self, origin: Token, slot: Slot, place: Position) -> Judgement[None]:
        """Yield what follows from one more filled slot."""
        yield from split.after_fill(self, origin, slot, place)

    def after_join(self, origin: Token, values: list[bytes], place: Position) -> Judgement[None]:
        """Yield what follows a barrier with every slot filled."""
        yield from split.after_join(self, origin, values, place)

    def after_overspend(self, origin: Token, slot: Slot, place: Position) -> Judgement[None]:
        """Yield what follows a barrier whose failure budget is spent."""
        yield from split.after_overspend(self, origin, slot, place)

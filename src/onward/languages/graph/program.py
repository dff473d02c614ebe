"""A graph workflow as a Program: walk the edges (RFC 001, 004, 005 and 006).

A token is an ordinary visit of a node unless it carries a signal:

    resume    the wait at this node is over
    page      a split sends its next items (`from_edge` names it)
    timeout   the deadline of a merge, or of the aggregator of the split `from_edge`, has passed
    awaited   the wait for a signal at this node is over: it arrived, or its deadline passed
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
from onward.languages.graph.compiled_graph import CompiledGraph, compile_wiring
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.failure import edges_despite, recover, tag_of
from onward.languages.graph.model import Document
from onward.languages.graph.routing import Graph, take_edges, with_output
from onward.languages.graph.step import step
from onward.ports.nodes.node import Catalogue

ITEMS_PAGE = 100
"""How many items one message sends at most: a huge split never holds a worker, or a transaction."""


def compile_graph(
    document: Document,
    catalogue: Catalogue,
    *,
    problems: Iterable[DocumentProblem] | None = None,
    page: int = ITEMS_PAGE,
) -> GraphProgram:
    """Return the program of a document, or raise DefinitionError with every problem it has.

    `problems` is what `check` found, from a caller that has checked the document already.
    """
    found = check(document, catalogue) if problems is None else problems
    errors = [problem for problem in found if problem.severity == "error"]
    if errors:
        raise DefinitionError(errors)
    return GraphProgram(document, compile_wiring(document, catalogue), page)


class GraphProgram:
    """A compiled graph."""

    def __init__(self, document: Document, wiring: CompiledGraph, page: int) -> None:
        self.workflow_id = document.id
        self.document = document
        self.ref = fingerprint(document.source)
        self.wiring = wiring
        self._graph = Graph(wiring, page, hooks=self)

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
        position = position_of(token, now_ms)
        match outcome:
            case Succeeded(output):
                yield from self._succeed(
                    position, node, outcome, encode(output), node.success, "ok"
                )
            case Routed(output, edges):
                taken = tuple(way for way in node.success if way.edge in edges)
                tag = "took:" + ",".join(edges)
                yield from self._succeed(position, node, outcome, encode(output), taken, tag)
            case Failed(error):
                yield from self._fail(position, node, outcome, error, dice)
            case Scattered():
                yield from split.scatter(self._graph, position, node, outcome)
            case Arrived(value):
                yield from self._arrive(position, node, value)
            case Suspended(until_ms):
                yield from self._suspend(position, node, until_ms)
            case Awaits():
                yield from signal_waits.wait(position, node, outcome)
            case _:
                assert_never(outcome)

    def _succeed(
        self,
        position: Position,
        node: CompiledNode,
        outcome: Outcome,
        output: Raw,
        taken: tuple[Edge, ...],
        tag: str,
    ) -> Judgement[None]:
        standing = yield from self._fix(position, node, outcome, taken, tag)
        if standing is not outcome:
            if standing is not None:
                yield from self.settle(position.token, standing, now_ms=position.now_ms, dice=0)
            return
        if node.kind == "log":
            line = msgspec.json.decode(output)
            yield WriteLog(position.token, line["level"], line["message"])
        position = yield from with_output(position, node.id, output)
        yield Report(
            token=position.token,
            node=node.id,
            status="success",
            lineage=position.lineage,
            output=output,
        )
        yield from take_edges(self._graph, position, node, taken, tag)

    def _fix(
        self,
        position: Position,
        node: CompiledNode,
        outcome: Outcome,
        taken: tuple[Edge, ...],
        tag: str,
    ) -> Judgement[Outcome | None]:
        """Fix the outcome of an activity before its effects, if they are more than one publish.

        Repeated, an activity may have another outcome, and two outcomes must not mix. A control
        node has the same one again. With exactly one successor and nothing to mark dead, the first
        child that is claimed decides, and nothing needs fixing. Inside a split it is fixed all the
        same: an item that has continued must not be executed again beside the one that takes its
        place, or more of them would run than may. The fixed outcome is dropped with the item.
        """
        if node.type.effect != "outside":
            return outcome
        leaving = {way.edge for way in (*node.success, *node.error)}
        untaken = leaving - {way.edge for way in taken}
        if not position.lineage and len(taken) == 1 and not untaken & self.wiring.marking:
            return outcome
        answer = yield from ask(
            Record(
                scope=position.scope,
                token_id=position.unit,
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
        self, position: Position, node: CompiledNode, outcome: Failed, error: NodeError, dice: float
    ) -> Judgement[None]:
        token = position.token
        delay_ms = node.retry.delay_ms(token.attempt, error.code, dice)
        if delay_ms is not None:
            yield from self._retry(position, node, error, delay_ms)
            return
        standing = yield from self._fix(
            position, node, outcome, edges_despite(self._graph, node), tag_of(node)
        )
        if standing is not outcome:
            if standing is not None:
                yield from self.settle(token, standing, now_ms=position.now_ms, dice=0)
            return
        yield Report(
            token=token, node=node.id, status="failed", lineage=position.lineage, error=error
        )
        if node.kind == "aggregator":
            # It failed inside an item, on that item's data: the item failed, whatever the
            # aggregator's policy says about its barrier.
            yield from flow.halt(self, position, node.id, error, "halted")
        else:
            yield from recover(self._graph, position, node, error)

    def _retry(
        self, position: Position, node: CompiledNode, error: NodeError, delay_ms: int
    ) -> Judgement[None]:
        token, due_ms = position.token, position.now_ms + delay_ms
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
            lineage=position.lineage,
            error=error,
            metadata={"retry_at": due_ms, "next_attempt": again.attempt},
        )
        if delay_ms:
            yield SetTimer(again, due_ms)
        else:
            yield Publish(again)

    def _suspend(self, position: Position, node: CompiledNode, until_ms: int) -> Judgement[None]:
        token = position.token
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
            lineage=position.lineage,
            metadata={"resume_at": until_ms},
        )
        yield SetTimer(resume, until_ms)

    def _arrive(self, position: Position, node: CompiledNode, value: Any) -> Judgement[None]:
        token = position.token
        if node.kind == "aggregator":
            left = split.arrival(node, token.from_edge, value)
            yield from leave(self, position, left)
            return
        yield from merge.arrive(self._graph, position, node)

    # -- signals and second deliveries ---------------------------------------------------------

    def wake(self, token: Token, *, now_ms: int) -> Judgement[None]:
        """Yield what follows from a page, a signal or a deadline."""
        if token.signal == "page":
            yield from split.send_page(self._graph, token, now_ms)
        elif token.signal == "awaited":
            node = self.wiring.nodes[token.current_node]
            found = yield from signal_waits.wake(node, token)
            if found is not None:
                yield from self.settle(*found, now_ms=now_ms, dice=0)
        elif self.wiring.nodes[token.current_node].kind == "merge":
            yield from merge.expire(self._graph, token, now_ms)
        else:
            yield from split.expire(self._graph, token, now_ms)

    def finish(self, token: Token, depth: int, *, now_ms: int) -> Judgement[None]:
        """Yield again what followed when this token closed the scope at `depth`."""
        yield from flow.finish(self, position_of(token, now_ms), depth)

    # -- what only a graph can say about its splits --------------------------------------------

    def item_value(self, origin: str, left: dict[str, bytes]) -> bytes:
        """Return the slot value of an item."""
        return split.item_value(self._graph, origin, left)

    def item_error(self, origin: str, error: bytes) -> bytes:
        """Return the slot value of a failed item."""
        return split.item_error(self._graph, origin, error)

    def after_fill(self, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
        """Yield what follows from one more filled slot."""
        yield from split.after_fill(self._graph, origin, slot, position)

    def after_join(self, origin: Token, values: list[bytes], position: Position) -> Judgement[None]:
        """Yield what follows a barrier with every slot filled."""
        yield from split.after_join(self._graph, origin, values, position)

    def after_overspend(self, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
        """Yield what follows a barrier whose failure budget is spent."""
        yield from split.after_overspend(self._graph, origin, slot, position)

"""Nodes that wait for a signal: how long, which one, and what they come to when it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from onward.kernel.effects import Judgement, Report
from onward.kernel.flow import Position, position_of
from onward.kernel.lineage import describe
from onward.kernel.messages import Token
from onward.kernel.outcome import Awaits, Failed, NodeError, Outcome, Routed, Succeeded
from onward.kernel.signal_waits import (
    APPROVAL_PREFIX,
    WaitResult,
    address_of,
    suspend,
    wait_result_of,
)
from onward.kernel.timestamps import LATEST_MS, to_iso
from onward.languages.graph.compiled_graph import CompiledGraph
from onward.languages.graph.compiled_node import CompiledNode


class Settling(Protocol):
    """A program of the graph language, as a wait sees it."""

    @property
    def wiring(self) -> CompiledGraph:
        """The compiled graph."""
        ...

    def settle(
        self, token: Token, outcome: Outcome, *, now_ms: int, dice: float
    ) -> Judgement[None]:
        """Yield everything that follows from `outcome`."""
        ...


def wait_for_signal(given: Any, token: Token) -> Awaits:
    """Return the wait that a `wait_for_signal` node asks for."""
    key = describe(token.lineage_stack) if given.key is None else str(given.key)
    return Awaits(name=given.signal, key=key, until_ms=_until(given.timeout, token))


def approval(given: Any, token: Token) -> Awaits:
    """Return the wait that an `approval` node asks for: for the first decision."""
    memo = {
        "approvers": list(given.approvers),
        "required": given.required or len(given.approvers),
        "message": given.message,
        "until_ms": _until(given.timeout, token),
        "decisions": [],
    }
    return _next_decision(memo, token)


def _next_decision(memo: dict[str, Any], token: Token) -> Awaits:
    return Awaits(
        name=f"{APPROVAL_PREFIX}{token.current_node}",
        key=describe(token.lineage_stack),
        until_ms=memo["until_ms"],
        memo=memo,
    )


def _until(timeout_s: float | None, token: Token) -> int | None:
    if timeout_s is None:
        return None
    return min(token.sent_at + round(timeout_s * 1000), LATEST_MS)


def wait(place: Position, node: CompiledNode, asked: Awaits) -> Judgement[None]:
    """Let a token wait, and say for what."""
    address = address_of(asked.name, asked.key)
    metadata: dict[str, Any] = {"signal": asked.name}
    if asked.key:
        metadata["key"] = asked.key
    if asked.until_ms is not None:
        metadata["resume_at"] = asked.until_ms
    yield Report(
        token=place.token,
        node=node.id,
        status="waiting",
        lineage=place.lineage,
        metadata=metadata,
    )
    if asked.memo is not None:
        context, _ = place.context.add(_memo(node), Raw(msgspec.json.encode(asked.memo)))
        place = msgspec.structs.replace(place, context=context)
    yield from suspend(place, address, asked.until_ms)


def _memo(node: CompiledNode) -> str:
    return f"$ {node.id}"  # no node has such an id, so no expression reads it


def woken(graph: Settling, token: Token, now_ms: int) -> Judgement[None]:
    """A token that waited goes on: with the signal it has, or because its time is up."""
    found = yield from wait_result_of(token)
    if found is None:
        return
    node = graph.wiring.nodes[token.current_node]
    context = dict(token.accumulated_context)
    memo = context.pop(_memo(node), None)
    token = msgspec.structs.replace(
        token, signal="", awaits="", accumulated_context=context, sent_at=found.at_ms
    )
    outcome = _outcome(node, token, found, memo)
    if isinstance(outcome, Awaits):
        yield from wait(position_of(token, now_ms), node, outcome)
    else:
        yield from graph.settle(token, outcome, now_ms=now_ms, dice=0)


def _outcome(node: CompiledNode, token: Token, found: WaitResult, memo: Raw | None) -> Outcome:
    if found.error is not None:
        return Failed(found.error)
    if found.value is None:
        return _expired(node, found.at_ms, memo)
    if node.kind == "approval" and memo is not None:
        return _decided(node, token, msgspec.json.decode(memo), msgspec.json.decode(found.value))
    return _routed(node, found.value, "")


def _decided(
    node: CompiledNode, token: Token, memo: dict[str, Any], decision: dict[str, Any]
) -> Outcome:
    """Count one more decision, of somebody who is asked and has not decided already."""
    decisions = memo["decisions"]
    who = decision["by"]
    if who in memo["approvers"] and all(decision["by"] != who for decision in decisions):
        decisions = [*decisions, decision]
    memo = {**memo, "decisions": decisions}
    approved = sum(decision["decision"] == "approve" for decision in decisions)
    rejected = len(decisions) - approved
    if approved < memo["required"] <= len(memo["approvers"]) - rejected:
        return _next_decision(memo, token)
    verdict = "approved" if approved >= memo["required"] else "rejected"
    output = _told(memo, verdict)
    if verdict == "rejected" and "rejected_edge_id" not in node.named_edges:
        reasons = "; ".join(
            f"{decision['by']}: {decision['comment'] or 'no'}" for decision in decisions
        )
        return Failed(NodeError(f"rejected ({reasons})", "REJECTED", output))
    return _routed(node, output, f"{verdict}_edge_id")


def _told(memo: Mapping[str, Any], verdict: str) -> dict[str, Any]:
    return {"decision": verdict, "decisions": memo["decisions"], "required": memo["required"]}


def _expired(node: CompiledNode, at_ms: int, memo: Raw | None) -> Outcome:
    expired = {"expired_at": to_iso(at_ms)}
    if memo is not None and node.kind == "approval":
        expired = {**_told(msgspec.json.decode(memo), "expired"), **expired}
    if "expired_edge_id" not in node.named_edges:
        what = "no decision was made" if node.kind == "approval" else "no signal came"
        return Failed(NodeError(f"{what} until {to_iso(at_ms)}", "EXPIRED", expired))
    return _routed(node, expired, "expired_edge_id")


def _routed(node: CompiledNode, output: Any, wanted: str) -> Outcome:
    """Take the edge that the node names for what happened, or every edge it names for nothing."""
    if not node.named_edges:
        return Succeeded(output)
    if wanted in node.named_edges:
        return Routed(output, (node.named_edges[wanted],))
    named = set(node.named_edges.values())
    return Routed(output, tuple(way.edge for way in node.success if way.edge not in named))

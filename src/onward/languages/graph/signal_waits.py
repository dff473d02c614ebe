"""Nodes that wait for a signal: which one, until when, and their outcome when it arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from onward.kernel.effects import Judgement, Report
from onward.kernel.flow import Position
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
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.control_nodes import ApprovalNode, WaitForSignalNode


def wait_of(node: WaitForSignalNode | ApprovalNode, token: Token) -> Awaits:
    """Return the wait that a node asks for: for its signal, or for the first decision."""
    if isinstance(node, ApprovalNode):
        return _wait_for_approval(node, token)
    key = describe(token.lineage_stack) if node.key is None else str(node.key)
    return Awaits(name=node.signal, key=key, until_ms=_until(node.timeout, token))


def _wait_for_approval(node: ApprovalNode, token: Token) -> Awaits:
    memo = {
        "approvers": list(node.approvers),
        "required": node.required or len(node.approvers),
        "message": node.message,
        "until_ms": _until(node.timeout, token),
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


def wait(position: Position, node: CompiledNode, asked: Awaits) -> Judgement[None]:
    """Suspend a token until its signal, and report what it waits for."""
    address = address_of(asked.name, asked.key)
    metadata: dict[str, Any] = {"signal": asked.name}
    if asked.key:
        metadata["key"] = asked.key
    if asked.until_ms is not None:
        metadata["resume_at"] = asked.until_ms
    yield Report(
        token=position.token,
        node=node.id,
        status="waiting",
        lineage=position.lineage,
        metadata=metadata,
    )
    if asked.memo is not None:
        context, _ = position.context.add(_memo(node), Raw(msgspec.json.encode(asked.memo)))
        position = msgspec.structs.replace(position, context=context)
    yield from suspend(position, address, asked.until_ms)


def _memo(node: CompiledNode) -> str:
    return f"$ {node.id}"  # no node has such an id, so no expression reads it


def wake(node: CompiledNode, token: Token) -> Judgement[tuple[Token, Outcome] | None]:
    """Return the token after its wait and its outcome: of the signal, or of the deadline.

    None when the wait was over already.
    """
    found = yield from wait_result_of(token)
    if found is None:
        return None
    context = dict(token.accumulated_context)
    memo = context.pop(_memo(node), None)
    token = msgspec.structs.replace(
        token, signal="", awaits="", accumulated_context=context, sent_at=found.at_ms
    )
    return token, _outcome(node, token, found, memo)


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
    """Add a decision; one by a person who is not asked, or has decided already, does not count."""
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
    output = _decision_output(memo, verdict)
    if verdict == "rejected" and "rejected_edge_id" not in node.named_edges:
        reasons = "; ".join(
            f"{decision['by']}: {decision['comment'] or 'no'}" for decision in decisions
        )
        return Failed(NodeError(f"rejected ({reasons})", "REJECTED", output))
    return _routed(node, output, f"{verdict}_edge_id")


def _decision_output(memo: Mapping[str, Any], verdict: str) -> dict[str, Any]:
    return {"decision": verdict, "decisions": memo["decisions"], "required": memo["required"]}


def _expired(node: CompiledNode, at_ms: int, memo: Raw | None) -> Outcome:
    expired = {"expired_at": to_iso(at_ms)}
    if memo is not None and node.kind == "approval":
        expired = {**_decision_output(msgspec.json.decode(memo), "expired"), **expired}
    if "expired_edge_id" not in node.named_edges:
        what = "no decision was made" if node.kind == "approval" else "no signal came"
        return Failed(NodeError(f"{what} until {to_iso(at_ms)}", "EXPIRED", expired))
    return _routed(node, expired, "expired_edge_id")


def _routed(node: CompiledNode, output: Any, wanted: str) -> Outcome:
    """Take the edge that the node names for this result, or every edge that it names for none."""
    if not node.named_edges:
        return Succeeded(output)
    if wanted in node.named_edges:
        return Routed(output, (node.named_edges[wanted],))
    named = set(node.named_edges.values())
    return Routed(output, tuple(way.edge for way in node.success if way.edge not in named))

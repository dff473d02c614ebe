"""Waits for signals: what a token waits for, as a value and as a sentence."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from onward.kernel.messages import Token
from onward.kernel.signal_waits import read_address
from onward.kernel.timestamps import LATEST_MS, to_iso

AwaitedKind = Literal["signal", "approval", "run", "event"]


class Awaited(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wait for something that comes from outside the run."""

    kind: AwaitedKind
    name: str
    """Of the signal, of the node that waits for a decision, or the id of the run."""
    key: str = ""
    people: tuple[str, ...] = ()
    """Of an approval: those who have not decided yet."""
    required: int | None = None
    decided: tuple[dict[str, Any], ...] = ()
    message: str = ""


def awaited_by(token: Token) -> Awaited:
    """Return what a token waits for."""
    name, key = read_address(token.awaits)
    if name.startswith("run:"):
        return Awaited(kind="run", name=name.removeprefix("run:"))
    if name == "event:":
        return Awaited(kind="event", name=token.current_node)
    if not name.startswith("approval:"):
        return Awaited(kind="signal", name=name, key=key)
    memo = _memo(token)
    decided = tuple(memo.get("decisions", ()))
    done = {decision.get("by") for decision in decided}
    return Awaited(
        kind="approval",
        name=name.removeprefix("approval:"),
        key=key,
        people=tuple(person for person in memo.get("approvers", ()) if person not in done),
        required=memo.get("required"),
        decided=decided,
        message=memo.get("message", ""),
    )


def _memo(token: Token) -> dict[str, Any]:
    raw = token.accumulated_context.get(f"$ {token.current_node}")
    memo = msgspec.json.decode(raw) if raw is not None else {}
    return memo if isinstance(memo, dict) else {}


def describe_wait(place: str, wait: Awaited, due_ms: int, execution_id: str) -> str:
    """Return the wait as a sentence."""
    until = "without limit" if due_ms >= LATEST_MS else f"until {to_iso(due_ms)}"
    match wait.kind:
        case "run":
            return f"{place} waits for run {wait.name} to end: explain that one"
        case "event":
            return f"{place} listens, and no event that it wants has come yet"
        case "approval":
            approved = sum(each.get("decision") == "approve" for each in wait.decided)
            return (
                f"{place} waits {until} for people to decide: {approved} of {wait.required}"
                f" have approved, missing {', '.join(wait.people) or 'nobody'};"
                f" their links: GET /runs/{execution_id}/waits"
            )
        case "signal":
            key = f" with key {wait.key}" if wait.key else ""
            return (
                f"{place} waits {until} for signal {wait.name}{key}:"
                f" POST /runs/{execution_id}/signals/{wait.name}, or its link:"
                f" GET /runs/{execution_id}/waits"
            )

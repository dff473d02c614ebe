"""The checkers: what must hold when a world has come to rest, whatever went wrong in it."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.messages import CompletionMessage
from onward.simulation.reference import ExpectedEnd
from onward.simulation.world import World

CELL_KINDS = (
    *("live", "fate", "owner", "record", "left", "closed", "dead", "merge", "arrival"),
    *("split", "head", "origin", "slot", "value", "taken", "signal", "waiter", "heard"),
)


class BrokenError(AssertionError):
    """An invariant does not hold."""


def check_invariants(world: World) -> None:
    """Raise BrokenError unless the run ended once, cleanly, and followed one outcome per step."""
    seen = world.witness
    if not seen.completions:
        raise BrokenError(f"the run is stuck; left behind: {leftovers(world)}")
    endings = {msgspec.json.encode(message) for message in seen.completions[: seen.counted]}
    if len(endings) != 1:
        raise BrokenError(f"the run ended {len(endings)} times: {sorted(endings)}")
    for parent, outcomes in seen.followed.items():
        if len(outcomes) != 1:
            raise BrokenError(f"step {parent} was continued by {sorted(outcomes)}")
    left = leftovers(world)
    if left:
        raise BrokenError(f"state was left behind: {left}")


def leftovers(world: World) -> list[str]:
    """Return the state and the timers that remain although the run has ended."""
    left = [
        f"{state_id}: {group or 'run'}/{kind}"
        for state_id, (cells, _) in world.states.items()
        for group in cells.groups()
        for kind in CELL_KINDS
        if cells.all(group, kind)
    ]
    return left + [f"timer {timer}" for timer in world.timers]


def check_windows(world: World, windows: dict[str, int]) -> None:
    """Raise BrokenError if a split had more items in flight than it may."""
    for node, widest in world.witness.widest.values():
        if widest > windows.get(node, widest):
            raise BrokenError(f"{node} had {widest} items in flight, {windows[node]} are allowed")


def check_result(message: CompletionMessage, expected: ExpectedEnd) -> None:
    """Raise BrokenError unless the run has the result of the reference."""
    code = message.error.code if message.error else ""
    want_status = expected.errors.get(code) if expected.errors else "completed"
    if message.status != want_status:
        want = expected.errors or "completed"
        raise BrokenError(f"the run is {message.status} ({code or 'no error'}), expected {want}")
    if expected.errors:
        return
    context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
    got, want = comparable_value(context), comparable_value(expected.context)
    if got != want:
        wrong = {key for key in got.keys() | want.keys() if got.get(key) != want.get(key)}
        lines = [f"  {key}: got {got.get(key)!r}, expected {want.get(key)!r}" for key in wrong]
        raise BrokenError("the final context differs:\n" + "\n".join(sorted(lines)))


def comparable_value(value: Any) -> Any:
    """Return a value without the parts in which two correct runs may differ: errors and times."""
    if isinstance(value, dict):
        if value.keys() == {"error"}:
            return "ERROR"
        if value.keys() == {"resumed_at"}:
            return "resumed"
        return {key: comparable_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable_value(item) for item in value]
    return value

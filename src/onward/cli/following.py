"""Events as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.api.client.values import Event


def line_of(event: Event, *, run: bool = False) -> str:
    """Return one event as a line: when, where and what; with its run when there are several."""
    parts = [event.at[11:23], event.type]
    if run:
        parts.insert(1, event.execution_id)
    if event.node_id:
        parts.append(event.node_id)
    if event.item:
        parts.append(event.item)
    if event.type == "node.progress":
        parts.append(f"{event.processed}/{event.total}")
    if event.type == "node.items":
        parts.append(f"+{event.succeeded}")
    if event.failed:
        parts.append(f"{event.failed} failed")
    if event.attempt > 1:
        parts.append(f"attempt {event.attempt}")
    if event.duration_ms is not None:
        parts.append(f"{event.duration_ms} ms")
    if event.status:
        parts.append(event.status)
    if event.error:
        parts.append(f"{event.error.get('message')} [{event.error.get('code')}]")
    return "  ".join(parts)

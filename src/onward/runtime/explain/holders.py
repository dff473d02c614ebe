"""The holders of tokens: which worker has one, since when, and by message or by lease.

Pure: notes in, a sentence out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from onward.kernel.lineage import describe
from onward.kernel.timestamps import to_iso
from onward.ports.cluster.inspection import Lease, Snapshot
from onward.ports.cluster.workers import DeliveryFailure, HeldToken
from onward.runtime.explain.token_locator import TokenPlace

SILENT_MS = 35_000
"""A worker that was not heard of for so long has missed three heartbeats."""


class Holder(NamedTuple):
    """How a token is held."""

    worker: str
    leased: bool


class HolderText(NamedTuple):
    """A sentence about some tokens that are held the same way."""

    text: str
    until_ms: int | None
    """When the first of their leases runs out."""


def holder_of(place: TokenPlace, snapshot: Snapshot) -> Holder | None:
    """Return how a token is held; None when that is not known."""
    note = snapshot.notes.get(place.token_id)
    leased = place.token_id in snapshot.leases
    if isinstance(note, HeldToken):
        return Holder(note.worker, leased)
    return Holder("", leased) if leased else None


def describe_holder(
    holder: Holder, token_ids: Sequence[str], snapshot: Snapshot, now_ms: int
) -> HolderText:
    """Return who holds some tokens, since when, and what happens if that worker is silent."""
    notes = [snapshot.notes.get(token_id) for token_id in token_ids]
    since = [note.since_ms for note in notes if isinstance(note, HeldToken)]
    worker = holder.worker
    where = f" on worker {worker} since {to_iso(min(since))}" if worker and since else ""
    silence = _silence(worker, snapshot.workers, now_ms) if worker else ""
    if not holder.leased:
        text = f"its message is unacked{where}{silence}"
        return HolderText(text + ("; the broker then gives it to another" if silence else ""), None)
    leases = [snapshot.leases[token_id] for token_id in token_ids]
    first = min(leases, key=lambda lease: lease.until_ms)
    return HolderText(f"running{where}{silence}, {_lease(first, now_ms)}", first.until_ms)


def _lease(lease: Lease, now_ms: int) -> str:
    if lease.over:
        return "but its lease has run out: a scheduler is sending its message again"
    text = f"lease until {to_iso(lease.until_ms)}"
    return f"{text} (overdue: does a scheduler run?)" if lease.until_ms < now_ms else text


def _silence(worker: str, workers: Mapping[str, int], now_ms: int) -> str:
    seen_ms = workers.get(worker)
    if seen_ms is None:
        return ", which has stopped"
    if now_ms - seen_ms > SILENT_MS:
        return f", which has not been heard of since {to_iso(seen_ms)}"
    return ""


def delivery_failures(snapshot: Snapshot) -> dict[str, DeliveryFailure]:
    """Return the tokens whose messages are delivered again after a failure."""
    notes = snapshot.notes.items()
    return {token_id: note for token_id, note in notes if isinstance(note, DeliveryFailure)}


def without_failures(
    places: Sequence[TokenPlace], failures: Mapping[str, DeliveryFailure]
) -> Iterator[TokenPlace]:
    """Leave out the tokens whose messages are delivered again: more is known about those.

    One that no worker has claimed yet is not known by its id, only by its place.
    """
    claimed = {place.token_id for place in places}
    unclaimed = [
        (failure.node, failure.item)
        for token_id, failure in failures.items()
        if token_id not in claimed
    ]
    for place in places:
        where = (place.node, describe(place.lineage))
        if place.token_id in failures:
            continue
        if place.state == "queued" and where in unclaimed:
            unclaimed.remove(where)
            continue
        yield place

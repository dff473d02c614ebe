"""What is known about a token that some worker has: who holds it since when, and on what terms.

Pure: notes in, a sentence out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    """Some tokens that are held the same way, in words."""

    text: str
    until_ms: int | None
    """When the first of their leases runs out."""


def holder_of(place: TokenPlace, snapshot: Snapshot) -> Holder | None:
    """Return how a token is held; None when nothing is known about that."""
    note = snapshot.notes.get(place.token_id)
    leased = place.token_id in snapshot.leases
    if isinstance(note, HeldToken):
        return Holder(note.worker, leased)
    return Holder("", leased) if leased else None


def describe_holder(
    grip: Holder, tokens: Iterable[str], snapshot: Snapshot, now_ms: int
) -> HolderText:
    """Say who holds some tokens, since when, and what happens if that worker is silent."""
    ids = list(tokens)
    since = [note.since_ms for one in ids if isinstance(note := snapshot.notes.get(one), HeldToken)]
    where = f" on worker {grip.worker} since {to_iso(min(since))}" if grip.worker and since else ""
    silence = _silence(grip.worker, snapshot.workers, now_ms) if grip.worker else ""
    if not grip.leased:
        text = f"its message is unacked{where}{silence}"
        return HolderText(text + ("; the broker then gives it to another" if silence else ""), None)
    first = min((snapshot.leases[one] for one in ids), key=lambda one: one.until_ms)
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


def troubles(snapshot: Snapshot) -> dict[str, DeliveryFailure]:
    """Return the tokens whose messages come again after trouble."""
    return {token: one for token, one in snapshot.notes.items() if isinstance(one, DeliveryFailure)}


def without_troubles(
    places: Iterable[TokenPlace], coming: Mapping[str, DeliveryFailure]
) -> Iterator[TokenPlace]:
    """Leave out the tokens whose messages come again: more is known about those.

    One that nobody has claimed yet is not known by its id, only by where it is.
    """
    found = list(places)
    claimed = {one.token_id for one in found}
    unclaimed = [(one.node, one.item) for token, one in coming.items() if token not in claimed]
    for place in found:
        where = (place.node, describe(place.lineage))
        if place.token_id in coming:
            continue
        if place.state == "queued" and where in unclaimed:
            unclaimed.remove(where)
            continue
        yield place

"""What becomes of firings that wait: a pure decision, taken by one master at a time."""

from __future__ import annotations

import msgspec

from onward.ports.triggers import Cause, Firing, Standing, Verdict


def settle(standing: Standing) -> Verdict:
    """Decide about every firing that waits, by its own overlap policy.

    Only firings of the same cause stand in each other's way: a backfill does not hold up the
    schedule it makes up for. To cancel is said again until the run has ended, and only then the
    next one starts, so whoever dies in between leaves nothing undone.
    """
    if not standing.enabled:
        gone = [_skipped(one, "the trigger was disabled") for one in standing.waiting]
        return Verdict(skip=tuple(gone))
    start: list[Firing] = []
    skip: list[Firing] = []
    cancel: list[str] = []
    busy: dict[Cause, list[Firing]] = {}
    for one in standing.active:
        busy.setdefault(one.cause, []).append(one)
    newest = {one.cause: one.key for one in standing.waiting if one.overlap == "cancel"}
    for one in standing.waiting:
        before = busy.get(one.cause, [])
        if one.overlap == "cancel" and newest[one.cause] != one.key:
            skip.append(_skipped(one, "a later time came before this one could start"))
        elif one.overlap == "allow" or not before:
            start.append(one)
            if one.overlap != "allow":
                busy.setdefault(one.cause, []).append(one)
        elif one.overlap == "skip":
            skip.append(_skipped(one, f"run {before[0].execution_id} had not ended"))
        elif one.overlap == "cancel":
            cancel += [other.execution_id for other in before if other.state == "started"]
    return Verdict(start=tuple(start), skip=tuple(skip), cancel=tuple(cancel))


def _skipped(firing: Firing, why: str) -> Firing:
    return msgspec.structs.replace(firing, state="skipped", note=why)

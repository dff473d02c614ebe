"""Ending a run from outside its own tokens: cancelled, expired, quarantined, or found ended.

The order is the crash-safety argument. `Close` is one compare-and-set, after which every token of
the run is dropped when it is claimed, and no outcome of a running node has any effect. It answers
the same to every caller with the same `by` until `Forget`; so a caller that dies in between leaves
a state whose completion is published by the next one, at worst twice, which history folds into one.
"""

from __future__ import annotations

from onward.kernel.effects import Close, Forget
from onward.kernel.messages import CompletionMessage, encode_message
from onward.ports.cluster.bus import Bus
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.cluster.timers import Timers
from onward.runtime.queues import COMPLETION


async def close_run(
    bus: Bus,
    coordinator: Coordinator,
    timers: Timers,
    state_id: str,
    by: str,
    message: CompletionMessage,
) -> bool:
    """End a run with `message`, unless it has ended for another cause than `by`: then False."""
    standing = await coordinator.answer(state_id, Close(by=by, message=message))
    if standing is None:
        return False
    await finish_closed_run(bus, coordinator, timers, state_id, standing)
    return True


async def finish_closed_run(
    bus: Bus,
    coordinator: Coordinator,
    timers: Timers,
    state_id: str,
    completion: CompletionMessage,
) -> None:
    """Publish the completion of a state that is closed, and drop the rest of that state."""
    await bus.publish(COMPLETION, encode_message(completion))
    await timers.cancel_all(state_id)
    await coordinator.answer(state_id, Forget())

"""How events reach a run: it says at its beginning what it listens to, and then waits for signals.

Each listen has a mailbox of its own, an address of the kernel's signals. What is published from the
beginning of the run on is kept there until the listen comes to it, and each event is in it once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.effects import Judgement, Report
from onward.kernel.flow import Position, position_of
from onward.kernel.json import decode
from onward.kernel.messages import Token, encode_message
from onward.kernel.signal_waits import address_of, read_address, suspend, wait_result_of
from onward.kernel.timestamps import to_iso
from onward.languages.serverless.errors import child_fault
from onward.languages.serverless.model import ListenTask, ServerlessWorkflow
from onward.languages.serverless.run.branches import go_on, opened, stored
from onward.languages.serverless.run.event_filters import types_of
from onward.languages.serverless.run.state import Action, StateStore, WalkState
from onward.languages.serverless.run.variables import WalkContext
from onward.ports.nodes.events import Subscription

EVENT = "event:"
"""The name of the signals that are events, which no other signal can have; the key is the pointer
of the listen."""


def subscriptions(workflow: ServerlessWorkflow, first: Token) -> tuple[Subscription, ...]:
    """Return what a run listens to. `first` is the token that it began with."""
    plain = msgspec.structs.replace(
        first,
        workflow_definition=msgspec.UNSET,
        accumulated_context={},
        context_refs={},
        context_base=None,
        publish_id="",
        trouble=0,
    )
    token = encode_message(plain)
    return tuple(
        Subscription(first.execution_id, address_of(EVENT, task.at), event_type, token)
        for task in workflow.tasks.values()
        if isinstance(task, ListenTask)
        for event_type in sorted(types_of(task.wanted))
    )


def filled_in(arguments: Any, run: WalkContext) -> Any:
    """Return the arguments of an emit with what the event need not say itself."""
    workflow = run.workflow
    defaults = {
        "source": f"/{workflow.namespace}/{workflow.name}/{run.id}",
        "time": to_iso(run.now_ms),
    }
    return {"event": {**defaults, **arguments["event"]}}


def hear(
    place: Position, keeper: StateStore, state: WalkState, task: ListenTask, *, told: bool
) -> Judgement[None]:
    """Let a path sleep until its listen has an event.

    `told`: what this message says about the listen is something else.
    """
    state.action = Action("heard", None, task.at)
    context = yield from stored(keeper, state)
    if not told:
        yield Report(
            token=place.token,
            node=task.at,
            status="waiting",
            lineage=place.lineage,
            metadata={"signal": EVENT, "key": task.at},
        )
    token = msgspec.structs.replace(place.token, current_node=task.at)
    place = msgspec.structs.replace(place, token=token, context=context)
    yield from suspend(place, address_of(EVENT, task.at), None)


def wait(
    place: Position, keeper: StateStore, state: WalkState, at: str, address: str
) -> Judgement[None]:
    """Let a path sleep until the end of what it has started is told."""
    state.action = Action("complete", None, at)
    context = yield from stored(keeper, state)
    name, key = read_address(address)
    yield Report(
        token=place.token,
        node=at,
        status="waiting",
        lineage=place.lineage,
        metadata={"signal": name, "key": key} if key else {"signal": name},
    )
    token = msgspec.structs.replace(place.token, current_node=at)
    yield from suspend(msgspec.structs.replace(place, token=token, context=context), address, None)


def woken(token: Token, now_ms: int) -> Judgement[None]:
    """A path has what it waited for: a message of its own takes it on."""
    found = yield from wait_result_of(token)
    if found is None or (found.value is None and found.error is None):
        return
    keeper, state = yield from opened(token)
    action = state.action
    if found.error is not None:
        fault = child_fault(found.error, action.at)
        state.action = Action("raise", fault.value(), action.at)
    else:
        state.action = msgspec.structs.replace(action, value=decode(found.value or b"null"))
    yield from go_on(keeper, state, position_of(token, now_ms), token.current_node, "heard")

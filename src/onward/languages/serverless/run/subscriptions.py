"""Subscriptions of a run to events: declared at its beginning, delivered as signals.

Each listen has a mailbox of its own, an address of the kernel's signals. Events that are published
from the beginning of the run on wait there until the listen is reached, each of them once.
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
from onward.languages.serverless.run.branches import load_state, publish_next, save_state
from onward.languages.serverless.run.event_filters import types_of
from onward.languages.serverless.run.state import Action, StateStore, WalkState
from onward.languages.serverless.run.variables import WalkContext
from onward.ports.nodes.events import Subscription

EVENT = "event:"
"""The name of signals that are events, which no other signal can have; the key is the listen's
pointer."""


def subscriptions_of(workflow: ServerlessWorkflow, first: Token) -> tuple[Subscription, ...]:
    """Return the subscriptions of a run. `first` is the token that it began with."""
    stripped = msgspec.structs.replace(
        first,
        workflow_definition=msgspec.UNSET,
        accumulated_context={},
        context_refs={},
        context_base=None,
        publish_id="",
        trouble=0,
    )
    token = encode_message(stripped)
    return tuple(
        Subscription(first.execution_id, address_of(EVENT, task.at), event_type, token)
        for task in workflow.tasks.values()
        if isinstance(task, ListenTask)
        for event_type in sorted(types_of(task.wanted))
    )


def add_event_defaults(arguments: Any, walk_context: WalkContext) -> Any:
    """Return the arguments of an emit, with the attributes that the event may leave out."""
    workflow = walk_context.workflow
    defaults = {
        "source": f"/{workflow.namespace}/{workflow.name}/{walk_context.run_id}",
        "time": to_iso(walk_context.now_ms),
    }
    return {"event": {**defaults, **arguments["event"]}}


def suspend_for_event(
    position: Position, store: StateStore, state: WalkState, task: ListenTask, *, reported: bool
) -> Judgement[None]:
    """Suspend a path until its listen has an event.

    `reported`: this message has reported another status of the listen already.
    """
    state.action = Action("heard", None, task.at)
    context = yield from save_state(store, state)
    if not reported:
        yield Report(
            token=position.token,
            node=task.at,
            status="waiting",
            lineage=position.lineage,
            metadata={"signal": EVENT, "key": task.at},
        )
    token = msgspec.structs.replace(position.token, current_node=task.at)
    position = msgspec.structs.replace(position, token=token, context=context)
    yield from suspend(position, address_of(EVENT, task.at), None)


def suspend_for_run(
    position: Position, store: StateStore, state: WalkState, at: str, address: str
) -> Judgement[None]:
    """Suspend a path until the run that it has started ends."""
    state.action = Action("complete", None, at)
    context = yield from save_state(store, state)
    name, key = read_address(address)
    yield Report(
        token=position.token,
        node=at,
        status="waiting",
        lineage=position.lineage,
        metadata={"signal": name, "key": key} if key else {"signal": name},
    )
    token = msgspec.structs.replace(position.token, current_node=at)
    yield from suspend(
        msgspec.structs.replace(position, token=token, context=context), address, None
    )


def wake(token: Token, now_ms: int) -> Judgement[None]:
    """Continue a path whose wait is over, in a message of its own."""
    found = yield from wait_result_of(token)
    if found is None or (found.value is None and found.error is None):
        return
    store, state = yield from load_state(token)
    action = state.action
    if found.error is not None:
        fault = child_fault(found.error, action.at)
        state.action = Action("raise", fault.value(), action.at)
    else:
        state.action = msgspec.structs.replace(action, value=decode(found.value or b"null"))
    yield from publish_next(store, state, position_of(token, now_ms), token.current_node, "heard")

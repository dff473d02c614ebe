"""Scopes: the branches of a fork, and tasks that must not take longer than they may.

Both stand on the barriers of the kernel. The token that opens a scope stays in the scope outside,
as the barrier's origin, and says there what is to be done when the scope is complete. A scope is
left early (an error, a race that is won, the end of the workflow, a time limit) by closing the
barrier from one side: the first to do so continues outside, and everything still running inside is
dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from onward.kernel.context import Context, read_context
from onward.kernel.effects import (
    CancelTimer,
    DiscardSplit,
    Judgement,
    Load,
    Overdue,
    Publish,
    Report,
    Scatter,
    SetTimer,
    StorePayload,
    ask,
)
from onward.kernel.flow import Edge, Position, children_of, read_origin, split_position
from onward.kernel.ids import derive
from onward.kernel.json import decode
from onward.kernel.messages import Token, item_frame
from onward.languages.serverless.errors import timeout_fault
from onward.languages.serverless.model import ServerlessWorkflow
from onward.languages.serverless.run.state import Action, StateStore, TaskFrame, WalkState
from onward.languages.serverless.run.stops import ATTEMPTED, LIMITED, Attempt, Limit, Spread
from onward.languages.serverless.run.variables import scope_variables

Inside = tuple[WalkState, str]
"""Where a path begins inside a scope, and the pointer of the task it begins at."""


def open_scope(
    workflow: ServerlessWorkflow,
    position: Position,
    store: StateStore,
    state: WalkState,
    stop: Spread | Limit | Attempt,
) -> Judgement[None]:
    """Open the scope that a walk has stopped for, and publish the first token of each path."""
    name, inside, limit_ms = _inside(workflow, state, stop)
    outside = msgspec.structs.replace(state, action=_when_complete(stop))
    context = yield from save_state(store, outside)
    origin = msgspec.structs.replace(
        position.token,
        workflow_definition=msgspec.UNSET,
        accumulated_context=context.inline,
        context_refs=context.refs,
        context_base=context.base,
    )
    sending = yield from ask(
        Scatter(
            scope=position.scope,
            lineage=position.lineage,
            split=position.unit,
            total=len(inside),
            window=len(inside),
            budget=None,
            origin=msgspec.json.encode(origin),
        )
    )
    if not sending:
        return
    if limit_ms is not None:
        timer = limit_timer(position, position.unit, stop.task.at, limit_ms)
        yield SetTimer(timer, position.now_ms + limit_ms)
    for index, (inner, at) in enumerate(inside):
        context = yield from save_state(store, inner)
        frame = item_frame(position.token.execution_id, position.unit, name, index, len(inside))
        unit = derive(position.unit, "item", index)
        lineage = (*position.lineage, frame)
        within = Position(position.token, unit, position.by, lineage, context, position.now_ms)
        yield Publish(child_token(within, at, "item"))


def report_waiting(position: Position, stop: Spread | Limit | Attempt) -> Judgement[None]:
    """Report that a task waits for the paths inside it."""
    yield Report(
        token=position.token,
        node=stop.task.at,
        status="waiting",
        lineage=position.lineage,
        details={"branches": len(stop.task.branches) if isinstance(stop, Spread) else 1},
    )


def _inside(
    workflow: ServerlessWorkflow, state: WalkState, stop: Spread | Limit | Attempt
) -> tuple[str, Sequence[Inside], int | None]:
    """Return a scope's name, its paths and its time limit."""
    variables = scope_variables(state, workflow)

    def path(action: Action, *frames: TaskFrame) -> WalkState:
        return WalkState(action, list(frames), state.input, state.context, variables)

    match stop:
        case Spread(task=fork):
            data = state.frames[-1].input
            paths = [
                (path(Action("enter", data, branch.at)), branch.at) for branch in fork.branches
            ]
            return fork.at, paths, None
        case Limit(task=task, raw=raw, limit_ms=limit_ms):
            paths = [(path(Action("enter", raw, task.at)), task.at)]
            return task.at + LIMITED, paths, limit_ms
        case Attempt(task=task, limit_ms=limit_ms):
            top = state.frames[-1]
            frame = TaskFrame(task.at, top.raw, top.input, top.began, phase="attempt")
            paths = [(path(Action("attempt", None, task.at), frame), task.at)]
            return task.at + ATTEMPTED, paths, limit_ms


def _when_complete(stop: Spread | Limit | Attempt) -> Action:
    match stop:
        case Spread():
            return Action("complete")
        case Limit(task=task):
            return Action("after", None, task.at)
        case Attempt():
            return Action("listed")


def scope_result(state: WalkState, output: Any, then: str) -> bytes:
    """Return the value that a complete path leaves in its scope."""
    return msgspec.json.encode({"output": output, "context": state.context, "then": then})


def join(origin: Token, values: list[bytes], position: Position) -> Judgement[None]:
    """Every path of a scope is complete: continue outside."""
    store, state = yield from load_state(origin)
    results = [decode(value) for value in values]
    action = state.action
    if action.kind == "complete":
        # Branches ran side by side, each with its own copy of the context: none of them wins.
        state.action = Action("complete", [result["output"] for result in results])
    else:
        (result,) = results
        state.context = result["context"]
        state.action = msgspec.structs.replace(action, value=result["output"], then=result["then"])
    yield CancelTimer(_timer_id(origin.token_id))
    yield from publish_next(store, state, position, origin.current_node, "joined")


def escape(position: Position, leaving: WalkState) -> Judgement[None]:
    """Leave a scope before it is complete; the path's action is done outside."""
    frame = position.lineage[-1]
    data = yield from ask(Overdue(split=frame.split_token, by=position.by))
    if data is None:
        return
    origin = read_origin(data)
    store, state = yield from load_state(origin)
    if leaving.action.kind == "end" or state.action.kind != "complete":
        state.context = leaving.context
    state.action = leaving.action
    outside = split_position(origin, position.by, position.now_ms)
    yield CancelTimer(_timer_id(frame.split_token))
    yield from publish_next(store, state, outside, origin.current_node, "escaped")
    yield from ask(DiscardSplit(split=frame.split_token))


def expire(token: Token, now_ms: int) -> Judgement[None]:
    """End a scope whose time is over: the error is raised outside, where the scope was opened."""
    split = token.from_edge
    data = yield from ask(Overdue(split=split, by=token.token_id))
    if data is None:
        return
    origin = read_origin(data)
    store, state = yield from load_state(origin)
    state.action = Action("raise", timeout_fault(token.current_node, token.span[0]).value())
    outside = split_position(origin, token.token_id, now_ms)
    yield from publish_next(store, state, outside, origin.current_node, "overdue")
    yield from ask(DiscardSplit(split=split))


def limit_timer(position: Position, split: str, at: str, limit_ms: int) -> Token:
    """Return the token of a time limit: of a scope, or of the run (`split` "")."""
    return msgspec.structs.replace(
        position.token,
        current_node=at,
        signal="timeout",
        token_id=_timer_id(split or position.token.execution_id),
        publish_id="",
        parent=derive(split or position.token.execution_id, "limit", "parent"),
        outcome="timeout",
        siblings=1,
        from_edge=split,
        workflow_definition=msgspec.UNSET,
        accumulated_context={},
        context_refs={},
        context_base=None,
        span=(limit_ms, 0, 0),
    )


def _timer_id(split: str) -> str:
    return derive(split, "limit")


# -- messages ------------------------------------------------------------------------------------


def publish_next(
    store: StateStore, state: WalkState, position: Position, at: str, tag: str
) -> Judgement[None]:
    """Publish the one token that continues a path."""
    context = yield from save_state(store, state)
    position = msgspec.structs.replace(position, context=context)
    yield Publish(child_token(position, state.action.at or at, tag))


def child_token(position: Position, at: str, tag: str) -> Token:
    """Return the token that continues from `position` at the task `at`."""
    (token,) = children_of(position, [Edge(at, position.token.current_node, at)], tag)
    return token


def save_state(store: StateStore, state: WalkState) -> Judgement[Context]:
    """Save what a state refers to, and return the context that carries the state."""
    context, payloads = store.write(state)
    for payload in payloads:
        yield StorePayload(payload)
    return context


def load_state(token: Token) -> Judgement[tuple[StateStore, WalkState]]:
    """Return the state of a token that is not being visited, with everything it refers to."""
    view = yield from _view(token.context)
    store = StateStore(token.context, view)
    return store, store.read()


def _view(context: Context) -> Judgement[dict[str, Any]]:
    view: dict[str, Any] = {}
    if context.base is not None:
        body = yield from ask(Load(ref=context.base))
        view = yield from _view(read_context(bytes(body)))
    for name, ref in context.refs.items():
        body = yield from ask(Load(ref=ref))
        view[name[1:]] = decode(body)
    for name, raw in context.inline.items():
        view[name[1:]] = decode(raw)
    return view

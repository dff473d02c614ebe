"""A workflow of the Serverless Workflow DSL as a Program: walk the tree from stop to stop.

A token carries a path's whole state. Handling it walks through control flow, up to and including
one activity; settling that activity walks to the next stop. So a chain of ten `set` tasks and a
call is one message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from onward.kernel import flow
from onward.kernel.context import Context, Payload
from onward.kernel.effects import Judgement, Publish, Report, SetTimer, Slot, StorePayload
from onward.kernel.flow import Position, position_of
from onward.kernel.ids import derive, fingerprint
from onward.kernel.json import decode, encode
from onward.kernel.lru import Lru
from onward.kernel.messages import Token
from onward.kernel.outcome import Arrived, Awaits, Failed, Outcome, Succeeded
from onward.kernel.program import Activity
from onward.kernel.signal_waits import address_of
from onward.languages.serverless.errors import Fault, FaultError, fault_of, timeout_fault, to_error
from onward.languages.serverless.model import (
    CallTask,
    ConsumeTask,
    ForkTask,
    RunTask,
    ServerlessWorkflow,
)
from onward.languages.serverless.picture import picture_of
from onward.languages.serverless.run import branches, subscriptions
from onward.languages.serverless.run.activities import ActivityBuilder
from onward.languages.serverless.run.state import Action, Kind, StateStore, first_context
from onward.languages.serverless.run.stops import (
    ATTEMPTED,
    LIMITED,
    Act,
    Attempt,
    AwaitRun,
    BeginListening,
    Escape,
    Go,
    Hear,
    Limit,
    PathEnd,
    RunFailure,
    Sleep,
    Spread,
    Stop,
)
from onward.languages.serverless.run.variables import WalkContext
from onward.languages.serverless.run.walk import Walk
from onward.ports.nodes.node import Catalogue

MOST_WALKS = 1024
"""How many walks are cached from their step to their settling; an evicted one is walked again."""
OUTPUT = "output"
"""The name under which a run's output is found in its final context."""


class _WalkStop(msgspec.Struct, frozen=True):
    """A walk at its stop, and the node of its activity; no stop when the path leaves its scope."""

    walk: Walk
    store: StateStore
    stop: Stop | None
    node: Any = None


class ServerlessProgram:
    """A compiled workflow."""

    def __init__(self, workflow: ServerlessWorkflow, catalogue: Catalogue) -> None:
        self.workflow = workflow
        self.workflow_id = workflow.id
        self.ref = fingerprint(workflow.source)
        self.document = picture_of(workflow)
        """The workflow as a graph, to be drawn and watched."""
        self._builder = ActivityBuilder(workflow, catalogue)
        self._walks: Lru[tuple[str, str], _WalkStop] = Lru(MOST_WALKS)

    # -- before an activity --------------------------------------------------------------------

    def start(
        self, execution_id: str, given: Raw, *, now_ms: int
    ) -> tuple[list[Token], list[Payload]]:
        """Return the one token a run begins with."""
        context, payload = first_context(given)
        first = self.workflow.root.tasks[0].at
        origin = derive(execution_id, "start")
        token = Token(
            workflow_id=self.workflow_id,
            execution_id=execution_id,
            current_node=first,
            accumulated_context=context.inline,
            context_refs=context.refs,
            definition_ref=self.ref,
            token_id=derive(origin, first),
            parent=origin,
            outcome="start",
            started_at=now_ms,
            sent_at=now_ms,
        )
        return [token], [payload] if payload else []

    def has_node(self, token: Token) -> bool:
        """Return whether the token's task, and every scope on its lineage, is in the workflow."""
        tasks = self.workflow.tasks
        return token.current_node in tasks and all(
            frame.split_node_id.removesuffix(LIMITED).removesuffix(ATTEMPTED) in tasks
            for frame in token.lineage_stack
        )

    def needs(self, token: Token) -> None:
        """Return that everything a token carries is read: it is the state and nothing else."""
        return

    def input_of(self, token: Token) -> str:
        """Return the entry that is the run's input, while it has not begun."""
        return "input"

    def type_of(self, token: Token) -> str:
        """Return the kind of the token's task."""
        task = self.workflow.tasks.get(token.current_node)
        return "" if task is None else task.kind

    def runs_activity(self, token: Token) -> bool:
        """Return whether the token's task is an activity."""
        return isinstance(self.workflow.tasks.get(token.current_node), CallTask)

    def step(self, token: Token, view: Mapping[str, Any]) -> Activity | Outcome:
        """Walk to the next stop; return its activity, or that there is none."""
        stopped = self._walk(token, view)
        self._walks.put((token.state_id, token.token_id), stopped)
        if isinstance(stopped.stop, Act):
            stop = stopped.stop
            return Activity(stopped.node, None, stop.timeout_s, secrets=stop.task.secrets)
        if isinstance(stopped.stop, BeginListening):
            return Activity(stopped.node, None, None)
        return Arrived()

    def _walk(self, token: Token, view: Mapping[str, Any]) -> _WalkStop:
        store = StateStore(token.context, view)
        state = store.read()
        context = WalkContext(self.workflow, token.execution_id, token.started_at, token.sent_at)
        scope = token.lineage_stack[-1].split_node_id if token.lineage_stack else ""
        walk = Walk(context, state, scope)
        if state.escaping:
            return _WalkStop(walk, store, None)
        stop = walk.go()
        while isinstance(stop, Act):
            try:
                return _WalkStop(walk, store, stop, self._builder.build(stop, context))
            except FaultError as error:
                stop = walk.go(Action("raise", error.fault.value()))
        node = None
        if isinstance(stop, BeginListening):
            node = self._builder.build_subscription(token)
        return _WalkStop(walk, store, stop, node)

    # -- after it ------------------------------------------------------------------------------

    def settle(
        self, token: Token, outcome: Outcome, *, now_ms: int, dice: float
    ) -> Judgement[None]:
        """Walk from the outcome of an activity to the next stop, and yield what that asks for."""
        stopped = self._walks.pop((token.state_id, token.token_id))
        if stopped is None:
            store, _ = yield from branches.load_state(token)
            stopped = self._walk(token, store.view)
        position = position_of(token, now_ms)
        stop = stopped.stop
        if stop is None:
            yield from branches.escape(position, stopped.walk.state)
            return
        if isinstance(stop, Act):
            stop = self._resume(stopped.walk, stop, outcome, now_ms)
        elif isinstance(stop, BeginListening):
            stop = self._after_subscription(stopped.walk, stop, outcome)
        yield from self._report(position, stopped.walk)
        yield from self._follow(position, stopped, stop, dice)

    def _resume(self, walk: Walk, stop: Act, outcome: Outcome, now_ms: int) -> Stop:
        walk.acted = True
        walk.context.now_ms = now_ms
        match outcome:
            case Succeeded(output):
                value = decode(output) if isinstance(output, Raw) else output
                if isinstance(stop.task, RunTask) and not stop.task.awaited:
                    value = walk.state.frames[-1].input
                kind: Kind = "taken" if isinstance(stop.task, ConsumeTask) else "complete"
                return walk.go(Action(kind, value))
            case Failed(error):
                return walk.go(Action("raise", fault_of(error, stop.task.at).value()))
            case Awaits(name=name, key=key):
                return Go(Action("await", address_of(name, key), stop.task.at))
            case _:
                raise TypeError(f"an activity cannot have the outcome {type(outcome).__name__}")

    def _after_subscription(self, walk: Walk, stop: BeginListening, outcome: Outcome) -> Stop:
        if not isinstance(outcome, Failed):
            return stop.then
        return walk.go(Action("raise", fault_of(outcome.error, "").value()))

    def _report(self, position: Position, walk: Walk) -> Judgement[None]:
        for at, visit in walk.visits.items():
            failed = visit.fault is not None
            yield Report(
                token=position.token,
                node=at,
                status="failed" if failed else "success",
                lineage=position.lineage,
                output=None if failed else encode(visit.output),
                error=to_error(visit.fault) if visit.fault is not None else None,
                details={"visits": visit.times} if visit.times > 1 else None,
                metadata={"correlation_keys": visit.keys} if visit.keys else None,
            )

    def _follow(
        self, position: Position, stopped: _WalkStop, stop: Stop, dice: float
    ) -> Judgement[None]:
        state, store, token = stopped.walk.state, stopped.store, position.token
        match stop:
            case Go(action, limit_ms):
                state.action = action
                if limit_ms is not None:
                    timer = branches.limit_timer(position, "", token.current_node, limit_ms)
                    yield SetTimer(timer, token.started_at + limit_ms)
                yield from branches.publish_next(store, state, position, token.current_node, "next")
            case Sleep():
                yield from self._sleep(position, stopped, stop, dice)
            case Spread() | Limit() | Attempt():
                if stop.task.at not in stopped.walk.visits:
                    yield from branches.report_waiting(position, stop)
                yield from branches.open_scope(self.workflow, position, store, state, stop)
            case PathEnd():
                yield from self._done(position, stopped, stop)
            case Escape(action):
                yield from self._escape(position, stopped, action)
            case RunFailure(fault):
                yield from self._halt(position, fault, state.context)
            case Hear(task):
                # A status that this message reports of the listen is then its last.
                reported = task.at in stopped.walk.visits
                yield from subscriptions.suspend_for_event(
                    position, store, state, task, reported=reported
                )
            case AwaitRun(at, address):
                yield from subscriptions.suspend_for_run(position, store, state, at, address)
            case Act() | BeginListening():
                raise TypeError("a walk that has acted stops before the next activity")
            case _:
                assert_never(stop)

    def _done(self, position: Position, stopped: _WalkStop, stop: PathEnd) -> Judgement[None]:
        state = stopped.walk.state
        if not position.lineage:
            yield from self._complete(position, stop.output, state.context)
            return
        fork = self.workflow.tasks.get(position.lineage[-1].split_node_id)
        if isinstance(fork, ForkTask) and fork.compete:
            yield from self._escape(position, stopped, Action("complete", stop.output))
        else:
            left = branches.scope_result(state, stop.output, stop.then)
            yield from flow.leave(self, position, left)

    def _escape(self, position: Position, stopped: _WalkStop, action: Action) -> Judgement[None]:
        """Leave the scope by a message of its own: handled twice, it does the same again."""
        state = stopped.walk.state
        state.frames, state.action, state.escaping = [], action, True
        yield from branches.publish_next(
            stopped.store, state, position, position.token.current_node, "escape"
        )

    def _sleep(
        self, position: Position, stopped: _WalkStop, stop: Sleep, dice: float
    ) -> Judgement[None]:
        state, token = stopped.walk.state, position.token
        state.action = stop.action
        due_ms = stopped.walk.context.now_ms + stop.delay_ms + round(stop.jitter_ms * dice)
        context = yield from branches.save_state(stopped.store, state)
        child = branches.child_token(
            msgspec.structs.replace(position, context=context),
            stop.at,
            "retry" if stop.fault else "woke",
        )
        child = msgspec.structs.replace(child, signal="resume", sent_at=max(due_ms, token.sent_at))
        if (
            stop.at not in stopped.walk.visits
        ):  # the status that this token has reported is its last
            yield Report(
                token=token,
                node=stop.at,
                status="waiting",
                lineage=position.lineage,
                metadata={"resume_at": due_ms},
                details={"retry": state.frames[-1].attempt} if stop.fault else None,
            )
        if stop.delay_ms or stop.jitter_ms:
            yield SetTimer(child, due_ms)
        else:
            yield Publish(child)

    def _complete(self, position: Position, output: Any, exported: Any) -> Judgement[None]:
        context = Context()
        for name, value in ((OUTPUT, output), ("context", exported)):
            if name == OUTPUT or value is not None:
                context, payload = context.add(f"${name}", encode(value))
                if payload is not None:
                    yield StorePayload(payload)
        position = msgspec.structs.replace(position, context=context)
        yield from flow.leave(self, position, flow.leaf_of(OUTPUT, 0, position))

    def _halt(self, position: Position, fault: Fault, exported: Any) -> Judgement[None]:
        """End the run with an error; its context is stored, its inner state is dropped."""
        context = Context()
        if exported is not None:
            context, payload = context.add("$context", encode(exported))
            if payload is not None:
                yield StorePayload(payload)
        position = msgspec.structs.replace(position, context=context)
        yield from flow.halt(self, position, fault.instance, to_error(fault), "halted")

    # -- signals and second deliveries ---------------------------------------------------------

    def wake(self, token: Token, *, now_ms: int) -> Judgement[None]:
        """Yield what follows from a time limit that is over: of a scope, or of the whole run."""
        if token.signal == "awaited":
            yield from subscriptions.wake(token, now_ms)
            return
        if token.from_edge:
            yield from branches.expire(token, now_ms)
            return
        fault = timeout_fault("/", token.span[0])
        yield from flow.halt(self, position_of(token, now_ms), "", to_error(fault), "failed")

    def finish(self, token: Token, depth: int, *, now_ms: int) -> Judgement[None]:
        """Yield again what followed when this token closed the scope at `depth`."""
        yield from flow.finish(self, position_of(token, now_ms), depth)

    # -- what only this language can say about its scopes --------------------------------------

    def item_value(self, origin: str, left: dict[str, bytes]) -> bytes:
        """Return what the one path of a scope left behind."""
        return next(value for value in left.values() if value)

    def item_error(self, origin: str, error: bytes) -> bytes:
        """Return the value of a scope that was aborted, which only a foreign message can do."""
        return error

    def after_fill(self, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
        """Yield nothing: what follows a scope reports that it is complete."""
        yield from ()

    def after_join(self, origin: Token, values: list[bytes], position: Position) -> Judgement[None]:
        """Yield what follows a scope whose paths are all complete."""
        yield from branches.join(origin, values, position)

    def after_overspend(self, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
        """Yield nothing: scopes have no budget of failures."""
        yield from ()

"""One seed, one tree: generate a document, run it under faults, compare it with the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from onward.kernel.coordination import Coordination
from onward.kernel.messages import CompletionMessage, Token
from onward.kernel.outcome import Awaits, Failed, NodeError, Outcome, Succeeded
from onward.kernel.program import Activity
from onward.kernel.signal_waits import SignalContent, address_of, signal_token
from onward.languages.serverless.model import ListenTask, ServerlessWorkflow
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.read.document import parse_definition
from onward.languages.serverless.run.subscriptions import EVENT
from onward.nodes.serverless.catalogue import calls
from onward.nodes.serverless.events import EmitEvent, Subscribe
from onward.nodes.serverless.http import CallHttp
from onward.nodes.serverless.run import RunWorkflow
from onward.ports.nodes.events import Subscription
from onward.simulation.checkers import BrokenError
from onward.simulation.lost_state import RuinedWorld
from onward.simulation.serverless.generate import generate_tree
from onward.simulation.serverless.plan import TreePlan, answer_of, callee_of
from onward.simulation.serverless.reference import EndlessError, TreeReference
from onward.simulation.serverless.variables import (
    Expected,
    ExpectedError,
    ListenProgress,
    fault_of,
)
from onward.simulation.signals import Send
from onward.simulation.trial import Rules, run_and_check
from onward.simulation.world import BRUTAL, CALM, HARSH, World

MAX_PLANS = 30
"""How many plans of a seed may be endless."""
RUN_INPUT = {"n": 0, "t": []}
WORLDS = ("calm", "harsh", "brutal", "ruined")


@dataclass(frozen=True, slots=True)
class TreeTrial:
    """The result of one seed."""

    tasks: int
    steps: int
    crashes: int
    compared: int
    """In how many of its worlds the result follows from the plan alone, and was compared."""


class _Case(NamedTuple):
    """A plan that ends, and how."""

    plan: TreePlan
    workflow: ServerlessWorkflow
    reference: TreeReference
    expected: Expected


class SimulatedActivities:
    """The outcomes of the activities of one world.

    A call counts the messages that make it, not how often each of them is executed: so a call that
    is repeated because a worker died has the same outcome, and one that is retried may not.
    """

    def __init__(self, plan: TreePlan) -> None:
        self.plan = plan
        self.visits: dict[str, list[str]] = {}
        self.subscriptions: Sequence[Subscription] = ()
        self.world: World | None = None

    def behave(self, token: Token, activity: Activity, dice: Random) -> Outcome:
        """Return the outcome of an activity."""
        match activity.node:
            case Subscribe(subscriptions=subscriptions):
                self.subscriptions = subscriptions
                return Succeeded(None)
            case EmitEvent(event=event):
                self._publish(token, event)
                return Succeeded(event)
            case CallHttp(endpoint=endpoint, body=body):
                return self._call(token, callee_of({"endpoint": endpoint}), body, dice)
            case RunWorkflow(workflow=workflow, input=given):
                return self._run(token, callee_of({"workflow": workflow}), given)
            case other:
                raise TypeError(f"a simulated tree has no {type(other).__name__}")

    def _visit(self, token: Token, name: str) -> tuple[int, int | None]:
        """Return which visit this is, and the status with which it fails, if it does."""
        tokens = self.visits.setdefault(name, [])
        if token.token_id not in tokens:
            tokens.append(token.token_id)
        visit = tokens.index(token.token_id) + 1
        return visit, self.plan.failures.get(name, {}).get(visit)

    def _run(self, token: Token, name: str, given: Any) -> Outcome:
        """Start another run: a signal reports its end, at its time."""
        visit, status = self._visit(token, name)
        world, address = self._world_of_run(), f"run:{token.token_id}"
        due_ms = world.now_ms + self.plan.lengths[name]
        if status is None:
            value = Raw(msgspec.json.encode(answer_of(name, visit, given)))
            sent = SignalContent(at_ms=due_ms, value=value)
        else:
            fault = {"details": fault_of("communication", status, "/do/0/inside")}
            error = NodeError(f"{name} fails as planned", "RUN_FAILED", {"error": fault})
            sent = SignalContent(at_ms=due_ms, error=error)
        world.send_at(due_ms, signal_token(world.start[0], address, "ended", sent))
        return Awaits(name=address)

    def _world_of_run(self) -> World:
        if self.world is None:
            raise TypeError("these activities have no world yet")
        return self.world

    def _call(self, token: Token, name: str, body: Any, dice: Random) -> Outcome:
        visit, status = self._visit(token, name)
        if self.plan.fickle and dice.random() < 0.3:
            status = 503
        if status is not None:
            return Failed(NodeError(f"{name} fails as planned", "HTTP_STATUS", {"status": status}))
        return Succeeded(answer_of(name, visit, body))

    def _publish(self, token: Token, event: dict[str, Any]) -> None:
        world = self._world_of_run()
        sent = SignalContent(at_ms=world.now_ms, value=Raw(msgspec.json.encode(event)))
        for subscription in self.subscriptions:
            if subscription.event_type in ("", event["type"]):
                world.send(signal_token(world.start[0], subscription.address, token.token_id, sent))


def try_tree(seed: int, rules: Rules = Coordination) -> TreeTrial:
    """Run one seed; raises BrokenError, with the line that repeats it, if anything is wrong."""
    plan, workflow, reference, expected = _find_case(seed)
    sends = _signals_of(plan, workflow)
    quiet = not sends and not workflow.listens and not reference.timed
    steps = crashes = compared = 0
    # A run that is rebuilt receives at once what had arrived over time: where a limit is then not
    # exceeded, it may continue and wait for an event that is not planned.
    worlds = WORLDS[:-1] if workflow.listens and reference.timed else WORLDS
    for name in worlds:
        activities = SimulatedActivities(plan)
        program = ServerlessProgram(workflow, calls)
        world = _world(name, program, activities, seed * 7 + 1, rules, sends)
        activities.world = world
        try:
            witness = run_and_check(world, program, RUN_INPUT)
            certain = witness.comparable and not reference.tied and not plan.fickle
            if certain and (quiet or name != "ruined"):
                check_ending(witness.completions[0], expected)
                check_calls(activities, expected)
                compared += 1
        except AssertionError as problem:
            repeat = f"repeat with: ./onward simulate --language serverless --seed {seed}"
            raise BrokenError(f"seed {seed} ({name}): {problem}\n{repeat}") from problem
        steps += witness.steps
        crashes += witness.crashes
    return TreeTrial(len(workflow.tasks) - 1, steps, crashes, compared)


def _find_case(seed: int) -> _Case:
    """Return the first plan of a seed that ends in good time."""
    for number in range(MAX_PLANS):
        plan = generate_tree(seed, number)
        workflow = parse_definition(plan.document)
        reference = TreeReference(plan, workflow)
        try:
            return _Case(plan, workflow, reference, reference.run(RUN_INPUT))
        except EndlessError:
            continue
    raise BrokenError(f"seed {seed}: none of its {MAX_PLANS} plans ends")


def _world(
    name: str,
    program: ServerlessProgram,
    activities: SimulatedActivities,
    seed: int,
    rules: Rules,
    sends: list[Send],
) -> World:
    if name == "ruined":
        return RuinedWorld(program, activities.behave, seed, rules, sends=sends)
    faults = {"calm": CALM, "harsh": HARSH, "brutal": BRUTAL}[name]
    return World(program, activities.behave, seed, faults, rules, sends)


def _signals_of(plan: TreePlan, workflow: ServerlessWorkflow) -> list[Send]:
    """Return the signals of the events of a plan, one for each listen that they reach."""
    signals = []
    for task in workflow.tasks.values():
        if not isinstance(task, ListenTask):
            continue
        types = ListenProgress(task.wanted).types
        for number, event in enumerate(plan.events):
            moments = [event.at_ms] if event.again_ms is None else [event.at_ms, event.again_ms]
            value = {"type": event.type, "data": event.data}
            if event.type in types:
                address = address_of(EVENT, task.at)
                signals += [Send(ms / 1000, address, f"e{number}", value) for ms in moments]
    return signals


def check_ending(message: CompletionMessage, expected: Expected) -> None:
    """Raise BrokenError unless a run ended as it must."""
    context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
    error = None
    if message.error is not None:
        details = message.error.details
        error = tuple(details.get(name) for name in ExpectedError._fields)
    got: dict[str, Any] = {"status": message.status, "error": error}
    want: dict[str, Any] = {"status": expected.status, "error": expected.error}
    if expected.status == "completed":
        got["output"], want["output"] = context.get("$output"), expected.output
    if expected.status != "failed":
        got["context"], want["context"] = context.get("$context"), expected.context
    wrong = [name for name in want if got[name] != want[name]]
    if wrong:
        lines = [f"  {name}: got {got[name]!r}, expected {want[name]!r}" for name in wrong]
        raise BrokenError("the run did not end as it must:\n" + "\n".join(lines))


def check_calls(activities: SimulatedActivities, expected: Expected) -> None:
    """Raise BrokenError unless every call was made as often as it must be."""
    for name in sorted({*activities.visits, *expected.visits}):
        visits, wanted = len(activities.visits.get(name, ())), expected.visits[name]
        if visits != wanted:
            raise BrokenError(f"{name} was called {visits} times, expected {wanted}")

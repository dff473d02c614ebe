"""One seed, one tree: generate a document, run it under faults, compare it with the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

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
from onward.simulation.serverless.plan import TreePlan, answered, name_of
from onward.simulation.serverless.reference import Ear, EndlessError, TreeReference
from onward.simulation.serverless.variables import Expected, fault_of
from onward.simulation.signals import Send
from onward.simulation.trial import Rules, judged
from onward.simulation.world import BRUTAL, CALM, HARSH, World

TRIES = 30
"""How many plans of a seed may be of no use."""
GIVEN = {"n": 0, "t": []}
WORLDS = ("calm", "harsh", "brutal", "ruined")


@dataclass(frozen=True, slots=True)
class TreeTrial:
    """What a seed showed."""

    tasks: int
    steps: int
    crashes: int
    compared: int
    """In how many of its worlds the result follows from the plan alone, and was compared."""


class Surroundings:
    """What the activities of one world come to.

    A call counts the messages that make it, not how often each of them is executed: so a call that
    is made again because a worker died comes to the same, and one that is tried again may not.
    """

    def __init__(self, plan: TreePlan) -> None:
        self.plan = plan
        self.visits: dict[str, list[str]] = {}
        self.subscriptions: Sequence[Subscription] = ()
        self.world: World | None = None

    def behave(self, token: Token, activity: Activity, dice: Random) -> Outcome:
        """Return what an activity comes to."""
        match activity.node:
            case Subscribe(subscriptions=subscriptions):
                self.subscriptions = subscriptions
                return Succeeded(None)
            case EmitEvent(event=event):
                self._publish(token, event)
                return Succeeded(event)
            case CallHttp(endpoint=endpoint, body=body):
                return self._call(token, name_of({"endpoint": endpoint}), body, dice)
            case RunWorkflow(workflow=workflow, input=given):
                return self._run(token, name_of({"workflow": workflow}), given)
            case other:
                raise TypeError(f"a simulated tree has no {type(other).__name__}")

    def _visit(self, token: Token, name: str) -> tuple[int, int | None]:
        """Return which visit this is, and the status with which it fails, if it does."""
        made = self.visits.setdefault(name, [])
        if token.token_id not in made:
            made.append(token.token_id)
        visit = made.index(token.token_id) + 1
        return visit, self.plan.failures.get(name, {}).get(visit)

    def _run(self, token: Token, name: str, given: Any) -> Outcome:
        """Start another run: its end is told as a signal, when its time has come."""
        visit, status = self._visit(token, name)
        world, address = self._placed(), f"run:{token.token_id}"
        due_ms = world.now_ms + self.plan.lengths[name]
        if status is None:
            value = Raw(msgspec.json.encode(answered(name, visit, given)))
            sent = SignalContent(at_ms=due_ms, value=value)
        else:
            fault = {"details": fault_of("communication", status, "/do/0/inside")}
            error = NodeError(f"{name} fails as planned", "RUN_FAILED", {"error": fault})
            sent = SignalContent(at_ms=due_ms, error=error)
        world.send_at(due_ms, signal_token(world.start[0], address, "ended", sent))
        return Awaits(name=address)

    def _placed(self) -> World:
        if self.world is None:
            raise TypeError("it is not in a world yet")
        return self.world

    def _call(self, token: Token, name: str, body: Any, dice: Random) -> Outcome:
        visit, status = self._visit(token, name)
        if self.plan.fickle and dice.random() < 0.3:
            status = 503
        if status is not None:
            return Failed(NodeError(f"{name} fails as planned", "HTTP_STATUS", {"status": status}))
        return Succeeded(answered(name, visit, body))

    def _publish(self, token: Token, event: dict[str, Any]) -> None:
        world = self._placed()
        sent = SignalContent(at_ms=world.now_ms, value=Raw(msgspec.json.encode(event)))
        for subscription in self.subscriptions:
            if subscription.event_type in ("", event["type"]):
                world.send(signal_token(world.start[0], subscription.address, token.token_id, sent))


def try_tree(seed: int, rules: Rules = Coordination) -> TreeTrial:
    """Run one seed; raises BrokenError, with the line that repeats it, if anything is wrong."""
    plan, workflow, expected, reference = _useful(seed)
    sends = _sends(plan, workflow)
    quiet = not sends and not workflow.listens and not reference.timed
    steps = crashes = compared = 0
    # A run that is rebuilt hears at once what came over time: where a limit is no longer over, it
    # may go on to wait for an event that nobody has planned.
    worlds = WORLDS[:-1] if workflow.listens and reference.timed else WORLDS
    for name in worlds:
        around = Surroundings(plan)
        program = ServerlessProgram(workflow, calls)
        world = _world(name, program, around, seed * 7 + 1, rules, sends)
        around.world = world
        try:
            witness = judged(world, program, GIVEN)
            certain = witness.comparable and not reference.tied and not plan.fickle
            if certain and (quiet or name != "ruined"):
                check_ending(witness.completions[0], expected)
                check_calls(around, expected)
                compared += 1
        except AssertionError as problem:
            repeat = f"repeat with: ./onward simulate --language serverless --seed {seed}"
            raise BrokenError(f"seed {seed} ({name}): {problem}\n{repeat}") from problem
        steps += witness.steps
        crashes += witness.crashes
    return TreeTrial(len(workflow.tasks) - 1, steps, crashes, compared)


def _useful(seed: int) -> tuple[TreePlan, ServerlessWorkflow, Expected, TreeReference]:
    """Return the first plan of a seed that ends in good time, and how."""
    for again in range(TRIES):
        plan = generate_tree(seed, again)
        workflow = parse_definition(plan.document)
        reference = TreeReference(plan, workflow)
        try:
            return plan, workflow, reference.run(GIVEN), reference
        except EndlessError:
            continue
    raise BrokenError(f"seed {seed}: none of its {TRIES} plans ends")


def _world(
    name: str,
    program: ServerlessProgram,
    around: Surroundings,
    seed: int,
    rules: Rules,
    sends: list[Send],
) -> World:
    if name == "ruined":
        return RuinedWorld(program, around.behave, seed, rules, sends=sends)
    faults = {"calm": CALM, "harsh": HARSH, "brutal": BRUTAL}[name]
    return World(program, around.behave, seed, faults, rules, sends)


def _sends(plan: TreePlan, workflow: ServerlessWorkflow) -> list[Send]:
    """Return the signals that the events of a plan come to, one for each listen they reach."""
    found = []
    for task in workflow.tasks.values():
        if not isinstance(task, ListenTask):
            continue
        types = Ear(task.wanted).types
        for number, event in enumerate(plan.events):
            moments = [event.at_ms] if event.again_ms is None else [event.at_ms, event.again_ms]
            value = {"type": event.type, "data": event.data}
            if event.type in types:
                address = address_of(EVENT, task.at)
                found += [Send(ms / 1000, address, f"e{number}", value) for ms in moments]
    return found


def check_ending(message: CompletionMessage, expected: Expected) -> None:
    """Raise BrokenError unless a run ended as it must."""
    context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
    error = None
    if message.error is not None:
        details = message.error.details
        error = (details.get("type"), details.get("status"), details.get("instance"))
    got: dict[str, Any] = {"status": message.status, "error": error}
    want: dict[str, Any] = {"status": expected.status, "error": expected.error}
    if expected.status == "completed":
        got["output"], want["output"] = context.get("$output"), expected.output
    if expected.status != "failed":
        got["context"], want["context"] = context.get("$context"), expected.context
    wrong = [name for name in want if got[name] != want[name]]
    if wrong:
        lines = [f"  {name}: got {got[name]!r}, expected {want[name]!r}" for name in wrong]
        raise BrokenError("the run ended otherwise than it must:\n" + "\n".join(lines))


def check_calls(around: Surroundings, expected: Expected) -> None:
    """Raise BrokenError unless every call was made as often as it must be."""
    for name in sorted({*around.visits, *expected.visits}):
        made, wanted = len(around.visits.get(name, ())), expected.visits[name]
        if made != wanted:
            raise BrokenError(f"{name} was called {made} times, expected {wanted}")

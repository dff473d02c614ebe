"""The simulation of a user's own workflow: its activities are stubs, its faults are real.

The same seed is run without faults and with them, and both must end the same way. A stub always has
the same outcome for the same visit, so a difference can only come from the engine. Where a workflow
races (a merge that waits for some, a node with several incoming edges) two correct runs may differ,
and only the invariants of every run are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from onward.kernel.ids import derive
from onward.kernel.lineage import describe
from onward.kernel.messages import CompletionMessage, Token
from onward.kernel.outcome import Failed, NodeError, Outcome, Succeeded
from onward.kernel.program import Activity
from onward.languages.graph.control_nodes import MergeNode
from onward.languages.graph.program import GraphProgram
from onward.languages.serverless.model import (
    Catch,
    ConsumeTask,
    ForkTask,
    ListenTask,
    Retry,
    Task,
    TryTask,
)
from onward.languages.serverless.program import ServerlessProgram
from onward.simulation.checkers import BrokenError, comparable_value
from onward.simulation.trial import run_and_check
from onward.simulation.world import CALM, HARSH, Behave, World

AnyProgram = GraphProgram | ServerlessProgram
FAILING_SHARE = 0.1
"""The share of stubbed visits that fail."""

STUBS: dict[str, dict[str, Any]] = {
    "HttpNode": {"status": 200, "headers": {}, "body": {}, "duration_ms": 0},
    "SmtpNode": {"sent": True, "message_id": "<stub@onward>", "accepted": []},
}


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result of one seed."""

    status: str
    code: str
    """The error code of a run that did not complete."""
    steps: int
    crashes: int


def rehearse(program: AnyProgram, seed: int, given: Any) -> Rehearsal:
    """Run one seed without faults and with them; raises BrokenError when the ends differ."""
    endings: list[CompletionMessage] = []
    steps = crashes = 0
    for faults in (CALM, HARSH):
        world = World(program, stub_behaviour(seed), seed, faults)
        try:
            witness = run_and_check(world, program, given)
        except AssertionError as problem:
            raise BrokenError(f"seed {seed}: {problem}") from problem
        endings.append(witness.completions[0])
        steps += witness.steps
        crashes += witness.crashes
    calm, harsh = endings
    if not races(program) and _shown(calm) != _shown(harsh):
        raise BrokenError(
            f"seed {seed}: the run ends {_shown(calm)} undisturbed, but {_shown(harsh)} with faults"
        )
    return Rehearsal(calm.status, calm.error.code if calm.error else "", steps, crashes)


def stub_behaviour(seed: int) -> Behave:
    """Return stubs for all activities: the same visit always has the same outcome."""

    def behave(token: Token, activity: Activity, _: Random) -> Outcome:
        item = describe(token.lineage_stack)
        name = derive(seed, token.current_node, item, token.attempt)
        if int(name[:8], 16) < FAILING_SHARE * 16**8:
            return Failed(NodeError("the stub failed, as it does now and then", "STUB_FAILED"))
        return Succeeded(STUBS.get(type(activity.node).__name__, {}))

    return behave


def find_obstacle(program: AnyProgram) -> str:
    """Return why a program cannot be simulated; "" if it can."""
    if not isinstance(program, ServerlessProgram):
        return ""
    for task in program.workflow.tasks.values():
        if isinstance(task, ListenTask):
            return f"{task.at} listens for events, and a simulation publishes none"
        if isinstance(task, ConsumeTask):
            return f"{task.at} consumes messages, and a simulation sends none"
    return ""


def races(program: AnyProgram) -> bool:
    """Return whether two correct runs of the program may end differently."""
    if isinstance(program, ServerlessProgram):
        return any(map(_races, program.workflow.tasks.values()))
    for node in program.wiring.nodes.values():
        if isinstance(node.join, MergeNode) and node.join.wait_mode != "wait_for_all":
            return True
        if node.kind not in ("merge", "aggregator") and len(node.into) > 1:
            return True
    return False


def _races(task: Task) -> bool:
    """Return whether the result of a task depends on which part is first, or on time."""
    match task:
        case ForkTask(branches=branches, compete=compete) if compete or len(branches) > 1:
            return True  # of two branches that fail, the first one's error stands
        case TryTask(catch=Catch(retry=Retry(attempt_limit=attempt, limit=limit))):
            return attempt is not None or limit is not None or task.timeout is not None
        case _:
            return task.timeout is not None


def _shown(message: CompletionMessage) -> tuple[str, Any]:
    if message.status != "completed":
        return message.status, None
    context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
    return message.status, comparable_value(context)

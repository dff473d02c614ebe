"""One seed, one trial: generate, run calmly and harshly, compare with the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from onward.kernel.cells import MemoryCells
from onward.kernel.coordination import Coordination
from onward.kernel.messages import Token
from onward.kernel.outcome import Failed, NodeError, Outcome, Succeeded
from onward.kernel.program import Activity
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.languages.serverless.program import ServerlessProgram
from onward.ports.nodes.node import Catalogue
from onward.simulation.checkers import BrokenError, check_invariants, check_result, check_windows
from onward.simulation.generate import Plan, generate
from onward.simulation.lost_state import RuinedWorld
from onward.simulation.reference import ReferenceInterpreter
from onward.simulation.signals import Send, with_signals
from onward.simulation.tasks import SimulatedTask, task_error, task_output
from onward.simulation.world import BRUTAL, CALM, HARSH, Behave, Witness, World

Rules = Callable[[MemoryCells], Coordination]


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one seed."""

    nodes: int
    steps: int
    crashes: int


def catalogue_with_tasks(builtin: Catalogue) -> Catalogue:
    """Return the built-in node types and the simulated task."""
    catalogue = Catalogue()
    for entry in builtin:
        catalogue.register(
            entry.name,
            effect=entry.effect,
            expressions=entry.expressions,
            credential=entry.credential,
        )(entry.parameters)
    catalogue.register("task")(SimulatedTask)
    return catalogue


def behaviour(plan: Plan) -> Behave:
    """Return the behaviour of the tasks of a plan when they are executed."""

    def behave(token: Token, _: Activity, dice: Random) -> Outcome:
        path = tuple(frame.item_index for frame in token.lineage_stack)
        if token.current_node in plan.fickle and dice.random() < 0.5:
            return Failed(NodeError("fickle", "FICKLE"))
        error = task_error(plan, token.current_node, path, token.attempt)
        if error is not None:
            return Failed(error)
        return Succeeded(task_output(token.current_node, path, token.attempt))

    return behave


def try_seed(seed: int, catalogue: Catalogue, rules: Rules = Coordination) -> Trial:
    """Run one seed; raises BrokenError, with the line that repeats it, if anything is wrong."""
    plan = generate(seed)
    trial = _try_plan(seed, plan, [], catalogue, rules)
    signalled = with_signals(plan, seed)
    if signalled is None:
        return trial
    again = _try_plan(seed, *signalled, catalogue, rules)
    return Trial(trial.nodes, trial.steps + again.steps, trial.crashes + again.crashes)


def _try_plan(
    seed: int, plan: Plan, sends: list[Send], catalogue: Catalogue, rules: Rules
) -> Trial:
    program = compile_graph(parse_definition(plan.document), catalogue, page=2)
    given = {"seed": seed}
    reference = ReferenceInterpreter(plan, program.document)
    expected = reference.run(given) if plan.ordered else None
    steps = crashes = 0
    worlds = {
        name: World(program, behaviour(plan), seed * 7 + 1, faults, rules, sends)
        for name, faults in (("calm", CALM), ("harsh", HARSH), ("brutal", BRUTAL))
    }
    worlds["ruined"] = RuinedWorld(program, behaviour(plan), seed * 7 + 1, rules, sends=sends)
    for name, world in worlds.items():
        try:
            witness = run_and_check(world, program, given)
            if expected is not None and witness.comparable and not reference.tied:
                check_result(witness.completions[0], expected)
        except AssertionError as problem:
            repeat = f"repeat with: ./onward simulate --seed {seed}"
            raise BrokenError(
                f"seed {seed} ({name}{', signals' * bool(sends)}): {problem}\n{repeat}"
            ) from problem
        steps += witness.steps
        crashes += witness.crashes
    return Trial(len(plan.document["nodes"]), steps, crashes)


def run_and_check(
    world: World, program: GraphProgram | ServerlessProgram, given: object
) -> Witness:
    """Run a world to rest and check the invariants of every program."""
    witness = world.run(given)
    check_invariants(world)
    check_windows(world, windows_of(program))
    return witness


def windows_of(program: GraphProgram | ServerlessProgram) -> dict[str, int]:
    """Return how many items each split with a fixed window may have in flight."""
    return {
        node.id: limit
        for node in program.document.nodes
        if node.type == "split" and isinstance(limit := node.parameters.get("max_concurrency"), int)
    }

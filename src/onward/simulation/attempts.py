"""A world in which a run is retried: what failed is executed again, and what succeeded is reused.

The first attempt runs under faults with the plan's failures. The second one is another run with the
same token ids, begins with the visits of the first one's history that `kept_of` selects, and its
tasks succeed now. It must have the result of a run without those failures, and execute no visit
that it reused. Both are paused and resumed at any time.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import msgspec
from msgspec import Raw

from onward.kernel.coordination import Coordination
from onward.kernel.effects import Begin, Pause, Report
from onward.kernel.lineage import Lineage
from onward.kernel.messages import Token, encode_message
from onward.kernel.program import Program
from onward.kernel.records import VisitKey, VisitRecord
from onward.languages.graph.dependents import followers_of, tolerant_nodes
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.ports.nodes.node import Catalogue
from onward.runtime.control.retry_history import RetriedRun, RunOutline, kept_of
from onward.runtime.token.restore import restorations_of
from onward.simulation.checkers import BrokenError, check_result
from onward.simulation.generate import Plan, generate
from onward.simulation.reference import ReferenceInterpreter
from onward.simulation.trial import behaviour, run_and_check
from onward.simulation.world import HARSH, Behave, Witness, World

MAX_PAUSES = 4
PAUSE_SHARE, RESUME_SHARE = 0.01, 0.08


class PausedWorld(World):
    """One run that is paused and resumed, and has a history."""

    def __init__(
        self, program: Program, behave: Behave, seed: int, rules: Any = Coordination
    ) -> None:
        super().__init__(program, behave, seed, HARSH, rules)
        self.fortune = Random(seed + 2)  # noqa: S311  (a simulation wants a reproducible generator)

        self.parked: dict[str, bytes] = {}
        self.pauses = 0

    def _turn(self) -> None:
        chance, paused = self.fortune.random(), self.state("exec").paused
        if not paused and self.pauses < MAX_PAUSES and chance < PAUSE_SHARE:
            self.pauses += 1
            self.state("exec").answer(Pause(on=True))
        elif paused and (chance < RESUME_SHARE or not (self.queue or self.active or self.timers)):
            self.resume()
        if self.queue or self.active or self.timers:
            super()._turn()

    def _until_rest(self) -> None:
        super()._until_rest()
        while self.parked:
            self.resume()
            super()._until_rest()

    def resume(self) -> None:
        """Resume the run, and publish every message that was parked."""
        self.state("exec").answer(Pause(on=False))
        self.queue += self.parked.values()
        self.parked.clear()

    def _park(self, token: Token) -> bool:
        if not self.state(token.state_id).paused:
            return False
        self.parked[f"{token.token_id}:{token.publish_id}"] = encode_message(token)
        return True

    def _report(self, report: Report) -> None:
        self._save_visit(report)


class SecondAttempt(PausedWorld):
    """Another run that reuses visits of an earlier one's history."""

    def __init__(
        self,
        program: Program,
        behave: Behave,
        seed: int,
        before: PausedWorld,
        outline: RunOutline,
        rules: Any = Coordination,
    ) -> None:
        super().__init__(program, behave, seed, rules)
        self.payloads = before.payloads
        self.before = before
        self.outline = outline
        self.executed: list[Token] = []
        self.reused = kept_of(list(before.history.values()), RetriedRun(), outline)
        ended = frozenset(visit.token_id for visit in self.reused if visit.status == "success")
        pairs = [(visit, visit.output) for visit in self.reused]
        first = before.start[0]
        self.restored = {
            restoration.token_id: restoration
            for restoration in restorations_of(program, first, pairs, ended)
        }

    def run(self, given: Any) -> Witness:
        """Run to rest, from the visits that are reused."""
        tokens, payloads = self.program.start(
            "exec", Raw(msgspec.json.encode(given)), now_ms=self.now_ms
        )
        for payload in payloads:
            self.payloads[payload.ref.hash] = payload.body
        self.start = tokens
        for restored in self.restored.values():
            self.state("exec").answer(restored)
        self.state("exec").answer(Begin())
        for token in tokens:
            self._publish(token)
        self._until_rest()
        for visit in self.reused:
            self._check_reused(visit)
        return self.witness

    def _check_reused(self, visit: VisitRecord) -> None:
        """Check that no visit is reused that follows from one that is executed again."""
        after = self.outline.after or {}
        for token in self.executed:
            follows = visit.node_id in after.get(token.current_node, ())
            if follows and not _are_apart(visit.lineage, token.lineage_stack):
                raise AssertionError(f"{visit.node_id} is reused, and follows {token.current_node}")

    def _execute(self, token: Token) -> None:
        super()._execute(token)
        if VisitKey(token.execution_id, token.token_id, token.current_node) in self.before.history:
            self.executed.append(token)
        if token.token_id in self.restored:
            raise AssertionError(f"{token.current_node} is reused and executed again")


def _are_apart(left: Lineage, right: Lineage) -> bool:
    """Return whether two lineages are in different items of the same run of a split."""
    for left_frame, right_frame in zip(left, right, strict=False):
        if left_frame.split_token != right_frame.split_token:
            return False
        if left_frame.item_index != right_frame.item_index:
            return True
    return False


def heal(plan: Plan, program: GraphProgram) -> Plan:
    """Return a plan without the failures that end an item or the run: those are retried."""
    spent = {
        node.id
        for node in program.document.nodes
        if node.error.type == "halt"
        and plan.failures.get(node.id, 0) >= (node.retry.max_attempts if node.retry else 1)
    }
    tolerated = tolerant_nodes(program.wiring)
    return replace(
        plan,
        failures={name: many for name, many in plan.failures.items() if name not in spent},
        picky={name: index for name, index in plan.picky.items() if name in tolerated},
    )


def try_again(seed: int, catalogue: Catalogue, rules: Any = Coordination) -> int:
    """Run one seed twice, the second time from the first one's history; return how much is reused.

    Raises BrokenError, with the seed, if anything is wrong.
    """
    plan = generate(seed)
    program = compile_graph(parse_definition(plan.document), catalogue, page=2)
    outline = RunOutline(followers_of(program.wiring), tolerant_nodes(program.wiring))
    given, healed = {"seed": seed}, heal(plan, program)
    try:
        first = PausedWorld(program, behaviour(plan), seed * 7 + 1, rules)
        run_and_check(first, program, given)
        second = SecondAttempt(program, behaviour(healed), seed * 7 + 3, first, outline, rules)
        witness = run_and_check(second, program, given)
        reference = ReferenceInterpreter(healed, program.document)
        if plan.ordered and not _has_timeout(plan):
            expected = reference.run(given)
            if not reference.tied:
                check_result(witness.completions[0], expected)
    except AssertionError as problem:
        raise BrokenError(f"seed {seed} (retried): {problem}") from problem
    return len(second.restored)


def _has_timeout(plan: Plan) -> bool:
    """Return whether a time-out may differ: visits that are reused take no time."""
    return any("timeout" in node["parameters"] for node in plan.document["nodes"])

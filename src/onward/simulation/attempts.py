"""A world in which a run is tried again: what failed is repaired, and what succeeded is kept.

The first attempt runs under faults with the plan's failures. The second one is another run with the
same token ids, begins with what `keeping` keeps of the first one's history, and its tasks work now.
It must come to what a run without those failures comes to, and execute nothing that was kept. Both
are paused and resumed at any moment.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import msgspec
from msgspec import Raw

from onward.kernel.coordination import Coordination
from onward.kernel.effects import Begin, Pause, Report
from onward.kernel.history import visit_record_of
from onward.kernel.lineage import Lineage
from onward.kernel.messages import Token, encode_message
from onward.kernel.program import Program
from onward.kernel.records import VisitRecord
from onward.languages.graph.dependents import followers_of, tolerant_nodes
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.ports.nodes.node import Catalogue
from onward.runtime.control.retry_history import RetriedRun, RunOutline, kept_of
from onward.runtime.token.restore import restorations
from onward.runtime.token.statuses import status_of
from onward.simulation.checkers import BrokenError, check_result
from onward.simulation.generate import Plan, generate
from onward.simulation.reference import ReferenceInterpreter
from onward.simulation.trial import behaviour, judged
from onward.simulation.world import HARSH, Behave, Witness, World

PAUSES = 4
PAUSE, RESUME = 0.01, 0.08


class PausedWorld(World):
    """One run that is paused and resumed, and whose history is kept."""

    def __init__(
        self, program: Program, behave: Behave, seed: int, rules: Any = Coordination
    ) -> None:
        super().__init__(program, behave, seed, HARSH, rules)
        self.fortune = Random(seed + 2)  # noqa: S311  (a simulation wants a reproducible generator)
        self.history: dict[tuple[str, str], VisitRecord] = {}
        self.parked: dict[str, bytes] = {}
        self.pauses = 0

    def _turn(self) -> None:
        chance, now = self.fortune.random(), self.state("exec").paused
        if not now and self.pauses < PAUSES and chance < PAUSE:
            self.pauses += 1
            self.state("exec").answer(Pause(on=True))
        elif now and (chance < RESUME or not (self.queue or self.active or self.timers)):
            self.resume()
        if self.queue or self.active or self.timers:
            super()._turn()

    def _until_rest(self) -> None:
        super()._until_rest()
        while self.parked:
            self.resume()
            super()._until_rest()

    def resume(self) -> None:
        """Let the run go on, and everything be sent that was parked."""
        self.state("exec").answer(Pause(on=False))
        self.queue += self.parked.values()
        self.parked.clear()

    def _park(self, token: Token) -> bool:
        if not self.state(token.state_id).paused:
            return False
        self.parked[f"{token.token_id}:{token.publish_id}"] = encode_message(token)
        return True

    def _report(self, report: Report) -> None:
        status = status_of(report, self.now_ms, 0)
        run = visit_record_of(status, self.now_ms)
        if run is not None and run.output_ref is None:
            self.history.setdefault((run.token_id, run.node_id), run)


class SecondAttempt(PausedWorld):
    """Another run that keeps what a history has."""

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
        self.kept = kept_of(list(before.history.values()), RetriedRun(), outline)
        ended = frozenset(one.token_id for one in self.kept if one.status == "success")
        pairs = [(one, one.output) for one in self.kept]
        first = before.start[0]
        self.restored = {
            restoration.token_id: restoration
            for restoration in restorations(program, first, pairs, ended)
        }

    def run(self, given: Any) -> Witness:
        """Run to rest, from what was kept."""
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
        for one in self.kept:
            self._check_kept(one)
        return self.witness

    def _check_kept(self, one: VisitRecord) -> None:
        """Nothing that was kept may follow from what came to something and is executed again."""
        after = self.outline.after or {}
        for token in self.executed:
            follows = one.node_id in after.get(token.current_node, ())
            if follows and not _apart(one.lineage, token.lineage_stack):
                raise AssertionError(f"{one.node_id} was kept, and follows {token.current_node}")

    def _execute(self, token: Token) -> None:
        super()._execute(token)
        if (token.token_id, token.current_node) in self.before.history:
            self.executed.append(token)
        if token.token_id in self.restored:
            raise AssertionError(f"{token.current_node} was kept and is executed again")


def _apart(one: Lineage, other: Lineage) -> bool:
    """Return whether two places are in different items of the same run of a split."""
    for mine, yours in zip(one, other, strict=False):
        if mine.split_token != yours.split_token:
            return False
        if mine.item_index != yours.item_index:
            return True
    return False


def healed(plan: Plan, program: GraphProgram) -> Plan:
    """Return a plan without the failures that end an item or the run: those are tried again."""
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
    """Run one seed twice, the second time from what the first one left; return how much was kept.

    Raises BrokenError, with the seed, if anything is wrong.
    """
    plan = generate(seed)
    program = compile_graph(parse_definition(plan.document), catalogue, page=2)
    outline = RunOutline(followers_of(program.wiring), tolerant_nodes(program.wiring))
    given, mended = {"seed": seed}, healed(plan, program)
    try:
        first = PausedWorld(program, behaviour(plan), seed * 7 + 1, rules)
        judged(first, program, given)
        second = SecondAttempt(program, behaviour(mended), seed * 7 + 3, first, outline, rules)
        witness = judged(second, program, given)
        reference = ReferenceInterpreter(mended, program.document)
        if plan.ordered and not _timed(plan):
            expected = reference.run(given)
            if not reference.tied:
                check_result(witness.completions[0], expected)
    except AssertionError as problem:
        raise BrokenError(f"seed {seed} (tried again): {problem}") from problem
    return len(second.restored)


def _timed(plan: Plan) -> bool:
    """Time passes otherwise when what took long is only followed: time-outs may differ."""
    return any("timeout" in node["parameters"] for node in plan.document["nodes"])

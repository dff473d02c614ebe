"""A world in which state and messages get lost for good, and runs are repaired from their history.

The coordination state may be wiped, with every timer. A message may vanish from its queue. And a
repair may come although nothing is wrong: it must never harm a run that is alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from weft.kernel.coordination import Coordination
from weft.kernel.effects import Begin, Forget, Report, Supersede
from weft.kernel.messages import Token, run_of
from weft.kernel.program import Program
from weft.ports.journal import NodeRun
from weft.ports.ledger import node_run_of
from weft.runtime.repair import restorations
from weft.runtime.reporting import status_of
from weft.simulation.world import HARSH, Behave, Witness, World


@dataclass(frozen=True, slots=True)
class Losses:
    """How often each thing gets lost or repaired, and how often at most."""

    wipe: float = 0.004
    lose: float = 0.01
    hasty: float = 0.004
    forgotten: float = 0.1
    """Of the reports: history does not know them when it is asked."""
    most: int = 3


class RuinedWorld(World):
    """One run of one program under one seed, with losses and repairs."""

    def __init__(
        self,
        program: Program,
        behave: Behave,
        seed: int,
        rules: Any = Coordination,
        losses: Losses | None = None,
    ) -> None:
        super().__init__(program, behave, seed, HARSH, rules)
        self.losses = losses or Losses()
        self.fortune = Random(seed + 1)  # noqa: S311  (a simulation wants a reproducible generator)
        self.history: dict[tuple[str, str], NodeRun] = {}
        self.generation = 0
        self.ruins = 0
        self.repairs = 0
        self.missing = False
        self.restored: frozenset[str] = frozenset()

    def run(self, given: Any) -> Witness:
        """Run to rest, and repair until the run has ended."""
        super().run(given)
        while not self.witness.completions:
            self._repair()
            self._until_rest()
        return self.witness

    def _turn(self) -> None:
        if self.ruins < self.losses.most and not self.witness.completions:
            chance = self.fortune.random()
            if chance < self.losses.wipe:
                self._wipe()
            elif chance < self.losses.wipe + self.losses.lose and self.queue:
                self.ruins += 1
                self.missing = True
                del self.queue[self.fortune.randrange(len(self.queue))]
            elif chance < self.losses.wipe + self.losses.lose + self.losses.hasty:
                self.ruins += 1
                self._repair()
        if self.queue or self.active or self.timers:
            super()._turn()

    def _fire(self) -> None:
        _, token = min(self.timers.values(), key=lambda timer: timer[0])
        if self.missing and token.signal == "timeout":
            # Somebody waits for what was lost, and gives up before anyone looks after the run.
            self.witness.comparable = False
        super()._fire()

    def _execute(self, token: Token) -> None:
        super()._execute(token)
        if token.generation == self.generation and token.token_id in self.restored:
            raise AssertionError(f"{token.token_id} is in history and was executed again")

    def _wipe(self) -> None:
        self.ruins += 1
        self.states.clear()
        self.timers.clear()
        # Whoever closed the run may still say so, and a repaired run ends as well: the ledger
        # takes the first.
        self.witness.counted = 1

    def _repair(self) -> None:
        self.repairs += 1
        old = self.state(run_of("exec", self.generation))
        self._cancel_all(run_of("exec", self.generation))
        standing = old.answer(Supersede())
        if standing is not None:
            self.witness.completions.append(standing)
            old.answer(Forget())
            return
        self.generation += 1
        self.missing = False
        run = run_of("exec", self.generation)
        history = [(one, one.output) for one in self.history.values()]
        restored = list(restorations(self.program, self.start[0], history))
        for one in restored:
            self.state(run).answer(one)
        self.restored = frozenset(one.token_id for one in restored)
        self.state(run).answer(Begin())
        for token in self.start:
            self._publish(msgspec.structs.replace(token, generation=self.generation))

    def _report(self, report: Report) -> None:
        if self.fortune.random() < self.losses.forgotten:
            return
        status = status_of(report, self.now_ms, 0)
        run = node_run_of(status, self.now_ms)
        if run is not None and run.output_ref is None:
            self.history.setdefault((run.token_id, run.node_id), run)

"""A world in which state and messages get lost for good, and runs are repaired from their history.

The coordination state may be wiped, with every timer. A message may vanish from its queue. And a
repair may start although nothing is wrong: it must never harm a run that is alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from onward.kernel.coordination import Coordination
from onward.kernel.effects import Begin, Forget, Report, Supersede
from onward.kernel.messages import Token, state_id_of
from onward.kernel.program import Program
from onward.kernel.timestamps import LATEST_MS
from onward.runtime.token.restore import restorations_of
from onward.simulation.signals import Send
from onward.simulation.world import HARSH, Behave, Witness, World


@dataclass(frozen=True, slots=True)
class Losses:
    """How often each thing gets lost or repaired, and how often at most."""

    wipe: float = 0.004
    lose: float = 0.01
    hasty: float = 0.004
    forgotten: float = 0.1
    """Of the reports: they are missing in the history when a run is repaired."""
    max_losses: int = 3


class RuinedWorld(World):
    """One run of one program under one seed, with losses and repairs."""

    def __init__(
        self,
        program: Program,
        behave: Behave,
        seed: int,
        rules: Any = Coordination,
        losses: Losses | None = None,
        sends: Sequence[Send] = (),
    ) -> None:
        super().__init__(program, behave, seed, HARSH, rules, sends)
        self.losses = losses or Losses()
        self.fortune = Random(seed + 1)  # noqa: S311  (a simulation wants a reproducible generator)

        self.generation = 0
        self.ruins = 0
        self.repairs = 0
        self.missing = False
        self.restored: frozenset[str] = frozenset()
        self.sent: list[Token] = []

    def run(self, given: Any) -> Witness:
        """Run to rest, and repair until the run has ended."""
        super().run(given)
        while not self.witness.completions:
            self._repair()
            self._until_rest()
        return self.witness

    def _turn(self) -> None:
        if self.ruins < self.losses.max_losses and not self.witness.completions:
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
        if self.queue or self.active or self.timers or self.signals:
            super()._turn()

    def _fire(self) -> None:
        if not self.timers:
            super()._fire()
            return
        name, (due_ms, token) = min(self.timers.items(), key=lambda item: item[1][0])
        if due_ms == LATEST_MS and token.generation != self.generation:
            del self.timers[name]  # set by a worker that did not know the state was replaced
            return
        if self.ruins and due_ms == LATEST_MS and not self.signals:
            self._repair()  # a signal was lost, or the state that received it
            return
        if self.missing and token.signal in ("timeout", "awaited"):
            # A wait for what was lost times out before the run is repaired.
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
        # The worker that closed the run may still publish its completion, and a repaired run ends
        # as well: the history takes the first.
        self.witness.counted = 1

    def _repair(self) -> None:
        self.repairs += 1
        old = self.state(state_id_of("exec", self.generation))
        self._cancel_all(state_id_of("exec", self.generation))
        standing = old.answer(Supersede())
        if standing is not None:
            self.witness.completions.append(standing)
            old.answer(Forget())
            return
        self.generation += 1
        self.missing = False
        state = self.state(state_id_of("exec", self.generation))
        history = [(visit, visit.output) for visit in self.history.values()]
        restored = list(restorations_of(self.program, self.start[0], history))
        for restoration in restored:
            state.answer(restoration)
        self.restored = frozenset(restoration.token_id for restoration in restored)
        state.answer(Begin())
        for token in self.start:
            self._publish(msgspec.structs.replace(token, generation=self.generation))
        for signal in self.sent:
            self._publish(msgspec.structs.replace(signal, generation=self.generation))
        if self.sends:
            # Waits begin anew, and signals are there from the start: other limits are exceeded.
            self.witness.comparable = False

    def send(self, signal: Token) -> None:
        """Send a signal to the run; a repair sends it again."""
        self.sent.append(signal)
        super().send(msgspec.structs.replace(signal, generation=self.generation))

    def _report(self, report: Report) -> None:
        if self.fortune.random() >= self.losses.forgotten:
            self._save_visit(report)

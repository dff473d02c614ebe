"""The simulator has teeth: break one rule of the coordination and it says so.

Each mutant below breaks one rule that DESIGN section 4 depends on. A simulator that lets one pass
proves nothing, so each must be caught within the seeds it is given.
"""

from typing import ClassVar

import pytest

from onward.bootstrap.catalogue import builtin
from onward.kernel import flow
from onward.kernel.coordination import LIFE_OF_A_RUN, Coordination
from onward.kernel.effects import Await, Deliver, Fill, Resolve, Skip, Supersede, Taken
from onward.kernel.lineage import ROOT
from onward.kernel.verdicts import CLOSED, DUPLICATE, Execute, Finish
from onward.languages.graph import routing
from onward.simulation.checkers import BrokenError
from onward.simulation.trial import catalogue_with_tasks, try_seed

CATALOGUE = catalogue_with_tasks(builtin)


SEEDS = range(1500)


def caught(rules=Coordination, seeds=SEEDS):
    """Return the first complaint of the simulator, or None if nothing was noticed."""
    for seed in seeds:
        try:
            try_seed(seed, CATALOGUE, rules)
        except (BrokenError, AssertionError) as problem:
            return str(problem)
        except Exception as problem:
            return repr(problem)
    return None


class ClaimsEveryCopy(Coordination):
    """The claim: every copy of a token runs, and follows whatever outcome it has."""

    def claim(self, token):
        verdict = super().claim(token)
        return Execute() if getattr(verdict, "why", "") in ("superseded", "duplicate") else verdict


class ForgetsFates(Coordination):
    """The claim: the first child seen of a step does not fix its outcome."""

    def claim(self, token):
        if self._cells.get(token.scope, "fate", token.parent) is not None:
            self._cells.put(token.scope, "fate", token.parent, (token.outcome, token.siblings))
        return super().claim(token)


class CountsArrivals(Coordination):
    """The slot rule: a barrier that counts arrivals, as RFC 004 has it, not filled slots."""

    def fill(self, ask: Fill):
        free = next(
            index
            for index in range(10_000)
            if self._cells.get(ask.split, "slot", str(index)) is None
        )
        if self._cells.get(ask.split, "slot", str(ask.index)) is None:
            return super().fill(ask)
        return super().fill(
            Fill(split=ask.split, index=free, by=ask.by, value=ask.value, failed=ask.failed)
        )

    _methods: ClassVar = {**Coordination._methods, Fill: fill}


class NothingDies(Coordination):
    """The dead-path rule: edges that were not taken are not marked."""

    def skip(self, ask: Skip):
        return ask.edges

    _methods: ClassVar = {**Coordination._methods, Skip: skip}


class ForgetsClosers(Coordination):
    """The closer rule: whoever closed a scope and died is not recognised when it comes again."""

    def claim(self, token):
        verdict = super().claim(token)
        return CLOSED if isinstance(verdict, Finish) else verdict


class CountsAtTheEnd(Coordination):
    """The live count: siblings are counted one by one, not when the first of them is seen."""

    def _settle(self, scope, unit, tag, siblings):
        self._cells.put(scope, "fate", unit, (tag, siblings))


class StartsAnywhere(Coordination):
    """The lost-state rule: a token that finds no state makes one."""

    def claim(self, token):
        if self._cells.get(ROOT, "done", "") is None:
            self._cells.put(ROOT, "born", "", 1)
        return super().claim(token)


class AnswersTheDead(Coordination):
    """The lost-state rule: whoever outlived the state still gets answers."""

    def answer(self, effect):
        if not isinstance(effect, LIFE_OF_A_RUN) and self._cells.get(ROOT, "done", "") is None:
            self._cells.put(ROOT, "born", "", 1)
        return super().answer(effect)


class NeverSupersedes(Coordination):
    """The generation rule: a state that was replaced goes on as if nothing had happened."""

    def supersede(self, ask: Supersede):
        for group in self._cells.groups():
            self._cells.drop(group)

    _methods: ClassVar = {**Coordination._methods, Supersede: supersede}


class ForgetsEarlySignals(Coordination):
    """The signal rule: one that comes before its wait is dropped."""

    def deliver(self, ask: Deliver):
        waiting = self._cells.get(ROOT, "waiter", ask.address)
        return super().deliver(ask) if waiting else None

    _methods: ClassVar = {**Coordination._methods, Deliver: deliver}


class GivesSignalsTwice(Coordination):
    """The signal rule: what is delivered again is another signal."""

    def deliver(self, ask: Deliver):
        if self._cells.get(ROOT, "heard", ask.by) is not None:
            self._cells.put(ROOT, "heard", ask.by, None)
        return super().deliver(ask)

    _methods: ClassVar = {**Coordination._methods, Deliver: deliver}


class GivesUpRegardless(Coordination):
    """The signal rule: whoever is woken gives up, also when it has a signal."""

    def resolve(self, ask: Resolve):
        super().resolve(ask)
        return Taken("", b"")

    _methods: ClassVar = {**Coordination._methods, Resolve: resolve}


class WaitsOnlyOnce(Coordination):
    """The signal rule: a wait that is repeated forgets what it has taken."""

    def await_signal(self, ask: Await):
        if self._cells.get(ask.scope, "taken", ask.by) is not None:
            self._cells.put(ask.scope, "taken", ask.by, None)
        return super().await_signal(ask)

    _methods: ClassVar = {**Coordination._methods, Await: await_signal}


MUTANTS = [
    ForgetsEarlySignals,
    GivesSignalsTwice,
    GivesUpRegardless,
    WaitsOnlyOnce,
    ClaimsEveryCopy,
    ForgetsFates,
    CountsArrivals,
    NothingDies,
    ForgetsClosers,
    CountsAtTheEnd,
    StartsAnywhere,
    AnswersTheDead,
    NeverSupersedes,
]


@pytest.mark.parametrize("rules", MUTANTS)
def test_a_broken_coordination_rule_is_noticed(rules):
    assert caught(rules) is not None


def test_discarding_a_barrier_before_what_follows_is_noticed(monkeypatch):
    """The effect order: values must stay until the successors are on their way."""
    honest = flow._fill

    def hasty(hooks, place, value, *, failed):
        judgement = honest(hooks, place, value, failed=failed)
        answer = None
        while True:
            try:
                effect = judgement.send(answer)
            except StopIteration:
                return
            answer = yield effect
            if isinstance(effect, flow.Values):
                yield flow.DiscardSplit(split=effect.split)

    monkeypatch.setattr(flow, "_fill", hasty)

    assert caught() is not None


def test_publishing_before_dead_edges_are_marked_is_noticed(monkeypatch):
    """The effect order: once the only child is claimed, what else the step owes is never done."""
    monkeypatch.setattr(routing, "take_edges", _publish_first)
    monkeypatch.setattr("onward.languages.graph.program.take_edges", _publish_first)
    monkeypatch.setattr("onward.languages.graph.failure.take_edges", _publish_first)

    assert caught() is not None


def _publish_first(graph, place, node, taken, tag, also=()):
    yield from routing.publish(place, taken, tag)
    leaving = (*routing.edges_after(graph, node), *node.error, *also)
    yield from routing.skip(graph, place, leaving, taken)
    if not taken:
        yield from flow.leave(graph.hooks, place, flow.leaf_of(node.id, node.order, place))


def test_the_unbroken_rules_pass_the_same_seeds():
    assert caught(seeds=range(100)) is None


def test_duplicates_are_dropped_at_the_claim():
    """The mutants rely on this verdict; if it is renamed they would silently do nothing."""
    assert "duplicate" == DUPLICATE.why

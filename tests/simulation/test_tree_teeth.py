"""The simulator of trees has teeth: break one rule and it says so.

Each mutant below breaks one rule of the coordination or of the language. Each must be caught within
the seeds it is given.
"""

from typing import ClassVar

import msgspec
import pytest

from onward.kernel import flow
from onward.kernel.coordination import Coordination
from onward.kernel.effects import DiscardSplit, Overdue, Scatter
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.run import blocks, branches, listen, walk
from onward.simulation import world
from onward.simulation.serverless.trial import try_tree
from simulation.test_teeth import (
    ClaimsEveryCopy,
    ForgetsClosers,
    ForgetsEarlySignals,
    GivesSignalsTwice,
    NeverSupersedes,
    StartsAnywhere,
    WaitsOnlyOnce,
)

SEEDS = range(600)


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch):
    """Some mutants never come to rest; an honest run of these seeds needs far fewer steps."""
    monkeypatch.setattr(world, "MAX_STEPS", 15_000)


def caught(rules=Coordination, seeds=SEEDS):
    """Return the first complaint of the simulator, or None if nothing was noticed."""
    for seed in seeds:
        try:
            try_tree(seed, rules)
        except AssertionError as problem:
            return str(problem)
        except Exception as problem:
            return repr(problem)
    return None


class JoinsOneTooFew(Coordination):
    """The barrier: a fork goes on when all branches but one are complete."""

    def scatter(self, ask: Scatter):
        return super().scatter(msgspec.structs.replace(ask, total=max(1, ask.total - 1)))

    _methods: ClassVar = {**Coordination._methods, Scatter: scatter}


class ClosesNothing(Coordination):
    """The barrier: whoever leaves a scope early does not close it for the others."""

    def overdue(self, ask: Overdue):
        head = self._head(ask.split)
        return None if head is None else self._cells.get(ask.split, "origin", "")

    def discard_split(self, ask: DiscardSplit):
        head = self._head(ask.split)
        if head is not None and head.verdict:
            super().discard_split(ask)

    _methods: ClassVar = {
        **Coordination._methods,
        Overdue: overdue,
        DiscardSplit: discard_split,
    }


RULES = [
    JoinsOneTooFew,
    ClosesNothing,
    ClaimsEveryCopy,
    ForgetsClosers,
    ForgetsEarlySignals,
    GivesSignalsTwice,
    NeverSupersedes,
    StartsAnywhere,
    WaitsOnlyOnce,
]


@pytest.mark.parametrize("rules", RULES)
def test_a_broken_coordination_rule_is_noticed(rules):
    assert caught(rules) is not None


def a_retry_forgets_its_count(patch):
    honest = blocks._retry_pause

    def again(walk, retry, task, frame, given, fault):
        found = honest(walk, retry, task, frame, given, fault)
        frame.attempt = 0
        return found

    patch.setattr(blocks, "_retry_pause", again)


def a_retry_has_one_attempt_more(patch):
    honest = blocks._retry_pause

    def again(walk, retry, task, frame, given, fault):
        frame.attempt -= 1
        found = honest(walk, retry, task, frame, given, fault)
        frame.attempt += found is None
        return found

    patch.setattr(blocks, "_retry_pause", again)


def a_backoff_does_not_grow(patch):
    patch.setattr(blocks, "backoff_factor", lambda backoff, attempt: 1)


def a_catch_takes_every_error(patch):
    patch.setattr(blocks, "_matches", lambda catch, fault: True)


def a_race_is_not_cancelled(patch):
    def done(self, place, stopped, stop):
        if not place.lineage:
            yield from self._complete(place, stop.output, stopped.walk.state.context)
            return
        left = branches.scope_result(stopped.walk.state, stop.output, stop.then)
        yield from flow.leave(self, place, left)

    patch.setattr(ServerlessProgram, "_done", done)


def what_is_exported_in_a_scope_is_lost(patch):
    def scope_result(state, output, then):
        return msgspec.json.encode({"output": output, "context": None, "then": then})

    patch.setattr(branches, "scope_result", scope_result)


def a_loop_skips_its_first_item(patch):
    honest = blocks.begin_loop

    def begin(self, task, frame):
        found = honest(self, task, frame)
        if frame.items and frame.index == 0 and len(frame.items) > 1:
            frame.index = 1
        return found

    patch.setattr(blocks, "begin_loop", begin)


def a_switch_takes_its_last_case(patch):
    def choose(self, task, given):
        held = [
            case.then for case in task.cases if case.when and self.holds(case.when, given, task.at)
        ]
        return (
            held[-1]
            if held
            else next((case.then for case in task.cases if case.when is None), task.then)
        )

    patch.setattr(walk.Walk, "_choose", choose)


def all_is_enough_with_one(patch):
    patch.setattr(listen, "is_enough", lambda wanted, met: len(met) >= 1)


def what_is_skipped_leads_elsewhere(patch):
    honest = walk.Walk._after

    def after(self, task, output, then=None):
        return honest(self, task, output, None if then == "continue" else then)

    patch.setattr(walk.Walk, "_after", after)


MUTANTS = [
    a_retry_forgets_its_count,
    a_retry_has_one_attempt_more,
    a_backoff_does_not_grow,
    a_catch_takes_every_error,
    a_race_is_not_cancelled,
    what_is_exported_in_a_scope_is_lost,
    a_loop_skips_its_first_item,
    a_switch_takes_its_last_case,
    all_is_enough_with_one,
    what_is_skipped_leads_elsewhere,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_rule_of_the_language_is_noticed(mutant, monkeypatch):
    mutant(monkeypatch)

    assert caught() is not None


def test_the_unbroken_rules_pass_the_same_seeds():
    assert caught(seeds=range(30)) is None

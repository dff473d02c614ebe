"""A run that is tried again keeps what succeeded; one that is paused loses nothing.

The proof that the simulator would notice is below: each rule, broken, is caught.
"""

import pytest

from onward.bootstrap.catalogue import builtin
from onward.runtime.control import retry_history
from onward.simulation import attempts
from onward.simulation.attempts import PausedWorld, try_again
from onward.simulation.checkers import BrokenError
from onward.simulation.trial import catalogue_with_tasks

CATALOGUE = catalogue_with_tasks(builtin)


SEEDS = range(600)


def caught(seeds=SEEDS):
    """Return the first complaint, or None if nothing was noticed."""
    for seed in seeds:
        try:
            try_again(seed, CATALOGUE)
        except (BrokenError, AssertionError) as problem:
            return str(problem)
    return None


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_a_run_that_is_tried_again_comes_to_what_one_without_the_failures_comes_to(start):
    kept = sum(try_again(seed, CATALOGUE) for seed in range(start, start + 100))

    assert kept > 500


def test_keeping_what_follows_from_something_executed_again_is_noticed(monkeypatch):
    monkeypatch.setattr(retry_history._Marks, "reach", lambda self, one: False)

    assert caught() is not None


def test_keeping_the_failures_that_ended_the_run_is_noticed(monkeypatch):
    monkeypatch.setattr(retry_history, "_again", lambda *_: False)

    assert caught() is not None


def test_keeping_a_failed_attempt_without_the_one_that_followed_is_noticed(monkeypatch):
    def halves(history, again, outline):
        return [visit for visit in honest(history, again, outline) if visit.attempt == 1]

    honest = retry_history.kept_of
    monkeypatch.setattr(attempts, "kept_of", halves)

    def executes(self, token):
        honest_execute(self, token)
        if token.token_id in known:
            raise AssertionError("executed again")

    known: set[str] = set()
    honest_execute = attempts.SecondAttempt._execute
    honest_init = attempts.SecondAttempt.__init__

    def remember(self, program, behave, seed, before, outline, *rest):
        honest_init(self, program, behave, seed, before, outline, *rest)
        known.clear()
        known.update(
            visit.token_id
            for visit in honest(list(before.history.values()), attempts.RetriedRun(), outline)
            if visit.status == "success"
        )

    monkeypatch.setattr(attempts.SecondAttempt, "__init__", remember)
    monkeypatch.setattr(attempts.SecondAttempt, "_execute", executes)

    assert caught() is not None


def test_parking_without_looking_again_whether_the_run_is_paused_is_noticed(monkeypatch):
    def hasty(self, token):
        self.lost = getattr(self, "lost", 0) + (not self.state(token.state_id).paused)
        if self.state(token.state_id).paused:
            return honest(self, token)
        return True  # kept where nobody looks: it was resumed in between

    honest = PausedWorld._park
    monkeypatch.setattr(PausedWorld, "_park", hasty)

    assert caught() is not None

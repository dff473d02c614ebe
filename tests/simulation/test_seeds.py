"""The simulator over many seeds, and the seeds that once failed."""

import pytest

from onward.bootstrap.catalogue import builtin
from onward.simulation.trial import catalogue_with_tasks, try_seed

CATALOGUE = catalogue_with_tasks(builtin)
SEEDS = 2_400
BLOCK = 100

# Each of these seeds shows the bug named beside it when the bug is put back.
REGRESSIONS = {
    4: "a worker that is slow to notice the end of a run must not write new state",
    48: "whoever closed an outer scope is found again although the inner ones are gone",
    765: "a second worker on one message must not read a barrier that was just discarded",
    4410: "children of two outcomes of one step must never have the same id",
    10545: "a slow worker must not open a barrier anew in a scope that is gone",
    5299: "an empty list must not stand in for a barrier that another worker has dealt with",
}


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_every_run_ends_once_with_the_result_of_the_reference(first):
    """
    Whatever is duplicated, delayed, reordered or killed, a run ends once, as the sequential
    reference says, with nothing left behind.
    """
    trials = [try_seed(seed, CATALOGUE) for seed in range(first, first + BLOCK)]

    assert BLOCK == len(trials)
    assert sum(trial.crashes for trial in trials) > BLOCK


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_a_seed_that_once_failed_stays_right(seed):
    assert try_seed(seed, CATALOGUE).steps > 0

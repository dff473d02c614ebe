"""Many seeds at once: the part of `onward simulate` that runs in processes of its own."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from onward.bootstrap.catalogue import builtin
from onward.bootstrap.languages import compile_source
from onward.simulation.checkers import BrokenError
from onward.simulation.own_workflow import rehearse
from onward.simulation.serverless.trial import TreeTrial, try_tree
from onward.simulation.trial import Trial, catalogue_with_tasks, try_seed

CHUNK = 25
"""Seeds handed to a process at once: enough to forget the cost of handing over."""


@dataclass(slots=True)
class SeedTally:
    """What some seeds showed together."""

    seeds: int = 0
    steps: int = 0
    crashes: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    broken: tuple[int, str] | None = None
    """The first seed that showed a fault, and what it was."""

    def add(self, other: SeedTally) -> None:
        """Take in what other seeds showed."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.crashes += other.crashes
        self.endings += other.endings
        if other.broken is not None and (self.broken is None or other.broken < self.broken):
            self.broken = other.broken


Work = Callable[[range], SeedTally]


def random_workflows(language: str) -> Work:
    """Return the work of trying seeds on workflows that the seeds themselves make up."""
    return _try_trees if language == "serverless" else _try_graphs


def own_workflow(source: bytes, given: Any) -> Work:
    """Return the work of rehearsing one workflow, given as canonical bytes, seed by seed."""
    return partial(_rehearse, source, given)


def tallies(work: Work, seeds: range, jobs: int) -> Iterator[SeedTally]:
    """Yield the tally of each chunk of seeds as it is done, stopping after the first fault."""
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    if jobs == 1 or len(chunks) == 1:
        for chunk in chunks:
            tally = work(chunk)
            yield tally
            if tally.broken is not None:
                return
        return
    # Only a few chunks are handed over ahead: stopping then waits for those, not for all.
    ahead = iter(chunks)
    with ProcessPoolExecutor(min(jobs, len(chunks)), initializer=_leave_stopping) as pool:
        waiting = {pool.submit(work, chunk) for chunk in islice(ahead, 2 * jobs)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in done:
                tally = one.result()
                yield tally
                if tally.broken is not None:
                    return
            waiting |= {pool.submit(work, chunk) for chunk in islice(ahead, len(done))}


def _leave_stopping() -> None:
    """Ctrl-C reaches every process of the terminal: only the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _try_graphs(seeds: range) -> SeedTally:
    catalogue = catalogue_with_tasks(builtin)
    return _tried(seeds, lambda seed: try_seed(seed, catalogue))


def _try_trees(seeds: range) -> SeedTally:
    return _tried(seeds, try_tree)


def _tried(seeds: range, attempt: Callable[[int], Trial | TreeTrial]) -> SeedTally:
    tally = SeedTally()
    for seed in seeds:
        try:
            trial = attempt(seed)
        except BrokenError as problem:
            tally.broken = (seed, str(problem))
            return tally
        tally.add(SeedTally(1, trial.steps, trial.crashes))
    return tally


def _rehearse(source: bytes, given: Any, seeds: range) -> SeedTally:
    program = compile_source(source)
    tally = SeedTally()
    for seed in seeds:
        try:
            one = rehearse(program, seed, given)
        except BrokenError as problem:
            tally.broken = (seed, str(problem))
            return tally
        ending = f"{one.status} {one.code}".strip()
        tally.add(SeedTally(1, one.steps, one.crashes, Counter([ending])))
    return tally

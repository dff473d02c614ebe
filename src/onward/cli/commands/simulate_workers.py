"""The part of `onward simulate` that runs in processes of its own: many seeds at once."""

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

SEEDS_PER_CHUNK = 25
"""Seeds sent to a process at once: enough to make the cost of sending small."""


@dataclass(slots=True)
class SeedTally:
    """The combined results of some seeds."""

    seeds: int = 0
    steps: int = 0
    crashes: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    broken: tuple[int, str] | None = None
    """The first seed with a fault, and the fault."""

    def add(self, other: SeedTally) -> None:
        """Add the results of other seeds."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.crashes += other.crashes
        self.endings += other.endings
        if other.broken is not None and (self.broken is None or other.broken < self.broken):
            self.broken = other.broken


Work = Callable[[range], SeedTally]
"""Try some seeds."""


def random_workflows(language: str) -> Work:
    """Return the work of trying seeds on workflows that are generated from the seeds."""
    return _try_trees if language == "serverless" else _try_graphs


def own_workflow(source: bytes, value: Any) -> Work:
    """Return the work of rehearsing one workflow, given as canonical bytes, seed by seed."""
    return partial(_rehearse, source, value)


def tallies(work: Work, seeds: range, jobs: int) -> Iterator[SeedTally]:
    """Yield the tally of each chunk of seeds as it is done, stopping after the first fault."""
    chunks = [
        seeds[start : start + SEEDS_PER_CHUNK] for start in range(0, len(seeds), SEEDS_PER_CHUNK)
    ]
    if jobs == 1 or len(chunks) == 1:
        for chunk in chunks:
            tally = work(chunk)
            yield tally
            if tally.broken is not None:
                return
        return
    # Only a few chunks are submitted ahead: stopping then waits for those, not for all.
    ahead = iter(chunks)
    with ProcessPoolExecutor(min(jobs, len(chunks)), initializer=_ignore_interrupt) as pool:
        waiting = {pool.submit(work, chunk) for chunk in islice(ahead, 2 * jobs)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                tally = future.result()
                yield tally
                if tally.broken is not None:
                    return
            waiting |= {pool.submit(work, chunk) for chunk in islice(ahead, len(done))}


def _ignore_interrupt() -> None:
    """Ignore Ctrl-C: it reaches every process of the terminal, and only the first handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _try_graphs(seeds: range) -> SeedTally:
    catalogue = catalogue_with_tasks(builtin)
    return _tally(seeds, lambda seed: try_seed(seed, catalogue))


def _try_trees(seeds: range) -> SeedTally:
    return _tally(seeds, try_tree)


def _tally(seeds: range, attempt: Callable[[int], Trial | TreeTrial]) -> SeedTally:
    tally = SeedTally()
    for seed in seeds:
        try:
            trial = attempt(seed)
        except BrokenError as problem:
            tally.broken = (seed, str(problem))
            return tally
        tally.add(SeedTally(1, trial.steps, trial.crashes))
    return tally


def _rehearse(source: bytes, value: Any, seeds: range) -> SeedTally:
    program = compile_source(source)
    tally = SeedTally()
    for seed in seeds:
        try:
            rehearsal = rehearse(program, seed, value)
        except BrokenError as problem:
            tally.broken = (seed, str(problem))
            return tally
        ending = f"{rehearsal.status} {rehearsal.code}".strip()
        tally.add(SeedTally(1, rehearsal.steps, rehearsal.crashes, Counter([ending])))
    return tally

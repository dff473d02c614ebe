"""`onward simulate`: workflows under crashes, duplicates and delays, on a clock of its own."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onward.cli import exit_codes
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.commands.simulate_workers import SeedTally, Work


@click.command(
    epilog=examples(
        "onward simulate --language serverless --seeds 2000",
        "onward simulate order.yaml --seeds 200",
    )
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@option("--seeds", type=click.IntRange(1), default=200, show_default=True, help="How many to try.")
@option("--first", type=click.IntRange(0), default=0, show_default=True, help="The first seed.")
@option("--seed", type=click.IntRange(0), default=None, help="Try only this seed.")
@option(
    "--jobs",
    type=click.IntRange(1),
    default=None,
    help="How many processes to use.  [default: one for each core]",
)
@option(
    "--language",
    type=click.Choice(["graph", "serverless"]),
    default=None,
    help="The language of random workflows.  [default: graph]",
)
@option("--input", "whole", metavar="JSON|@FILE|-", help="The input of FILE.  [default: {}]")
def simulate(
    file: Path | None,
    seeds: int,
    first: int,
    seed: int | None,
    jobs: int | None,
    language: str | None,
    whole: str | None,
) -> int:
    """Test random workflows, or the one in FILE, under crashes, duplicates and delays.

    A seed determines a schedule of faults. Each workflow is also run without faults, and both runs
    must end alike. Nodes of FILE with side effects are replaced by stubs, of which one in ten
    fails: the endings are counted.
    """
    from onward.cli.commands.simulate_workers import SeedTally, tallies

    work = _work(file, language, whole)
    numbers = range(first, first + seeds) if seed is None else range(seed, seed + 1)
    total = SeedTally()
    started = time.perf_counter()
    with _progress(len(numbers)) as advance:
        for tally in tallies(work, numbers, jobs or os.cpu_count() or 1):
            total.add(tally)
            advance(tally.seeds)
    return _report(total, time.perf_counter() - started, file)


def _work(file: Path | None, language: str | None, whole: str | None) -> Work:
    from onward.cli.commands.simulate_workers import own_workflow, random_workflows
    from onward.cli.input.documents import open_source
    from onward.cli.input.run_input import read_run_input
    from onward.errors import InputError
    from onward.simulation.own_workflow import find_obstacle

    if file is not None:
        if language is not None:
            raise click.UsageError("--language is for random workflows: FILE has its own")
        program = open_source(file).program
        why = find_obstacle(program)
        if why:
            raise InputError(f"{file}: it cannot be simulated: {why}")
        return own_workflow(program.document.source, read_run_input(whole, ()))
    if whole is not None:
        raise click.UsageError("--input needs a FILE: random workflows have their own")
    return random_workflows(language or "graph")


def _report(total: SeedTally, elapsed_s: float, file: Path | None) -> int:
    if total.broken is not None:
        seed, text = total.broken
        click.echo(text)
        if file is not None:
            click.echo(
                "repeat with: " + shlex.join(["onward", "simulate", str(file), f"--seed={seed}"])
            )
        return exit_codes.FAILED
    if total.endings:
        width = max(map(len, total.endings))
        for ending, count in sorted(total.endings.items(), key=lambda pair: (-pair[1], pair[0])):
            click.echo(f"{ending:{width}}  {count:,}")
    seeds = "1 seed" if total.seeds == 1 else f"{total.seeds:,} seeds"
    click.echo(
        f"{seeds}, no fault: {total.steps:,} steps, {total.crashes:,} crashes,"
        f" {total.seeds / max(elapsed_s, 1e-6):,.0f} seeds/s"
    )
    return exit_codes.OK


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; yield the function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(40), MofNCompleteColumn(), "seeds", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("seeds", total=total)
        yield lambda count: progress.advance(task, count)

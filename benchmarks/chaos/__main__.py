"""The command: `./onward check --chaos`, or `python -m benchmarks.chaos` in a checkout."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import click
from benchmarks.chaos.campaign import Limits, Tell, run
from benchmarks.chaos.plan import GROUPS, UNASKED, Plan
from benchmarks.chaos.report import Report
from benchmarks.chaos.servers import MissingError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

LINE_EVERY_S = 15
NOT_POSSIBLE = 7


class Least(click.ParamType[dict[str, int]]):
    """`worker=100,broker=5`: how many faults of a group there must be."""

    name = "GROUP=COUNT,..."

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, int]:
        """Return the counts by group."""
        if isinstance(value, dict):
            return value
        counts: dict[str, int] = {}
        for part in str(value).split(","):
            group, _, count = part.strip().partition("=")
            if group not in GROUPS:
                known = ", ".join(GROUPS)
                self.fail(f"there is no group of faults {group!r}; there are {known}", param, ctx)
            if not count.isdecimal():
                self.fail(f"{part.strip()!r} has no count: write {group}=10", param, ctx)
            counts[group] = int(count)
        return counts


@click.command()
@click.option("--seconds", type=click.FloatRange(1), default=60, show_default=True, help="Of load.")
@click.option("--executions", type=click.IntRange(0), default=0, help="Runs to start at least.")
@click.option("--least", type=Least(), default={}, help="Faults to do at least, by group.")
@click.option("--seed", type=int, default=1, show_default=True, help="Decides the whole plan.")
@click.option("--workers", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--rate",
    type=click.FloatRange(0.1),
    default=None,
    help="Runs started in a second.  [default: 10, or what --executions needs]",
)
@click.option("--wipe", is_flag=True, help="Also wipe Redis: runs may then fail with a cause.")
@click.option(
    "--back-within",
    "back_within_s",
    type=click.FloatRange(1),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long a run that is started after a fault may take.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Print the faults and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def chaos(
    seconds: float,
    executions: int,
    least: dict[str, int],
    seed: int,
    workers: int,
    rate: float | None,
    wipe: bool,
    back_within_s: float,
    only_plan: bool,
    as_json: bool,
) -> None:
    """Break everything under load, and see that no run is lost, doubled, stuck or left behind.

    The load goes on for --seconds, and longer if --executions or --least are not met by then. The
    same seed and numbers give the same faults at the same times.
    """
    if not wipe and UNASKED & least.keys():
        raise click.UsageError("--least wipe=... needs --wipe")
    plan = Plan(seed, seconds, workers, least, executions, wipe)
    if only_plan:
        _print_plan(plan)
        return
    limits = Limits(rate or max(10.0, executions / seconds), back_within_s)
    console = Console(stderr=True)
    try:
        with _progress(plan, console) as tell:
            report = _in_loop(plan, limits, tell)
    except MissingError as missing:
        click.echo(f"chaos: {missing}", err=True)
        sys.exit(NOT_POSSIBLE)
    if as_json:
        click.echo(json.dumps(report.as_json()))
    else:
        report.show(Console())
    sys.exit(1 if report.problems else 0)


def _print_plan(plan: Plan) -> None:
    faults = plan.within()
    for fault in faults:
        click.echo(str(fault))
    for kind, count in sorted(Counter(fault.kind for fault in faults).items()):
        click.echo(f"{count:8d}    {kind}")


def _in_loop(plan: Plan, limits: Limits, tell: Tell) -> Report:
    from onward.cli.engines.engine import new_loop

    async def main() -> Report:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await run(plan, limits, tell)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main())


@contextmanager
def _progress(plan: Plan, console: Console) -> Iterator[Tell]:
    """Show how far it is: a bar on a terminal, else a line now and then."""
    if not console.is_terminal:
        yield _lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(30),
        TextColumn("{task.fields[runs]:,} runs, {task.fields[faults]:,} faults"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=plan.seconds, runs=0, faults=0)

        def tell(stage: str, elapsed_s: float, runs: int, faults: int) -> None:
            progress.update(bar, description=stage, completed=elapsed_s, runs=runs, faults=faults)

        yield tell


def _lines() -> Tell:
    told = ("", -float(LINE_EVERY_S))

    def tell(stage: str, elapsed_s: float, runs: int, faults: int) -> None:
        nonlocal told
        now = time.monotonic()
        if stage != told[0] or now - told[1] >= LINE_EVERY_S:
            told = (stage, now)
            click.echo(f"chaos: {stage}: {elapsed_s:.0f} s, {runs} runs, {faults} faults", err=True)

    return tell


if __name__ == "__main__":
    chaos()

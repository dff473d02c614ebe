"""One action on many runs: on runs that are named one by one, on those that filters choose at once.

Chosen runs are looked up first. With `--dry-run` they are only listed; otherwise the action needs a
confirmation, and is applied to exactly the runs that were listed.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes
from onward.cli.commands.runs.selection import (
    RUN_HEADINGS,
    filters,
    run_row,
    runs_argument,
    show_run,
)
from onward.cli.engines.engine import EngineAddress, ask, engine_options, output
from onward.cli.options import combine, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

MOST_RUNS = 1000
_HEADINGS = ("run", "done", "new run", "error")
_OPTIONS = combine(
    runs_argument,
    filters,
    option(
        "--limit",
        type=click.IntRange(1, MOST_RUNS),
        default=100,
        show_default=True,
        help="How many runs the filters may choose.",
    ),
    option("--dry-run", is_flag=True, help="Only list the runs."),
    option("--yes", is_flag=True, help="Do not ask for confirmation."),
    output,
    engine_options,
)


@dataclass(frozen=True, slots=True)
class BulkAction:
    """What to do with runs."""

    verb: str
    status: str
    """The status of the runs that filters choose, unless `--status` is given."""
    one: Callable[[AsyncEngine, str], Awaitable[Any]]
    """Apply it to one run; returns the run to print, or an exit code when that is done."""
    many: Callable[[AsyncEngine, list[str]], Awaitable[Any]]
    """Apply it to many runs, and return the outcome of each."""
    creates_runs: bool = False
    """It starts new runs, whose ids are the interesting ones."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The runs that a command names or filters, and where they are."""

    run_ids: list[str]
    query: dict[str, Any]
    limit: int
    dry_run: bool
    yes: bool
    form: str
    engine: EngineAddress

    def apply(self, action: BulkAction) -> int:
        """Apply an action to the runs, and return the exit code."""
        if bool(self.run_ids) == bool(self.query):
            raise click.UsageError(
                f"name the runs to {action.verb}, or choose them with --workflow, --status,"
                " --search, --started-after or --started-before; not both"
            )
        if self.run_ids:
            return self._look_up() if self.dry_run else self._apply_to_each(action)
        runs: list[dict[str, Any]] = []
        query = {"status": action.status} | self.query
        code = ask(self.engine, lambda client: _find(client, query, runs))
        return code or self._apply_to_chosen(action, runs)

    def _apply_to_chosen(self, action: BulkAction, runs: list[dict[str, Any]]) -> int:
        from onward.cli.output.console import count_of, say

        more, chosen = len(runs) > self.limit, runs[: self.limit]
        count = count_of(len(chosen), "run")
        if self.dry_run or not chosen:
            _list(chosen, self.form)
            say(f"would {action.verb} {count}" + (": more match, see --limit" if more else ""))
            return exit_codes.OK
        if not self.yes:
            if not sys.stdin.isatty():
                raise click.UsageError(
                    f"this would {action.verb} {count}: add --yes, or see --dry-run"
                )
            click.confirm(f"{action.verb.capitalize()} {count}?", abort=True, err=True)
        outcomes, code = self._apply_to_all(action, [run["execution_id"] for run in chosen])
        _show_outcomes(outcomes, self.form, action)
        refused = sum(not outcome["done"] for outcome in outcomes)
        summary = f"{len(outcomes) - refused} done, {refused} refused"
        say(summary + (": more match, repeat the command" if more else ""))
        return code or (exit_codes.CONFLICT if refused else exit_codes.OK)

    def _apply_to_all(
        self, action: BulkAction, run_ids: list[str]
    ) -> tuple[list[dict[str, Any]], int]:
        """Return the outcome of each run, and the exit code of what could not be asked.

        In a file each run gets an engine of its own for a moment, so that no other run continues.
        """
        outcomes: list[dict[str, Any]] = []

        async def work(client: AsyncEngine, batch: list[str]) -> int:
            outcomes.extend((await action.many(client, batch))["items"])
            return exit_codes.OK

        remote = bool(self.engine.server)
        for batch in [run_ids] if remote else [[run_id] for run_id in run_ids]:
            run_id = None if remote else batch[0]
            code = ask(self.engine, partial(work, batch=batch), need="run", run_id=run_id)
            if code:
                return outcomes, code
        return outcomes, exit_codes.OK

    def _apply_to_each(self, action: BulkAction) -> int:
        async def work(client: AsyncEngine, run_id: str) -> int:
            run = await action.one(client, run_id)
            if isinstance(run, int):
                return run
            show_run(run, self.form, only_id=action.creates_runs)
            return exit_codes.OK

        return max(
            ask(self.engine, partial(work, run_id=run_id), need="run", run_id=run_id)
            for run_id in self.run_ids
        )

    def _look_up(self) -> int:
        async def work(client: AsyncEngine) -> int:
            _list(
                [await client.call("GET", f"/runs/{run_id}") for run_id in self.run_ids], self.form
            )
            return exit_codes.OK

        return ask(self.engine, work)


def bulk_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the ids and options that select runs: the command gets a `Selection` as `selection`."""

    @wraps(command)
    def run(
        *,
        execution_ids: tuple[str, ...],
        query: dict[str, Any],
        limit: int,
        dry_run: bool,
        yes: bool,
        form: str,
        engine: EngineAddress,
        **given: Any,
    ) -> int:
        run_ids = list(dict.fromkeys(execution_ids))
        selection = Selection(run_ids, query, limit, dry_run, yes, form, engine)
        return command(selection=selection, **given)

    return _OPTIONS(run)


async def _find(client: AsyncEngine, query: dict[str, Any], runs: list[dict[str, Any]]) -> int:
    async with aclosing(client.pages(dict[str, Any], "/runs", **query, limit=200)) as pages:
        async for run in pages:
            runs.append(run)
            if len(runs) > MOST_RUNS:
                break
    return exit_codes.OK


def _list(runs: list[dict[str, Any]], form: str) -> None:
    from onward.cli.output.tables import show_known

    show_known(runs, form, id_of="execution_id", headings=RUN_HEADINGS, row=run_row)


def _show_outcomes(outcomes: list[dict[str, Any]], form: str, action: BulkAction) -> None:
    from onward.cli.output.tables import show_known

    def row(outcome: Mapping[str, Any]) -> list[Cell]:
        done: Cell = ("yes", "green") if outcome["done"] else ("no", "red")
        why = f"{outcome['detail']} [{outcome['code']}]" if outcome["code"] else ""
        return [outcome["execution_id"], done, outcome["attempt"] or "", (why, "red")]

    id_of = "attempt" if action.creates_runs else "execution_id"
    shown = [outcome for outcome in outcomes if outcome["done"] or form != "ids"]
    show_known(shown, form, id_of=id_of, headings=_HEADINGS, row=row)

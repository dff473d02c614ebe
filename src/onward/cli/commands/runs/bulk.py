"""Doing the same to runs: to those that are named each alone, to those that filters choose at once.

What filters choose is listed first. Nothing is done to it with `--dry-run`, or before somebody
has agreed; and what is done, is done to the very runs that were listed.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.runs.selection import RUN_HEADINGS, query_of, run_row, show_run
from onward.cli.engines import server

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

_HEADINGS = ("run", "done", "new run", "error")


@dataclass(frozen=True, slots=True)
class BulkAction:
    """What is to be done."""

    verb: str
    usual: str
    """The status that runs have which filters choose, unless one is given."""
    one: Callable[[AsyncEngine, str], Awaitable[Any]]
    """Do it to one run; returns the run to be shown, or an exit code when it is shown."""
    many: Callable[[AsyncEngine, list[str]], Awaitable[Any]]
    """Do it to many, and return what was done to each."""
    new_id: bool = False
    """It makes new runs, whose ids are what people want to see."""


def steer(asked: BulkAction, given: dict[str, Any], form: str) -> int:
    """Do to runs what is asked for, and return the exit code.

    `given` has ids or filters, and says where the runs are.
    """
    runs = list(dict.fromkeys(given.pop("execution_ids")))
    limit, dry_run, yes = (given.pop(name) for name in ("limit", "dry_run", "yes"))
    query, at = query_of(given), server.where(given)
    if bool(runs) == bool(query):
        raise click.UsageError(
            f"name the runs to {asked.verb}, or say which with --workflow, --status, --search,"
            " --started-after or --started-before; not both"
        )
    if runs:
        return _look(at, runs, form) if dry_run else _each(asked, at, runs, form)
    found: list[dict[str, Any]] = []
    code = server.talk(at, lambda engine: _find(engine, {"status": asked.usual} | query, found))
    if code:
        return code
    return _chosen(asked, at, found, limit, form, dry_run=dry_run, yes=yes)


async def _find(engine: AsyncEngine, query: dict[str, Any], found: list[dict[str, Any]]) -> int:
    async with aclosing(engine.pages(dict[str, Any], "/runs", **query, limit=200)) as pages:
        async for page in pages:
            found.append(page)
            if len(found) > 1000:
                break
    return 0


def _chosen(
    asked: BulkAction,
    at: server.ServerAddress,
    found: list[dict[str, Any]],
    limit: int,
    form: str,
    *,
    dry_run: bool,
    yes: bool,
) -> int:
    from onward.cli.output.run_result import say

    more, meant = len(found) > limit, found[:limit]
    count = f"{len(meant)} run{'s' * (len(meant) != 1)}"
    if dry_run or not meant:
        _list(meant, form)
        say(f"would {asked.verb} {count}" + (": more match, see --limit" if more else ""))
        return 0
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(f"this would {asked.verb} {count}: add --yes, or see --dry-run")
        click.confirm(f"{asked.verb.capitalize()} {count}?", abort=True, err=True)
    items, code = _done(asked, at, [one["execution_id"] for one in meant])
    _show_done(items, form, new_id=asked.new_id)
    refused = sum(not item["done"] for item in items)
    told = f"{len(items) - refused} done, {refused} refused"
    say(told + (": more match, repeat the command" if more else ""))
    return code or (server.CONFLICT if refused else 0)


def _done(
    asked: BulkAction, at: server.ServerAddress, runs: list[str]
) -> tuple[list[dict[str, Any]], int]:
    """Return what was done to each run, and the exit code of what could not be asked.

    In a file each has an engine of its own for that moment, so that no other run goes on.
    """
    items: list[dict[str, Any]] = []

    async def ask(engine: AsyncEngine, some: list[str]) -> int:
        items.extend((await asked.many(engine, some))["items"])
        return 0

    for some in [runs] if at.server else [[run] for run in runs]:
        run = None if at.server else some[0]
        code = server.talk(at, partial(ask, some=some), need="run", run=run)
        if code:
            return items, code
    return items, 0


def _each(asked: BulkAction, at: server.ServerAddress, runs: list[str], form: str) -> int:
    worst = 0
    for one in runs:

        async def ask(engine: AsyncEngine, run: str = one) -> int:
            came = await asked.one(engine, run)
            if isinstance(came, int):
                return came
            show_run(came, form, ids=asked.new_id)
            return 0

        worst = max(worst, server.talk(at, ask, need="run", run=one))
    return worst


def _look(at: server.ServerAddress, runs: list[str], form: str) -> int:
    async def ask(engine: AsyncEngine) -> int:
        _list([await engine.call("GET", f"/runs/{run}") for run in runs], form)
        return 0

    return server.talk(at, ask)


def _list(runs: list[dict[str, Any]], form: str) -> None:
    from onward.cli.output.tables import show_known

    show_known(runs, form, id_of="execution_id", headings=RUN_HEADINGS, row=run_row)


def _show_done(items: list[dict[str, Any]], form: str, *, new_id: bool) -> None:
    from onward.cli.output.tables import show_known

    def row(one: Mapping[str, Any]) -> list[Cell]:
        done: Cell = ("yes", "green") if one["done"] else ("no", "red")
        why = f"{one['detail']} [{one['code']}]" if one["code"] else ""
        return [one["execution_id"], done, one["attempt"] or "", (why, "red")]

    id_of = "attempt" if new_id else "execution_id"
    shown = items if form != "ids" else [item for item in items if item["done"]]
    show_known(shown, form, id_of=id_of, headings=_HEADINGS, row=row)

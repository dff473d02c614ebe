"""`onward runs cancel`, `pause`, `resume`, `retry` and `adjust`: control over runs, one or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.runs.bulk import BulkAction, steer
from onward.cli.commands.runs.selection import RUN, ended, execution, executions, filters, timeout
from onward.cli.engines import server
from onward.cli.engines.server import output, place
from onward.cli.options import F, examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine

_MANY = (
    executions,
    filters,
    option(
        "--limit",
        type=click.IntRange(1, 1000),
        default=100,
        show_default=True,
        help="The most that the filters may choose.",
    ),
    option("--dry-run", is_flag=True, help="Only list the runs that are meant."),
    option("--yes", is_flag=True, help="Do not ask about what the filters choose."),
)


def _many(command: F) -> F:
    """Add what says which runs are meant: their ids, or filters."""
    for add in reversed(_MANY):
        command = add(command)
    return command


@click.command(
    epilog=examples(
        f"onward runs cancel {RUN} --reason 'wrong customer'",
        "onward runs cancel --workflow order --started-before 2026-03-01T00:00:00Z --dry-run",
    )
)
@_many
@option("--reason", metavar="TEXT", default="", help="Why; it is kept with the run.")
@output
@place
def cancel(reason: str, output: str, **given: Any) -> int:
    """End runs as cancelled: those that are named, or all that go on and match the filters.

    Whatever their running nodes come to has no effect.
    """

    async def one(engine: AsyncEngine, run: str) -> Any:
        return await engine.call("POST", f"/runs/{run}:cancel", body={"reason": reason})

    async def many(engine: AsyncEngine, runs: list[str]) -> Any:
        return await engine.cancel_runs(runs, reason=reason, limit=len(runs))

    return steer(BulkAction("cancel", "running", one, many), given, output)


@click.command(
    epilog=examples(
        f"onward runs pause {RUN}",
        "onward runs pause --workflow order --yes --server http://onward:8700",
    )
)
@_many
@output
@place
def pause(output: str, **given: Any) -> int:
    """Let no node of runs begin until they are resumed; those that run finish."""

    async def one(engine: AsyncEngine, run: str) -> Any:
        return await engine.call("POST", f"/runs/{run}:pause")

    async def many(engine: AsyncEngine, runs: list[str]) -> Any:
        return await engine.pause_runs(runs, limit=len(runs))

    return steer(BulkAction("pause", "running", one, many), given, output)


@click.command(
    epilog=examples(
        f"onward runs resume {RUN}",
        "onward runs resume --workflow order --yes --server http://onward:8700",
    )
)
@_many
@output
@place
def resume(output: str, **given: Any) -> int:
    """Let paused runs go on. In a file nobody executes them: `onward resume` does."""

    async def one(engine: AsyncEngine, run: str) -> Any:
        return await engine.call("POST", f"/runs/{run}:resume")

    async def many(engine: AsyncEngine, runs: list[str]) -> Any:
        return await engine.resume_runs(runs, limit=len(runs))

    return steer(BulkAction("resume", "running", one, many), given, output)


@click.command(
    epilog=examples(
        f"onward runs retry {RUN} --split orders --latest --wait",
        "onward runs retry --workflow order --started-after 2026-03-01T00:00:00Z --dry-run",
    )
)
@_many
@option(
    "--from",
    "from_nodes",
    multiple=True,
    metavar="NODE",
    help="Execute this node again too, and what follows; may be repeated.",
)
@option("--item", metavar="ITEM", default=None, help="Of --from only inside this item: users[5].")
@option(
    "--split", metavar="NODE", default=None, help="Of items that failed only those of this split."
)
@option("--everything", is_flag=True, help="Keep nothing of what succeeded.")
@option("--latest", is_flag=True, help="With the version that the workflow has published now.")
@options.value("With this input instead.  [default: the same again]")
@options.execution_id
@option("--wait", is_flag=True, help="Wait for the end, and print the output.")
@timeout
@output
@place
def retry(wait: bool, timeout_s: float | None, output: str, **given: Any) -> int:
    """Try runs again: new runs that keep what succeeded, and execute what failed and follows.

    Name runs, or let filters choose among those that failed, were halted or cancelled; for
    several only --latest can be given. In a file the command waits for the end.
    """
    from onward.cli.input.run_input import read_if_given

    names = ("from_nodes", "item", "split", "everything", "latest", "execution_id")
    what = {name: given.pop(name) for name in names}
    what["input"] = read_if_given(given.pop("whole"), given.pop("pairs"))
    latest, waits = what["latest"], wait or not given["server"]
    if timeout_s is not None and not waits:
        raise click.UsageError("--timeout says how long to wait: add --wait")
    if len(given["execution_ids"]) != 1 and any(
        value for name, value in what.items() if name != "latest"
    ):
        raise click.UsageError("with several runs only --latest can be given: name one run")

    async def one(engine: AsyncEngine, run: str) -> Any:
        from onward.cli.output.run_result import say

        attempt = await engine.run(run).retry(**what)
        if waits:
            say(f"started {attempt.id}")
            return await ended(attempt, timeout_s, output)
        return await engine.call("GET", f"/runs/{attempt.id}")

    async def many(engine: AsyncEngine, runs: list[str]) -> Any:
        from onward.cli.output.run_result import say

        done = await engine.retry_runs(runs, latest=latest, limit=len(runs))
        for attempt in [item["attempt"] for item in done["items"] if item["attempt"] and waits]:
            try:
                await engine.run(attempt).wait(timeout_s)
            except TimeoutError:
                say(f"{attempt} has not ended after {timeout_s:g} s; it goes on")
        return done

    usual = "failed,halted,cancelled"
    return steer(BulkAction("retry", usual, one, many, new_id=True), given, output)


@click.command(
    epilog=examples(
        f"onward runs adjust {RUN} each --max-concurrency 5 --server http://onward:8700",
        f"onward runs adjust {RUN} each --tolerate 20 --item 'users[5]'",
    )
)
@execution
@click.argument("split")
@option("--max-concurrency", type=click.IntRange(1, 1_000_000), help="Items in flight at most.")
@option("--tolerate", type=click.IntRange(0, 1_000_000_000), help="Items that may fail.")
@option("--any-failures", is_flag=True, help="Any number of items may fail.")
@option("--item", metavar="ITEM", default=None, help="Only inside this item of an outer split.")
@output
@place
def adjust(execution_id: str, split: str, output: str, **given: Any) -> int:
    """Change the node SPLIT while it waits for items; the next one that is done counts by it."""
    at = server.where(given)
    if (
        not any(given[name] is not None for name in ("max_concurrency", "tolerate"))
        and not (given["any_failures"])
    ):
        raise click.UsageError("give --max-concurrency, --tolerate or --any-failures")
    if given["tolerate"] is not None and given["any_failures"]:
        raise click.UsageError("--tolerate does not go with --any-failures")

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one

        changed = await engine.run(execution_id).adjust(
            split,
            max_concurrency=given["max_concurrency"],
            tolerated_failures=given["tolerate"],
            any_failures=given["any_failures"],
            item=given["item"],
        )
        facts = {"execution_id": execution_id, "split": split, "changed": changed}
        said = f"changed {changed} run{'s' * (changed != 1)} of {split}"
        show_one(facts, output, id_of="execution_id", people=lambda: click.echo(said))
        return 0

    return server.talk(at, ask, need="run", run=execution_id)

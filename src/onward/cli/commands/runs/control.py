"""`onward runs cancel`, `pause`, `resume`, `retry` and `adjust`: control over runs, one or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.runs.bulk import BulkAction, Selection, bulk_options
from onward.cli.commands.runs.selection import (
    ITEM_HELP,
    SAMPLE_RUN,
    check_timeout,
    run_argument,
    wait_and_show,
)
from onward.cli.engines.engine import EngineAddress, answer_options, show
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.client import AsyncEngine


def _steering_command(verb: str, help_text: str) -> click.Command:
    """Return `pause` or `resume`: one call for one run, one for many."""

    async def one(client: AsyncEngine, run_id: str) -> Any:
        return await client.call("POST", f"/runs/{run_id}:{verb}")

    async def many(client: AsyncEngine, run_ids: list[str]) -> Any:
        apply = client.pause_runs if verb == "pause" else client.resume_runs
        return await apply(run_ids, limit=len(run_ids))

    @click.command(
        name=verb,
        help=help_text,
        epilog=examples(
            f"onward runs {verb} {SAMPLE_RUN}",
            f"onward runs {verb} --workflow order --yes --server http://onward:8700",
        ),
    )
    @bulk_options
    def command(selection: Selection) -> int:
        return selection.apply(BulkAction(verb, "running", one, many))

    return command


pause = _steering_command("pause", "Pause runs: running nodes finish, no other node begins.")
resume = _steering_command(
    "resume",
    "Resume paused runs. On a database file, `onward continue` then executes them.",
)


@click.command(
    epilog=examples(
        f"onward runs cancel {SAMPLE_RUN} --reason 'wrong customer'",
        "onward runs cancel --workflow order --started-before 2026-03-01T00:00:00Z --dry-run",
    )
)
@bulk_options
@option("--reason", metavar="TEXT", default="", help="The reason, which is recorded with the run.")
def cancel(selection: Selection, reason: str) -> int:
    """Cancel runs: those that are named, or all running ones that match the filters.

    The results of their running nodes are ignored.
    """

    async def one(client: AsyncEngine, run_id: str) -> Any:
        return await client.call("POST", f"/runs/{run_id}:cancel", body={"reason": reason})

    async def many(client: AsyncEngine, run_ids: list[str]) -> Any:
        return await client.cancel_runs(run_ids, reason=reason, limit=len(run_ids))

    return selection.apply(BulkAction("cancel", "running", one, many))


@click.command(
    epilog=examples(
        f"onward runs retry {SAMPLE_RUN} --split orders --latest --wait",
        "onward runs retry --workflow order --started-after 2026-03-01T00:00:00Z --dry-run",
    )
)
@bulk_options
@option(
    "--from",
    "from_nodes",
    multiple=True,
    metavar="NODE",
    help="Also execute this node and its successors again; may be repeated.",
)
@option("--item", metavar="ITEM", default=None, help="With --from: only inside this item.")
@option("--split", metavar="NODE", default=None, help="Retry only the failed items of this split.")
@option("--everything", is_flag=True, help="Execute everything again.")
@option("--latest", is_flag=True, help="Use the version of the workflow that is published now.")
@options.value("Another input.  [default: the input of the run]")
@options.execution_id
@options.wait
@options.timeout
def retry(
    selection: Selection, wait: bool, timeout_s: float | None, value: Any, **changes: Any
) -> int:
    """Retry runs: start new runs that keep successful results and execute the rest again.

    Name the runs, or choose among failed, halted and cancelled ones with filters. With several runs
    only --latest can be given. On a database file the command waits for the end.
    """
    waits = wait or not selection.engine.server
    check_timeout(timeout_s, waits=waits)
    changes["input"] = value
    special = [name for name, change in changes.items() if change and name != "latest"]
    if len(selection.run_ids) != 1 and special:
        raise click.UsageError("with several runs only --latest can be given: name one run")

    async def one(client: AsyncEngine, run_id: str) -> Any:
        from onward.cli.output.console import say

        attempt = await client.run(run_id).retry(**changes)
        if waits:
            say(f"started {attempt.id}")
            return await wait_and_show(attempt, timeout_s, selection.form)
        return await client.call("GET", f"/runs/{attempt.id}")

    async def many(client: AsyncEngine, run_ids: list[str]) -> Any:
        from onward.cli.output.console import say

        done = await client.retry_runs(run_ids, latest=changes["latest"], limit=len(run_ids))
        for attempt in [item["attempt"] for item in done["items"] if item["attempt"] and waits]:
            try:
                await client.run(attempt).wait(timeout_s)
            except TimeoutError:
                say(f"{attempt} has not ended after {timeout_s:g} s; it continues")
        return done

    status = "failed,halted,cancelled"
    return selection.apply(BulkAction("retry", status, one, many, creates_runs=True))


@click.command(
    epilog=examples(
        f"onward runs adjust {SAMPLE_RUN} each --max-concurrency 5 --server http://onward:8700",
        f"onward runs adjust {SAMPLE_RUN} each --tolerate 20 --item 'users[5]'",
    )
)
@run_argument
@click.argument("split")
@option("--max-concurrency", type=click.IntRange(1, 1_000_000), help="Items in progress at most.")
@option("--tolerate", type=click.IntRange(0, 1_000_000_000), help="How many items may fail.")
@option("--any-failures", is_flag=True, help="Any number of items may fail.")
@option("--item", metavar="ITEM", default=None, help=ITEM_HELP)
@answer_options
def adjust(
    execution_id: str,
    split: str,
    max_concurrency: int | None,
    tolerate: int | None,
    any_failures: bool,
    item: str | None,
    engine: EngineAddress,
) -> int:
    """Change the limits of the node SPLIT while it waits for items, from the next item on."""
    if max_concurrency is None and tolerate is None and not any_failures:
        raise click.UsageError("give --max-concurrency, --tolerate or --any-failures")
    if tolerate is not None and any_failures:
        raise click.UsageError("--tolerate and --any-failures exclude each other")

    async def work(client: AsyncEngine) -> dict[str, Any]:
        changed = await client.run(execution_id).adjust(
            split,
            max_concurrency=max_concurrency,
            tolerated_failures=tolerate,
            any_failures=any_failures,
            item=item,
        )
        return {"execution_id": execution_id, "split": split, "changed": changed}

    def people(facts: Mapping[str, Any]) -> None:
        from onward.cli.output.console import count_of

        click.echo(f"changed {count_of(facts['changed'], 'run')} of {split}")

    return show(
        engine,
        work,
        id_of="execution_id",
        people=people,
        need="run",
        run_id=execution_id,
    )

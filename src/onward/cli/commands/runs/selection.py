"""Which runs a command means, by id or by filters, and how a run is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes
from onward.cli.commands.completion import run_ids, workflow_ids
from onward.cli.options import combine, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncRun

SAMPLE_RUN = "run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J"
"""The run in examples."""
RUN_HEADINGS = ("run", "workflow", "status", "started", "took")
ITEM_HELP = "Only inside this item, such as users[5]."

run_argument = click.argument("execution_id", metavar="RUN", shell_complete=run_ids)
runs_argument = click.argument(
    "execution_ids", metavar="[RUN]...", nargs=-1, shell_complete=run_ids
)
workflow_option = option(
    "--workflow",
    metavar="WORKFLOW",
    default=None,
    shell_complete=workflow_ids,
    help="Only of this workflow.",
)
_FILTERS = combine(
    workflow_option,
    option("--status", metavar="STATUS,...", default="", help="Only with one of these statuses."),
    option("--search", metavar="TEXT", default="", help="Only with this text in the id."),
    option("--started-after", metavar="TIME", default=None, help="An RFC 3339 time."),
    option("--started-before", metavar="TIME", default=None, help="An RFC 3339 time."),
)


def filters(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that filter runs: the command gets those given as `query`."""

    @wraps(command)
    def run(
        *,
        workflow: str | None,
        status: str,
        search: str,
        started_after: str | None,
        started_before: str | None,
        **given: Any,
    ) -> int:
        query = {
            "workflow_id": workflow,
            "status": status,
            "q": search,
            "started_after": started_after,
            "started_before": started_before,
        }
        chosen = {name: value for name, value in query.items() if value}
        return command(query=chosen, **given)

    return _FILTERS(run)


def run_row(run: Mapping[str, Any]) -> list[Cell]:
    """Return a run as a line of a table."""
    from onward.cli.output.tables import duration_cell, status_cell, time_cell

    paused = run.get("paused_at") and not run.get("ended_at")
    return [
        run["execution_id"],
        run["workflow_id"],
        ("paused", "yellow") if paused else status_cell(run),
        time_cell(run["started_at"]),
        duration_cell(run),
    ]


def show_run(run: Mapping[str, Any], form: str, *, only_id: bool = False) -> None:
    """Print a run in the form of `--output`; for people its line, or only its id."""
    from onward.cli.output.tables import print_table, show_one

    def people() -> None:
        if only_id:
            click.echo(run["execution_id"])
        else:
            print_table(RUN_HEADINGS, [run_row(run)])

    show_one(run, form, id_of="execution_id", people=people)


def check_timeout(timeout_s: float | None, *, waits: bool) -> None:
    """Raise UsageError for a `--timeout` without a wait."""
    if timeout_s is not None and not waits:
        raise click.UsageError("--timeout limits how long to wait: add --wait")


def still_running(run_id: str, timeout_s: float | None) -> int:
    """Print that the time to wait is over, and return the exit code."""
    from onward.cli.output.console import say

    say(f"{run_id} has not ended after {timeout_s:g} s; it continues")
    return exit_codes.TIMED_OUT


async def wait_and_show(run: AsyncRun, timeout_s: float | None, form: str) -> int:
    """Wait for the end of a run, print its output, and return the exit code."""
    import msgspec

    from onward.cli.output.console import print_json, print_pretty, say
    from onward.cli.output.durations import seconds

    try:
        info = await run.wait(timeout_s)
    except TimeoutError:
        return still_running(run.id, timeout_s)
    done = info.status == "completed"
    result = await run.result() if done else None
    if form == "ids":
        click.echo(run.id)
    elif form != "table":
        print_json({**msgspec.to_builtins(info), "output": result})
    elif done:
        print_pretty(result)
    say(f"{info.status} after {seconds(info.duration_ms or 0)}: {run.id}")
    if info.error:
        say(f"  error  {info.error.get('message')} [{info.error.get('code')}]")
    return exit_codes.OK if done else exit_codes.FAILED

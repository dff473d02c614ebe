"""Which runs a command means, by id or by what they have in common; and how one is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.completion import run_ids, workflow_ids
from onward.cli.engines import server
from onward.cli.options import F, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncRun

RUN = "run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J"
"""The run in examples."""
RUN_HEADINGS = ("run", "workflow", "status", "started", "took")

execution = click.argument("execution_id", metavar="EXECUTION", shell_complete=run_ids)
executions = click.argument(
    "execution_ids", metavar="[EXECUTION]...", nargs=-1, shell_complete=run_ids
)
timeout = option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="How long to wait; the run goes on.  [default: until it ends]",
)
_FILTERS = (
    option(
        "--workflow",
        metavar="ID",
        default=None,
        shell_complete=workflow_ids,
        help="Only of this workflow.",
    ),
    option("--status", metavar="STATUS,...", default="", help="Only with one of these."),
    option("--search", metavar="TEXT", default="", help="Only those with this in their id."),
    option("--started-after", metavar="TIME", default=None, help="RFC 3339."),
    option("--started-before", metavar="TIME", default=None, help="RFC 3339."),
)


def filters(command: F) -> F:
    """Add the options that say which runs are meant."""
    for add in reversed(_FILTERS):
        command = add(command)
    return command


def query_of(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `filters`, and return those that were given, as the API calls them."""
    query = {
        "workflow_id": given.pop("workflow"),
        "status": given.pop("status"),
        "q": given.pop("search"),
        "started_after": given.pop("started_after"),
        "started_before": given.pop("started_before"),
    }
    return {name: value for name, value in query.items() if value}


def run_row(one: Mapping[str, Any]) -> list[Cell]:
    """Return a run as a line of a table."""
    from onward.cli.output import tables

    paused = one.get("paused_at") and not one.get("ended_at")
    return [
        one["execution_id"],
        one["workflow_id"],
        ("paused", "yellow") if paused else tables.status(one),
        tables.moment(one["started_at"]),
        tables.took(one),
    ]


def show_run(run: Mapping[str, Any], form: str, *, ids: bool = False) -> None:
    """Print a run in the form that was asked for; for people its line, or only its id."""
    from onward.cli.output.tables import print_table, show_one

    def people() -> None:
        if ids:
            click.echo(run["execution_id"])
        else:
            print_table(RUN_HEADINGS, [run_row(run)])

    show_one(run, form, id_of="execution_id", people=people)


async def ended(run: AsyncRun, timeout_s: float | None, form: str) -> int:
    """Wait for the end of a run, and print what it came to."""
    import msgspec

    from onward.cli.output.durations import seconds
    from onward.cli.output.run_result import print_json, print_pretty, say

    try:
        info = await run.wait(timeout_s)
    except TimeoutError:
        say(f"{run.id} has not ended after {timeout_s:g} s; it goes on")
        return server.TIMED_OUT
    done = info.status == "completed"
    whole = await run.result() if done else None
    if form == "ids":
        click.echo(run.id)
    elif form == "table":
        if done:
            print_pretty(whole)
    else:
        print_json({**msgspec.to_builtins(info), "output": whole})
    say(f"{info.status} after {seconds(info.duration_ms or 0)}: {run.id}")
    if info.error:
        say(f"  error  {info.error.get('message')} [{info.error.get('code')}]")
    return 0 if done else server.FAILED

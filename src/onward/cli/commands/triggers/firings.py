"""`onward triggers next`, `preview`, `fire`, `backfill` and `firings`: when triggers fire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.commands.completion import trigger_ids
from onward.cli.commands.triggers.options import schedule_of, schedule_options
from onward.cli.engines.engine import (
    EngineAddress,
    answer_options,
    ask,
    show_all,
)
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

FIRING_HEADINGS = ("due", "cause", "state", "run", "error")

trigger_argument = click.argument("trigger_id", metavar="TRIGGER", shell_complete=trigger_ids)
_count = option(
    "--count", type=click.IntRange(1, 100), default=5, show_default=True, help="How many times."
)
_after = option("--after", metavar="TIME", help="An RFC 3339 time.  [default: now]")


@click.command(
    name="next",
    epilog=examples(
        "onward triggers next nightly --count 10",
        "onward triggers next nightly --after 2026-10-24T00:00:00Z",
    ),
)
@trigger_argument
@_count
@_after
@answer_options
def next_times(trigger_id: str, count: int, after: str | None, engine: EngineAddress) -> int:
    """Print the next times of a schedule, one per line, in UTC."""

    async def work(client: AsyncEngine) -> int:
        return _print_times(await client.next_times(trigger_id, count, after), engine.form)

    return ask(engine, work)


@click.command(
    epilog=examples(
        'onward triggers preview --cron "30 2 * * *" --zone Europe/Berlin --count 10',
        "onward triggers preview --every 90m --after 2026-10-24T00:00:00Z",
    )
)
@schedule_options
@_count
@_after
@answer_options
def preview(count: int, after: str | None, engine: EngineAddress, **schedule: Any) -> int:
    """Print the times of a schedule without storing it, one per line, in UTC."""
    settings = schedule_of(schedule)

    async def work(client: AsyncEngine) -> int:
        return _print_times(await client.preview_schedule(settings, count, after), engine.form)

    return ask(engine, work, need="write")


@click.command(
    epilog=examples(
        "onward triggers fire nightly --server http://onward:8700",
        "onward triggers fire greeting -i name=Ada --key greeting-1",
    )
)
@trigger_argument
@options.value("The input of the run.  [default: the trigger's]")
@options.idempotency_key("Fire once: firing again with the same key does nothing.")
@answer_options
def fire(trigger_id: str, value: Any, key: str | None, engine: EngineAddress) -> int:
    """Start a run now and print its id. On a database file the command waits for its end."""

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one

        firing = await client.fire_trigger(trigger_id, value, key=key)
        run_id = firing["execution_id"]
        show_one(firing, engine.form, id_of="execution_id", people=lambda: click.echo(run_id))
        if not engine.server:
            await client.run(run_id).result()
        return exit_codes.OK

    return ask(engine, work, need="run")


@click.command(
    epilog=examples(
        "onward triggers backfill nightly --from 2026-03-01T00:00:00Z --until 2026-03-08T00:00:00Z",
        "onward triggers backfill nightly --from 2026-03-01 --until 2026-03-08 --overlap allow",
    )
)
@trigger_argument
@option("--from", "start_at", required=True, metavar="TIME", help="An RFC 3339 time, or a day.")
@option("--until", "end_at", required=True, metavar="TIME", help="An RFC 3339 time, or a day.")
@option(
    "--overlap",
    type=click.Choice(["queue", "allow"]),
    default="queue",
    show_default=True,
    help="Start the runs one after the other, or all at once.",
)
@answer_options
def backfill(
    trigger_id: str, start_at: str, end_at: str, overlap: str, engine: EngineAddress
) -> int:
    """Fire for every past time of a schedule in a range that has not fired yet."""

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.console import print_json

        done = await client.backfill_trigger(trigger_id, start_at, end_at, overlap=overlap)
        if engine.form == "table":
            click.echo(f"{done['added']} of {done['times']} times will fire")
        else:
            print_json(done)
        return exit_codes.OK

    return ask(engine, work, need="write")


@click.command(
    epilog=examples(
        "onward triggers firings nightly --limit 20", "onward triggers firings nightly -o jsonl"
    )
)
@trigger_argument
@options.limit
@answer_options
def firings(trigger_id: str, limit: int, engine: EngineAddress) -> int:
    """List the firings of a trigger, newest first, also those that were refused or skipped.

    With -o ids the ids of their runs are listed.
    """
    return show_all(
        engine,
        lambda client: client.firings(trigger_id),
        id_of="execution_id",
        headings=FIRING_HEADINGS,
        row=firing_row,
        limit=limit,
    )


def firing_row(firing: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return a firing as a line of a table."""
    from onward.cli.output.tables import time_cell

    colour = {"started": "green", "refused": "red", "skipped": "yellow"}.get(firing["state"], "")
    return (
        time_cell(firing["due_at"]),
        firing["cause"],
        (firing["state"], colour),
        firing["execution_id"] or "",
        firing["note"],
    )


def _print_times(times: list[str], form: str) -> int:
    from onward.cli.output.console import print_json

    if form == "json":
        print_json(times)
        return exit_codes.OK
    for time in times:
        if form == "jsonl":
            print_json(time)
        else:
            click.echo(time)
    return exit_codes.OK

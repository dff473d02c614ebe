"""
`onward triggers next`, `preview`, `fire`, `backfill` and `firings`: when triggers fire, or did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.completion import trigger_ids
from onward.cli.commands.triggers.options import schedule, schedule_of
from onward.cli.engines import server
from onward.cli.engines.server import output, place, tell_all
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

FIRED = ("due", "cause", "state", "run", "error")

trigger_name = click.argument("trigger_id", metavar="TRIGGER", shell_complete=trigger_ids)
_count = option(
    "--count", type=click.IntRange(1, 100), default=5, show_default=True, help="How many."
)
_after = option("--after", metavar="TIME", help="RFC 3339.  [default: now]")


@click.command(
    name="next",
    epilog=examples(
        "onward triggers next nightly --count 10",
        "onward triggers next nightly --after 2026-10-24T00:00:00Z",
    ),
)
@trigger_name
@_count
@_after
@output
@place
def next_times(trigger_id: str, count: int, after: str | None, output: str, **given: Any) -> int:
    """Print when a schedule is due next, a line for each time, in UTC."""

    async def ask(engine: AsyncEngine) -> int:
        return _print_times(await engine.next_times(trigger_id, count, after), output)

    return server.talk(server.where(given), ask)


@click.command(
    epilog=examples(
        'onward triggers preview --cron "30 2 * * *" --zone Europe/Berlin --count 10',
        "onward triggers preview --every 90m --after 2026-10-24T00:00:00Z",
    )
)
@schedule
@_count
@_after
@output
@place
def preview(count: int, after: str | None, output: str, **given: Any) -> int:
    """Print when a schedule would be due, a line for each time, in UTC; nothing is kept."""
    settings = schedule_of(given)

    async def ask(engine: AsyncEngine) -> int:
        return _print_times(await engine.preview_schedule(settings, count, after), output)

    return server.talk(server.where(given), ask, need="write")


@click.command(
    epilog=examples(
        "onward triggers fire nightly --server http://onward:8700",
        "onward triggers fire greeting -i name=Ada --key greeting-1",
    )
)
@trigger_name
@options.value("The input.  [default: the trigger's]")
@options.idempotency_key("Firing again with the same key fires nothing.")
@output
@place
def fire(trigger_id: str, key: str | None, output: str, **given: Any) -> int:
    """Start a run now, and print its id. In a file the command waits for its end."""
    from onward.cli.input.run_input import read_if_given

    at = server.where(given)
    value = read_if_given(given["whole"], given["pairs"])

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one

        fired = await engine.fire_trigger(trigger_id, value, key=key)
        run = fired["execution_id"]
        show_one(fired, output, id_of="execution_id", people=lambda: click.echo(run))
        if not at.server:
            await engine.run(run).result()
        return 0

    return server.talk(at, ask, need="run")


@click.command(
    epilog=examples(
        "onward triggers backfill nightly --from 2026-03-01T00:00:00Z --until 2026-03-08T00:00:00Z",
        "onward triggers backfill nightly --from 2026-03-01 --until 2026-03-08 --overlap allow",
    )
)
@trigger_name
@option("--from", "start_at", required=True, metavar="TIME", help="RFC 3339, or a day.")
@option("--until", "end_at", required=True, metavar="TIME", help="RFC 3339, or a day.")
@option(
    "--overlap",
    type=click.Choice(["queue", "allow"]),
    default="queue",
    show_default=True,
    help="One run after the other, or all at once.",
)
@output
@place
def backfill(
    trigger_id: str, start_at: str, end_at: str, overlap: str, output: str, **given: Any
) -> int:
    """Fire for every time of a schedule in a range that has not fired yet."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_json

        done = await engine.backfill_trigger(trigger_id, start_at, end_at, overlap=overlap)
        if output == "table":
            click.echo(f"{done['added']} of {done['times']} times will fire")
        else:
            print_json(done)
        return 0

    return server.talk(server.where(given), ask, need="write")


@click.command(
    epilog=examples(
        "onward triggers firings nightly --limit 20", "onward triggers firings nightly -o jsonl"
    )
)
@trigger_name
@option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The most to list.")
@output
@place
def firings(trigger_id: str, limit: int, output: str, **given: Any) -> int:
    """List each time a trigger fired or should have, newest first; with -o ids their runs."""
    return tell_all(
        given,
        output,
        lambda engine: engine.firings(trigger_id),
        id_of="execution_id",
        headings=FIRED,
        row=fired_row,
        limit=limit,
    )


def fired_row(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return a firing as a line of a table."""
    from onward.cli.output.tables import moment

    colour = {"started": "green", "refused": "red", "skipped": "yellow"}.get(one["state"], "")
    return (
        moment(one["due_at"]),
        one["cause"],
        (one["state"], colour),
        one["execution_id"] or "",
        one["note"],
    )


def _print_times(times: list[str], form: str) -> int:
    from onward.cli.output.run_result import print_json

    if form == "json":
        print_json(times)
        return 0
    for time_ in times:
        if form == "jsonl":
            print_json(time_)
        else:
            click.echo(time_)
    return 0

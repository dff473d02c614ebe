"""`onward events`: the events of all runs, live or past, and CloudEvents from outside."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.commands.completion import run_ids
from onward.cli.commands.runs.selection import workflow_option
from onward.cli.engines.engine import EngineAddress, answer_options, ask
from onward.cli.options import combine, examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine
    from onward.client.values import Event

_filters = combine(
    workflow_option,
    option(
        "--run",
        "run_ids",
        multiple=True,
        metavar="RUN",
        shell_complete=run_ids,
        help="Only of this run; may be repeated.",
    ),
    option(
        "--after",
        metavar="PLACE",
        default=None,
        help="Begin after this place; 0 is the beginning.",
    ),
)


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "onward events --workflow order",
        "onward events --server http://onward:8700 --after 0 -o jsonl > events.jsonl",
    ),
)
@_filters
@option(
    "--limit",
    type=click.IntRange(1),
    default=None,
    help="Stop after so many.  [default: until Ctrl-C]",
)
@answer_options
def events(
    workflow: str | None,
    run_ids: tuple[str, ...],
    after: str | None,
    limit: int | None,
    engine: EngineAddress,
) -> int:
    """Follow the events of all runs, from now on or from a place.

    A broken connection is restored and no event is missed. The `place` of an event is where to
    continue. `ls` lists past events and ends; `emit` sends a CloudEvent.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return exit_codes.OK
    _check_place(after)

    async def work(client: AsyncEngine) -> int:
        stream = client.events(workflow_id=workflow, runs=run_ids, cursor=after)
        return await _print_events(stream, engine.form, limit)

    return ask(engine, work)


@events.command(
    name="ls",
    epilog=examples(
        "onward events ls --workflow order --limit 1000", "onward events ls --after 5120 -o jsonl"
    ),
)
@_filters
@option("--limit", type=click.IntRange(1), default=None, help="How many to list.  [default: all]")
@answer_options
def list_events(
    workflow: str | None,
    run_ids: tuple[str, ...],
    after: str | None,
    limit: int | None,
    engine: EngineAddress,
) -> int:
    """List the past events of all runs, oldest first."""
    _check_place(after)

    async def work(client: AsyncEngine) -> int:
        stream = client.past_events(workflow_id=workflow, runs=run_ids, after=int(after or 0))
        if engine.form != "json":
            return await _print_events(stream, engine.form, limit)
        from onward.cli.output.console import print_json

        found: list[Event] = []
        async with aclosing(stream):
            async for event in stream:
                found.append(event)
                if limit is not None and len(found) >= limit:
                    break
        print_json(found)
        return exit_codes.OK

    return ask(engine, work)


@events.command(
    epilog=examples(
        "onward events emit order.paid --source /shop -i order=4711 --server http://onward:8700",
        "onward events emit order.paid --source /shop --id 4711-paid --input @paid.json",
    )
)
@click.argument("kind", metavar="TYPE")
@option("--source", metavar="TEXT", required=True, help="The source: a URI, or a path.")
@option("--subject", metavar="TEXT", default=None, help="The subject.")
@option(
    "--id",
    "event_id",
    metavar="TEXT",
    default=None,
    help="The id; the same id is the same event.  [default: a new one]",
)
@options.value("The data.  [default: none]")
@answer_options
def emit(
    kind: str,
    source: str,
    subject: str | None,
    event_id: str | None,
    value: Any,
    engine: EngineAddress,
) -> int:
    """Send a CloudEvent of TYPE, and print the runs that it started.

    On a database file the command waits for their end.
    """

    async def work(client: AsyncEngine) -> int:
        from onward.bootstrap.host import new_id
        from onward.cli.commands.triggers.firings import FIRING_HEADINGS, firing_row
        from onward.cli.output.console import say
        from onward.cli.output.tables import show_known

        event = {
            "specversion": "1.0",
            "type": kind,
            "source": source,
            "subject": subject,
            "id": event_id or new_id(),
            "data": value,
            "datacontenttype": None if value is None else "application/json",
        }
        done = await client.emit({name: part for name, part in event.items() if part is not None})
        firings = done["fired"]
        show_known(
            firings, engine.form, id_of="execution_id", headings=FIRING_HEADINGS, row=firing_row
        )
        for reason in done["failed"]:
            say(f"  {reason}")
        for firing in firings:
            if not engine.server and firing["execution_id"]:
                await client.run(firing["execution_id"]).wait()
        return exit_codes.FAILED if done["failed"] else exit_codes.OK

    return ask(engine, work, need="run")


def _check_place(after: str | None) -> None:
    if after is not None and not re.fullmatch("[0-9]{1,18}", after):
        raise click.UsageError(f"--after {after!r}: it must be the place of an event, a number")


async def _print_events(stream: AsyncGenerator[Event, None], form: str, limit: int | None) -> int:
    """Print events as they arrive, up to `limit`."""
    from onward.cli.output.console import print_json
    from onward.cli.output.event_lines import line_of

    count = 0
    async with aclosing(stream):
        async for event in stream:
            if form == "table":
                click.echo(line_of(event, with_run=True))
            elif form == "ids":
                click.echo(event.execution_id)
            else:
                print_json(event)
            count += 1
            if limit is not None and count >= limit:
                break
    return exit_codes.OK

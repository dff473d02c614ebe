"""
`onward events`: what happens in all runs, what has happened, and telling what happened outside.
"""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.completion import run_ids, workflow_ids
from onward.cli.engines import server
from onward.cli.engines.server import output, place
from onward.cli.options import F, examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine
    from onward.client.values import Event

_CHOSEN = (
    option(
        "--workflow",
        metavar="ID",
        default=None,
        shell_complete=workflow_ids,
        help="Only of this workflow.",
    ),
    option(
        "--run",
        "runs",
        multiple=True,
        metavar="EXECUTION",
        shell_complete=run_ids,
        help="Only of this run; may be repeated.",
    ),
    option(
        "--after", metavar="PLACE", default=None, help="Begin after this place; 0 is the beginning."
    ),
)


def _chosen(command: F) -> F:
    for add in reversed(_CHOSEN):
        command = add(command)
    return command


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "onward events --workflow order",
        "onward events --server http://onward:8700 --after 0 -o jsonl > events.jsonl",
    ),
)
@_chosen
@option(
    "--limit",
    type=click.IntRange(1),
    default=None,
    help="End after so many.  [default: until Ctrl-C]",
)
@output
@place
@click.pass_context
def events(
    context: click.Context,
    /,
    workflow: str | None,
    runs: tuple[str, ...],
    after: str | None,
    limit: int | None,
    output: str,
    **given: Any,
) -> int:
    """Follow what happens in all runs, from now on or after a place.

    A connection that breaks is made again, and nothing is missed. `place` in each line is where
    to go on. `ls` lists what has happened and ends; `emit` tells of something outside.
    """
    if context.invoked_subcommand is not None:
        return 0
    _check_place(after)

    async def ask(engine: AsyncEngine) -> int:
        count = 0
        found = engine.events(workflow_id=workflow, runs=runs, cursor=after)
        async with aclosing(found):
            async for one in found:
                _print(one, output)
                count += 1
                if limit is not None and count >= limit:
                    break
        return 0

    return server.talk(server.where(given), ask)


@events.command(
    name="ls",
    epilog=examples(
        "onward events ls --workflow order --limit 1000", "onward events ls --after 5120 -o jsonl"
    ),
)
@_chosen
@option("--limit", type=click.IntRange(1), default=None, help="The most to list.  [default: all]")
@output
@place
def list_all(
    workflow: str | None,
    runs: tuple[str, ...],
    after: str | None,
    limit: int | None,
    output: str,
    **given: Any,
) -> int:
    """List what has happened in all runs so far, oldest first."""
    _check_place(after)

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_json

        kept: list[Any] = []
        count = 0
        found = engine.past_events(workflow_id=workflow, runs=runs, after=int(after or 0))
        async with aclosing(found):
            async for one in found:
                if output == "json":
                    kept.append(one)
                else:
                    _print(one, output)
                count += 1
                if limit is not None and count >= limit:
                    break
        if output == "json":
            print_json(kept)
        return 0

    return server.talk(server.where(given), ask)


@events.command(
    epilog=examples(
        "onward events emit order.paid --source /shop -i order=4711 --server http://onward:8700",
        "onward events emit order.paid --source /shop --id 4711-paid --input @paid.json",
    )
)
@click.argument("kind", metavar="TYPE")
@option("--source", metavar="TEXT", required=True, help="Where it happened: a URI, or a path.")
@option("--subject", metavar="TEXT", default=None, help="What it is about.")
@option(
    "--id",
    "event_id",
    metavar="TEXT",
    default=None,
    help="The same id is the same event.  [default: a new one]",
)
@options.value("Its data.  [default: none]")
@output
@place
def emit(
    kind: str,
    source: str,
    subject: str | None,
    event_id: str | None,
    output: str,
    **given: Any,
) -> int:
    """Tell of a CloudEvent of TYPE, and print the runs that it started.

    In a file the command waits for their end.
    """
    from onward.cli.input.run_input import read_if_given

    value = read_if_given(given.pop("whole"), given.pop("pairs"))
    at = server.where(given)
    event = {"specversion": "1.0", "type": kind, "source": source, "subject": subject}
    event |= {} if value is None else {"data": value, "datacontenttype": "application/json"}

    async def ask(engine: AsyncEngine) -> int:
        from onward.bootstrap.host import new_id
        from onward.cli.commands.triggers.firings import fired_row
        from onward.cli.output.run_result import say
        from onward.cli.output.tables import show_known

        whole = {**event, "id": event_id or new_id()}
        done = await engine.emit({key: one for key, one in whole.items() if one is not None})
        headings = ("due", "cause", "state", "run", "error")
        show_known(done["fired"], output, id_of="execution_id", headings=headings, row=fired_row)
        for why in done["failed"]:
            say(f"  {why}")
        for one in done["fired"]:
            if not at.server and one["execution_id"]:
                await engine.run(one["execution_id"]).wait()
        return server.FAILED if done["failed"] else 0

    return server.talk(at, ask, need="run")


def _check_place(after: str | None) -> None:
    if after is not None and not re.fullmatch("[0-9]{1,18}", after):
        raise click.UsageError(f"--after {after!r}: it must be the place of an event, a number")


def _print(one: Event, form: str) -> None:
    from onward.cli.output.event_lines import line_of
    from onward.cli.output.run_result import print_json

    if form == "table":
        click.echo(line_of(one, run=True))
    elif form == "ids":
        click.echo(one.execution_id)
    else:
        print_json(one)

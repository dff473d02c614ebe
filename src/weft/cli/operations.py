"""`weft queue`, `workers`, `timers` and `events`: what is behind runs, and what happens in all."""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from weft.cli import remote
from weft.cli.completing import workflow_ids
from weft.cli.options import examples, option
from weft.cli.remote import output, place

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from weft.api.client import AsyncEngine


@click.command(epilog=examples("weft queue", "weft queue --server http://weft:8700 -o json"))
@output
@place
def queue(output: str, **given: Any) -> int:
    """List the queues, and how many messages wait in each."""
    return _listed("queues", ("name", "messages"), "name", output, given)


@click.command(epilog=examples("weft workers", "weft workers --server http://weft:8700 -o ids"))
@output
@place
def workers(output: str, **given: Any) -> int:
    """List who executes nodes, and when each was last heard of."""
    columns = ("name", "host", "pid", "version", "slots", "started_at", "seen_at")
    return _listed("workers", columns, "name", output, given)


@click.command(epilog=examples("weft timers", "weft timers --limit 10 -o jsonl"))
@option(
    "--limit",
    type=click.IntRange(1, 200),
    default=50,
    show_default=True,
    help="The most to list.",
)
@output
@place
def timers(limit: int, output: str, **given: Any) -> int:
    """List the timers that are due first."""
    columns = ("due_at", "execution_id", "timer_id")
    return _listed("timers", columns, "execution_id", output, given, limit=limit)


@click.command(
    epilog=examples(
        "weft events --workflow order",
        "weft events --server http://weft:8700 --after 0 -o jsonl > events.jsonl",
    )
)
@option(
    "--workflow",
    metavar="ID",
    default=None,
    shell_complete=workflow_ids,
    help="Only of this workflow.",
)
@option(
    "--after", metavar="PLACE", default=None, help="Begin after this place; 0 is the beginning."
)
@option(
    "--limit",
    type=click.IntRange(1),
    default=None,
    help="End after so many.  [default: until Ctrl-C]",
)
@output
@place
def events(
    workflow: str | None, after: str | None, limit: int | None, output: str, **given: Any
) -> int:
    """Follow what happens in all runs, from now on or after a place.

    A connection that breaks is made again, and nothing is missed. `place` in each line is where
    to go on.
    """
    if after is not None and not re.fullmatch("[0-9]{1,18}", after):
        raise click.UsageError(f"--after {after!r}: it must be the place of an event, a number")

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.answers import print_json
        from weft.cli.following import line_of

        count = 0
        async with aclosing(engine.events(workflow_id=workflow, cursor=after)) as found:
            async for one in found:
                if output == "table":
                    click.echo(line_of(one, run=True))
                elif output == "ids":
                    click.echo(one.execution_id)
                else:
                    print_json(one)
                count += 1
                if limit is not None and count >= limit:
                    break
        return 0

    return remote.talk(remote.where(given), ask)


def _listed(
    what: str,
    columns: tuple[str, ...],
    id_of: str,
    form: str,
    given: dict[str, Any],
    **query: Any,
) -> int:
    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.showing import show_list

        async def found() -> AsyncGenerator[dict[str, Any], None]:
            for one in await engine.listed(what, **query):
                yield one

        def row(one: Any) -> list[str]:
            return ["" if one[name] is None else str(one[name]) for name in columns]

        headings = [name.replace("_at", "").replace("_id", "") for name in columns]
        await show_list(found(), form, id_of=id_of, headings=headings, row=row)
        return 0

    return remote.talk(remote.where(given), ask)

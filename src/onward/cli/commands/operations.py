"""`onward queue`, `workers`, `timers`, `stats` and `whoami`: the state of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli.engines.engine import (
    EngineAddress,
    answer_options,
    show,
    show_all,
    stream_of,
)
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine


@click.command(epilog=examples("onward queue", "onward queue --server http://onward:8700 -o json"))
@answer_options
def queue(engine: EngineAddress) -> int:
    """List the queues, and how many messages wait in each."""
    return _list(engine, "queues", ("name", "messages"), "name")


@click.command(
    epilog=examples("onward workers", "onward workers --server http://onward:8700 -o ids")
)
@answer_options
def workers(engine: EngineAddress) -> int:
    """List the workers, and when each was last seen."""
    columns = ("name", "host", "pid", "version", "slots", "started_at", "seen_at")
    return _list(engine, "workers", columns, "name")


@click.command(epilog=examples("onward timers", "onward timers --limit 10 -o jsonl"))
@option(
    "--limit",
    type=click.IntRange(1, 200),
    default=50,
    show_default=True,
    help="How many to list.",
)
@answer_options
def timers(limit: int, engine: EngineAddress) -> int:
    """List the next timers."""
    columns = ("due_at", "execution_id", "timer_id")
    return _list(engine, "timers", columns, "execution_id", limit=limit)


@click.command(epilog=examples("onward stats", "onward stats --since 2026-03-01T00:00:00Z -o json"))
@option("--since", metavar="TIME", default=None, help="An RFC 3339 time.  [default: a day ago]")
@answer_options
def stats(since: str | None, engine: EngineAddress) -> int:
    """Count the runs that have started, by workflow and status."""

    def people(found: Mapping[str, Any]) -> None:
        from onward.cli.output.tables import print_table, status_cell

        rows = [
            (count["workflow_id"], status_cell(count), str(count["runs"]))
            for count in found["runs"]
        ]
        print_table(("workflow", "status", "runs"), rows)

    return show(engine, lambda client: client.stats(since), id_of="since", people=people)


@click.command(
    epilog=examples("onward whoami", "onward whoami --server http://onward:8700 -o json")
)
@answer_options
def whoami(engine: EngineAddress) -> int:
    """Print your name, role and workflows on an engine, and its version."""

    async def work(client: AsyncEngine) -> dict[str, Any]:
        return {**await client.me(), "server": await client.server()}

    def people(found: Mapping[str, Any]) -> None:
        server, workflows = found["server"], found["workflows"]
        only = "" if workflows is None else f", for {', '.join(workflows) or 'no workflow'} only"
        click.echo(f"{found['name'] or found['kind']}, {found['role']}{only}")
        click.echo(f"onward {server['version']}, {server['mode']}")

    return show(engine, work, id_of="name", people=people, need="write")


def _list(
    engine: EngineAddress,
    resource: str,
    columns: tuple[str, ...],
    id_of: str,
    **query: Any,
) -> int:
    def row(entry: Mapping[str, Any]) -> list[str]:
        return ["" if entry[name] is None else str(entry[name]) for name in columns]

    return show_all(
        engine,
        lambda client: stream_of(client.listed(resource, **query)),
        id_of=id_of,
        headings=[name.replace("_at", "").replace("_id", "") for name in columns],
        row=row,
    )

"""`onward queue`, `workers`, `timers`, `stats` and `whoami`: what is behind runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli.engines.server import one_by_one, output, place, tell, tell_all
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine


@click.command(epilog=examples("onward queue", "onward queue --server http://onward:8700 -o json"))
@output
@place
def queue(output: str, **given: Any) -> int:
    """List the queues, and how many messages wait in each."""
    return _listed("queues", ("name", "messages"), "name", output, given)


@click.command(
    epilog=examples("onward workers", "onward workers --server http://onward:8700 -o ids")
)
@output
@place
def workers(output: str, **given: Any) -> int:
    """List who executes nodes, and when each was last heard of."""
    columns = ("name", "host", "pid", "version", "slots", "started_at", "seen_at")
    return _listed("workers", columns, "name", output, given)


@click.command(epilog=examples("onward timers", "onward timers --limit 10 -o jsonl"))
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


@click.command(epilog=examples("onward stats", "onward stats --since 2026-03-01T00:00:00Z -o json"))
@option("--since", metavar="TIME", default=None, help="RFC 3339.  [default: a day ago]")
@output
@place
def stats(since: str | None, output: str, **given: Any) -> int:
    """Count the runs that have started, by workflow and status."""

    def people(found: Mapping[str, Any]) -> None:
        from onward.cli.output.tables import print_table, status

        rows = [(one["workflow_id"], status(one), str(one["runs"])) for one in found["runs"]]
        print_table(("workflow", "status", "runs"), rows)

    return tell(given, output, lambda engine: engine.stats(since), id_of="since", people=people)


@click.command(
    epilog=examples("onward whoami", "onward whoami --server http://onward:8700 -o json")
)
@output
@place
def whoami(output: str, **given: Any) -> int:
    """Say which engine answers, and as whom it takes you: name, role, and for which workflows."""

    async def look(engine: AsyncEngine) -> dict[str, Any]:
        return {**await engine.me(), "server": await engine.server()}

    def people(found: Mapping[str, Any]) -> None:
        at, some = found["server"], found["workflows"]
        scope = "" if some is None else f", for {', '.join(some) or 'no workflow'} only"
        click.echo(f"{found['name'] or found['kind']}, {found['role']}{scope}")
        click.echo(f"onward {at['version']}, {at['mode']}")

    return tell(given, output, look, id_of="name", people=people, need="write")


def _listed(
    what: str,
    columns: tuple[str, ...],
    id_of: str,
    form: str,
    given: dict[str, Any],
    **query: Any,
) -> int:
    def row(one: Mapping[str, Any]) -> list[str]:
        return ["" if one[name] is None else str(one[name]) for name in columns]

    return tell_all(
        given,
        form,
        lambda engine: one_by_one(engine.listed(what, **query)),
        id_of=id_of,
        headings=[name.replace("_at", "").replace("_id", "") for name in columns],
        row=row,
    )

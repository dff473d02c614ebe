"""
`onward runs ls`, and every part of what happened in one run: nodes, items, visits, logs, data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.runs.selection import RUN_HEADINGS, execution, filters, query_of, run_row
from onward.cli.engines import server
from onward.cli.engines.server import Found, output, place, tell_all
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine
from onward.cli.commands.runs.selection import RUN
from onward.cli.engines.server import tell

_RUN = "run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J"

_limit = option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="The most to list."
)
_node = option("--node", metavar="ID", default="", help="Only of this node.")


@click.command(
    name="ls",
    epilog=examples(
        "onward runs ls --status failed,halted --workflow order",
        "onward runs ls --server http://onward:8700 --limit 500 -o jsonl",
    ),
)
@filters
@_limit
@output
@place
def list_runs(limit: int, output: str, **given: Any) -> int:
    """List runs, newest first."""
    query = {**query_of(given), "limit": min(limit, 200)}
    return _list(given, output, "/runs", query, "execution_id", RUN_HEADINGS, run_row, limit)


@click.command(
    epilog=examples(f"onward runs nodes {_RUN}", f"onward runs nodes {_RUN} -o jsonl | jq .visits")
)
@execution
@output
@place
def nodes(execution_id: str, output: str, **given: Any) -> int:
    """List the nodes of a run, with what their visits came to."""

    def row(one: Mapping[str, Any]) -> list[Cell]:
        from onward.cli.output.tables import moment, took

        visits = ", ".join(f"{many} {status}" for status, many in one["visits"].items())
        return [
            one["node_id"],
            one["type"] or "",
            visits,
            took(one, "busy_ms"),
            moment(one["last_at"]),
        ]

    path = f"/runs/{execution_id}/nodes"
    return _list(
        given, output, path, {}, "node_id", ("node", "type", "visits", "busy", "last"), row
    )


@click.command(
    epilog=examples(
        f"onward runs items {_RUN} each", f"onward runs items {_RUN} each --limit 1000 -o json"
    )
)
@execution
@click.argument("split")
@_limit
@output
@place
def items(execution_id: str, split: str, limit: int, output: str, **given: Any) -> int:
    """List the items of the node SPLIT that something was recorded of."""

    def row(one: Mapping[str, Any]) -> list[Cell]:
        from onward.cli.output.tables import moment

        failed = str(one["failed_visits"]) if one["failed_visits"] else ""
        return [one["item"], str(one["visits"]), (failed, "red"), moment(one["last_at"])]

    path, query = f"/runs/{execution_id}/items", {"split": split, "limit": min(limit, 200)}
    headings = ("item", "visits", "failed", "last")
    return _list(given, output, path, query, "item", headings, row, limit)


@click.command(
    epilog=examples(
        f"onward runs visits {_RUN} --node charge --status failed",
        f"onward runs visits {_RUN} --item 'users[5]' -o jsonl",
    )
)
@execution
@_node
@option("--status", metavar="STATUS", default="", help="success, failed or waiting.")
@option("--item", metavar="ITEM", default=None, help="Only inside this item: users[5].")
@_limit
@output
@place
def visits(
    execution_id: str,
    node: str,
    status: str,
    item: str | None,
    limit: int,
    output: str,
    **given: Any,
) -> int:
    """List what visits of nodes came to: one line for each attempt of each item."""
    query = {"node_id": node, "status": status, "item": item, "limit": min(limit, 200)}
    headings = ("node", "item", "status", "attempt", "took", "error")
    path = f"/runs/{execution_id}/visits"
    return _list(given, output, path, query, "token_id", headings, visit_row, limit)


@click.command(
    epilog=examples(
        f"onward runs logs {_RUN}",
        f"onward runs logs {_RUN} --node charge --level warning -o jsonl",
    )
)
@execution
@_node
@option(
    "--level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="debug",
    show_default=True,
    help="The least important line to list.",
)
@_limit
@output
@place
def logs(execution_id: str, node: str, level: str, limit: int, output: str, **given: Any) -> int:
    """List the lines that nodes wrote to the log; at most 100 of a visit are kept."""

    def row(one: Mapping[str, Any]) -> list[Cell]:
        colour = {"warning": "yellow", "error": "red"}.get(one["level"], "")
        return [one["at"], (one["level"], colour), one["node_id"], one["item"], one["message"]]

    query = {"node_id": node, "level": level, "limit": min(limit, 200)}
    headings = ("at", "level", "node", "item", "message")
    return _list(
        given, output, f"/runs/{execution_id}/logs", query, "message", headings, row, limit
    )


@click.command(
    epilog=examples(
        f"onward runs data {_RUN} '$greet'", f"onward runs data {_RUN} '$orders' --pointer /0/lines"
    )
)
@execution
@click.argument("entry", required=False)
@option("--visit", metavar="TOKEN", default=None, help="The output of this visit; with --node.")
@_node
@option("--ref", metavar="HASH", default=None, help="A stored value, by its hash.")
@option("--pointer", metavar="POINTER", default="", help="A JSON pointer to a part of the value.")
@place
def data(
    execution_id: str,
    entry: str | None,
    visit: str | None,
    node: str,
    ref: str | None,
    pointer: str,
    **given: Any,
) -> int:
    """Print a value of a run: ENTRY of what it left, such as '$greet'; without one, their names."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_pretty
        from onward.cli.output.tables import print_table

        run = engine.run(execution_id)
        if entry is None and visit is None and ref is None:
            known = await run.context()
            print_table(("entry", "bytes"), [(name, str(size)) for name, size in known.items()])
            return 0
        which = {"token_id": visit, "node_id": node or None, "ref": ref}
        print_pretty(await run.value(entry, pointer=pointer, **which))
        return 0

    return server.talk(server.where(given), ask)


def visit_row(one: Mapping[str, Any]) -> list[Cell]:
    """Return a visit as a line of a table."""
    from onward.cli.output import tables

    error = one["error"]
    return [
        one["node_id"],
        one["item"],
        tables.status(one),
        str(one["attempt"]),
        tables.took(one),
        (f"{error['message']} [{error['code']}]" if error else "", "red"),
    ]


def _list(
    given: dict[str, Any],
    form: str,
    path: str,
    query: Mapping[str, Any],
    id_of: str,
    headings: Sequence[str],
    row: Any,
    limit: int | None = None,
) -> int:
    def found(engine: AsyncEngine) -> Found:
        return engine.pages(dict[str, Any], path, **query)

    return tell_all(given, form, found, id_of=id_of, headings=headings, row=row, limit=limit)


# -- `onward runs definition` and `family`: where a run comes from, and what came from it.


@click.command(
    epilog=examples(f"onward runs definition {RUN}", f"onward runs definition {RUN} | jq .nodes")
)
@execution
@place
def definition(execution_id: str, **given: Any) -> int:
    """Print the document of a run as it was when the run started, as JSON."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_pretty

        print_pretty(await engine.run(execution_id).definition())
        return 0

    return server.talk(server.where(given), ask)


@click.command(epilog=examples(f"onward runs family {RUN}", f"onward runs family {RUN} -o json"))
@execution
@output
@place
def family(execution_id: str, output: str, **given: Any) -> int:
    """Show the run that started a run, and the runs that it started itself."""

    async def look(engine: AsyncEngine) -> dict[str, Any]:
        return {"execution_id": execution_id, **await engine.run(execution_id).family()}

    def people(found: Mapping[str, Any]) -> None:
        from onward.cli.output.tables import print_table

        above = [("parent", found["parent"])] if found["parent"] else []
        rows = [_row(word, one) for word, one in (*above, *(("child", c) for c in found["items"]))]
        print_table(("is its", "run", "started by", "status", "waited for"), rows)

    return tell(given, output, look, id_of="execution_id", people=people)


def _row(word: str, one: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import COLOURS

    status = one["status"] or ""
    waits = "yes" if one["waits"] else "no"
    return [word, one["execution_id"], one["node_id"], (status, COLOURS.get(status, "")), waits]

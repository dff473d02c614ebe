"""`onward runs ls`, `show`, and every part of a run: nodes, items, visits, logs, data, family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.commands.runs.selection import (
    ITEM_HELP,
    RUN_HEADINGS,
    SAMPLE_RUN,
    filters,
    run_argument,
    run_row,
)
from onward.cli.engines.engine import (
    EngineAddress,
    FactsStream,
    Row,
    answer_options,
    ask,
    engine_options,
    show_all,
)
from onward.cli.engines.engine import show as show_answer
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from pathlib import Path

    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine
    from onward.kernel.records import RunRecord, VisitRecord

LARGEST_PAGE = 200
_VISIT_HEADINGS = ("node", "item", "status", "attempt", "took", "error")
_node = option("--node", metavar="NODE", default="", help="Only of this node.")


def _list(
    engine: EngineAddress,
    path: str,
    query: Mapping[str, Any],
    *,
    id_of: str,
    headings: Sequence[str],
    row: Row,
    limit: int | None = None,
) -> int:
    """Print the pages of a list of the API."""
    paged = query if limit is None else {**query, "limit": min(limit, LARGEST_PAGE)}

    def stream(client: AsyncEngine) -> FactsStream:
        return client.pages(dict[str, Any], path, **paged)

    return show_all(engine, stream, id_of=id_of, headings=headings, row=row, limit=limit)


# -- runs ------------------------------------------------------------------------------------------


@click.command(
    name="ls",
    epilog=examples(
        "onward runs ls --status failed,halted --workflow order",
        "onward runs ls --server http://onward:8700 --limit 500 -o jsonl",
    ),
)
@filters
@options.limit
@options.as_json
@answer_options
def list_runs(query: dict[str, Any], limit: int, as_json: bool, engine: EngineAddress) -> int:
    """List runs, newest first."""
    return _list(
        replace(engine, form="json") if as_json else engine,
        "/runs",
        query,
        id_of="execution_id",
        headings=RUN_HEADINGS,
        row=run_row,
        limit=limit,
    )


@click.command(
    epilog=examples(
        f"onward runs show {SAMPLE_RUN}", f"onward runs show {SAMPLE_RUN} --json | jq .nodes"
    )
)
@run_argument
@options.as_json
@engine_options
def show(execution_id: str, as_json: bool, engine: EngineAddress) -> int:
    """Show a run with every visit of every node, its error, and its messages in quarantine."""
    if not engine.server:
        run, visits = _read_file(engine.database, execution_id)
        return _show_run(run, visits, as_json=as_json)

    async def work(client: AsyncEngine) -> int:
        run = await client.call("GET", f"/runs/{execution_id}")
        path = f"/runs/{execution_id}/visits"
        pages = client.pages(dict[str, Any], path, limit=LARGEST_PAGE)
        return _show_run(run, [visit async for visit in pages], as_json=as_json)

    return ask(engine, work)


def _show_run(run: dict[str, Any], visits: list[dict[str, Any]], *, as_json: bool) -> int:
    from onward.bootstrap.host import now_ms
    from onward.cli.output.console import print_json
    from onward.cli.output.durations import seconds
    from onward.cli.output.tables import COLOURS, duration_cell, print_line, print_table, time_cell
    from onward.kernel.timestamps import from_iso

    if as_json:
        print_json({**run, "nodes": visits})
        return exit_codes.OK
    took = duration_cell(run) or seconds(now_ms() - from_iso(run["started_at"]))
    head = f"{run['execution_id']}  {run['workflow_id']}  {run['status']}  {took}"
    print_line(head, COLOURS.get(run["status"], ""))
    if run["error"]:
        print_line(f"{run['error']['message']} [{run['error']['code']}]", "red")
    print_table(_VISIT_HEADINGS, [_visit_row(visit) for visit in visits])
    for message in run.get("quarantine", ()):
        since = time_cell(message["at"])
        print_line(f"in quarantine since {since}: {message['reason']}", "red")
    return exit_codes.OK


def _read_file(database: Path, execution_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a run and its visits, with the outputs that a page of the API leaves out."""
    from onward.bootstrap.embedded import open_history
    from onward.errors import InputError
    from onward.kernel.timestamps import to_iso

    with open_history(database) as history:
        run = history.execution(execution_id)
        if run is None:
            raise InputError(f"{database} has no run {execution_id}: `onward runs` lists them")
        visits = [_visit_facts(visit) for visit in history.node_runs(execution_id)]
        quarantine = [
            {"at": to_iso(entry.at_ms), "at_ms": entry.at_ms, "reason": entry.reason}
            for entry in history.quarantine()
            if entry.execution_id == execution_id
        ]
    return {**_run_facts(run), "quarantine": quarantine}, visits


def _run_facts(run: RunRecord) -> dict[str, Any]:
    import msgspec

    from onward.cli.output.run_result import error_of
    from onward.kernel.messages import decode_completion
    from onward.kernel.timestamps import to_iso

    ending = decode_completion(run.completion) if run.completion else None
    return {
        "execution_id": run.execution_id,
        "workflow_id": run.workflow_id,
        "status": run.status,
        "started_at": to_iso(run.started_ms),
        "ended_at": None if run.ended_ms is None else to_iso(run.ended_ms),
        "duration_ms": ending.total_duration_ms if ending else None,
        "error": msgspec.to_builtins(error_of(ending)) if ending else None,
    }


def _visit_facts(visit: VisitRecord) -> dict[str, Any]:
    import msgspec

    from onward.kernel.lineage import describe
    from onward.kernel.timestamps import to_iso

    return {
        "node": visit.node_id,
        "item": describe(visit.lineage),
        "status": visit.status,
        "attempt": visit.attempt,
        "at": to_iso(visit.at_ms),
        "duration_ms": visit.duration_ms,
        "output": visit.output,
        "output_ref": visit.output_ref,
        "error": msgspec.json.decode(visit.error) if visit.error else None,
    }


# -- parts of one run ------------------------------------------------------------------------------


@click.command(
    epilog=examples(
        f"onward runs nodes {SAMPLE_RUN}", f"onward runs nodes {SAMPLE_RUN} -o jsonl | jq .visits"
    )
)
@run_argument
@answer_options
def nodes(execution_id: str, engine: EngineAddress) -> int:
    """List the nodes of a run, with the results of their visits."""

    def row(node: Mapping[str, Any]) -> list[Cell]:
        from onward.cli.output.tables import duration_cell, time_cell

        counts = ", ".join(f"{count} {status}" for status, count in node["visits"].items())
        busy, last = duration_cell(node, "busy_ms"), time_cell(node["last_at"])
        return [node["node_id"], node["type"] or "", counts, busy, last]

    headings = ("node", "type", "visits", "busy", "last")
    path = f"/runs/{execution_id}/nodes"
    return _list(engine, path, {}, id_of="node_id", headings=headings, row=row)


@click.command(
    epilog=examples(
        f"onward runs items {SAMPLE_RUN} each",
        f"onward runs items {SAMPLE_RUN} each --limit 1000 -o json",
    )
)
@run_argument
@click.argument("split")
@options.limit
@answer_options
def items(execution_id: str, split: str, limit: int, engine: EngineAddress) -> int:
    """List the recorded items of the node SPLIT."""

    def row(item: Mapping[str, Any]) -> list[Cell]:
        from onward.cli.output.tables import time_cell

        failed = str(item["failed_visits"]) if item["failed_visits"] else ""
        return [item["item"], str(item["visits"]), (failed, "red"), time_cell(item["last_at"])]

    headings = ("item", "visits", "failed", "last")
    path, query = f"/runs/{execution_id}/items", {"split": split}
    return _list(engine, path, query, id_of="item", headings=headings, row=row, limit=limit)


@click.command(
    epilog=examples(
        f"onward runs visits {SAMPLE_RUN} --node charge --status failed",
        f"onward runs visits {SAMPLE_RUN} --item 'users[5]' -o jsonl",
    )
)
@run_argument
@_node
@option("--status", metavar="STATUS", default="", help="Only success, failed or waiting.")
@option("--item", metavar="ITEM", default=None, help=ITEM_HELP)
@options.limit
@answer_options
def visits(
    execution_id: str,
    node: str,
    status: str,
    item: str | None,
    limit: int,
    engine: EngineAddress,
) -> int:
    """List the visits of nodes and their results: one line for each attempt of each item."""
    return _list(
        engine,
        f"/runs/{execution_id}/visits",
        {"node_id": node, "status": status, "item": item},
        id_of="token_id",
        headings=_VISIT_HEADINGS,
        row=_visit_row,
        limit=limit,
    )


def _visit_row(visit: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import duration_cell, error_cell, status_cell

    return [
        visit["node_id"] if "node_id" in visit else visit["node"],
        visit["item"],
        status_cell(visit),
        str(visit["attempt"]),
        duration_cell(visit),
        error_cell(visit["error"]),
    ]


@click.command(
    epilog=examples(
        f"onward runs logs {SAMPLE_RUN}",
        f"onward runs logs {SAMPLE_RUN} --node charge --level warning -o jsonl",
    )
)
@run_argument
@_node
@option(
    "--level",
    type=click.Choice(options.LOG_LEVELS),
    default="debug",
    show_default=True,
    help="The lowest level to list.",
)
@options.limit
@answer_options
def logs(execution_id: str, node: str, level: str, limit: int, engine: EngineAddress) -> int:
    """List the log lines of the nodes; at most 100 are stored for a visit."""

    def row(line: Mapping[str, Any]) -> list[Cell]:
        colour = {"warning": "yellow", "error": "red"}.get(line["level"], "")
        return [line["at"], (line["level"], colour), line["node_id"], line["item"], line["message"]]

    return _list(
        engine,
        f"/runs/{execution_id}/logs",
        {"node_id": node, "level": level},
        id_of="message",
        headings=("at", "level", "node", "item", "message"),
        row=row,
        limit=limit,
    )


@click.command(
    epilog=examples(
        f"onward runs data {SAMPLE_RUN} '$greet'",
        f"onward runs data {SAMPLE_RUN} '$orders' --pointer /0/lines",
    )
)
@run_argument
@click.argument("entry", required=False)
@option("--visit", metavar="TOKEN", default=None, help="The output of this visit; with --node.")
@_node
@option("--ref", metavar="HASH", default=None, help="A stored value, by its hash.")
@option("--pointer", metavar="POINTER", default="", help="A JSON pointer to a part of the value.")
@engine_options
def data(
    execution_id: str,
    entry: str | None,
    visit: str | None,
    node: str,
    ref: str | None,
    pointer: str,
    engine: EngineAddress,
) -> int:
    """Print the value ENTRY of a run, such as '$greet'. Without ENTRY, list the entries."""

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.console import print_pretty
        from onward.cli.output.tables import print_table

        run = client.run(execution_id)
        if entry is None and visit is None and ref is None:
            sizes = await run.context()
            print_table(("entry", "bytes"), [(name, str(size)) for name, size in sizes.items()])
            return exit_codes.OK
        which = {"token_id": visit, "node_id": node or None, "ref": ref}
        print_pretty(await run.value(entry, pointer=pointer, **which))
        return exit_codes.OK

    return ask(engine, work)


@click.command(
    epilog=examples(
        f"onward runs definition {SAMPLE_RUN}", f"onward runs definition {SAMPLE_RUN} | jq .nodes"
    )
)
@run_argument
@engine_options
def definition(execution_id: str, engine: EngineAddress) -> int:
    """Print the document that the run was started with, as JSON."""
    return show_answer(engine, lambda client: client.run(execution_id).definition(), id_of="id")


@click.command(
    epilog=examples(f"onward runs family {SAMPLE_RUN}", f"onward runs family {SAMPLE_RUN} -o json")
)
@run_argument
@answer_options
def family(execution_id: str, engine: EngineAddress) -> int:
    """Show the parent of a run and its child runs."""

    async def work(client: AsyncEngine) -> dict[str, Any]:
        return {"execution_id": execution_id, **await client.run(execution_id).family()}

    def people(found: Mapping[str, Any]) -> None:
        from onward.cli.output.tables import print_table

        relatives = [("parent", found["parent"])] if found["parent"] else []
        relatives += [("child", child) for child in found["items"]]
        headings = ("relation", "run", "started by", "status", "waited for")
        print_table(headings, [_relative_row(word, run) for word, run in relatives])

    return show_answer(engine, work, id_of="execution_id", people=people)


def _relative_row(word: str, run: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import COLOURS

    status = run["status"] or ""
    waits = "yes" if run["waits"] else "no"
    return [word, run["execution_id"], run["node_id"], (status, COLOURS.get(status, "")), waits]

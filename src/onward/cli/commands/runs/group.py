"""`onward runs`: what has run, and what came of it. Looking never disturbs a run that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.completion import run_ids
from onward.cli.commands.runs.control import adjust, cancel, pause, resume, retry
from onward.cli.commands.runs.inspect import (
    data,
    definition,
    family,
    items,
    list_runs,
    logs,
    nodes,
    visit_row,
    visits,
)
from onward.cli.commands.runs.signals import callback, signal, signals, waits
from onward.cli.commands.runs.start import events, explain, start, watch
from onward.cli.engines import server as remote
from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.client import AsyncEngine
    from onward.kernel.records import RunRecord, VisitRecord

_COLOURS = {
    "completed": "green",
    "success": "green",
    "running": "cyan",
    "waiting": "yellow",
    "failed": "red",
    "halted": "red",
    "cancelled": "yellow",
}


@click.group(
    invoke_without_command=True,
    epilog=examples("onward runs", "onward runs --json | jq '.[] | select(.status == \"failed\")'"),
)
@options.database
@options.as_json
@click.pass_context
def runs(context: click.Context, database: Path, as_json: bool) -> int:
    """List the runs in the database, newest first, or look closer at one with `show`."""
    if context.invoked_subcommand is not None:
        return 0
    from onward.bootstrap.embedded import open_history
    from onward.bootstrap.host import now_ms
    from onward.cli.output.run_result import print_json
    from onward.cli.output.tables import print_table

    with open_history(database) as history:
        found = history.executions()
    if as_json:
        print_json([_facts(one) for one in found])
        return 0
    rows = [
        (
            one.execution_id,
            one.workflow_id,
            (one.status, _COLOURS[one.status]),
            _moment(one.started_ms),
            _took(one, now_ms()),
        )
        for one in found
    ]
    print_table(("run", "workflow", "status", "started", "took"), rows)
    return 0


@runs.command(
    epilog=examples(
        "onward runs show run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J",
        "onward runs show run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J --json | jq .nodes",
    )
)
@click.argument("execution_id", shell_complete=run_ids)
@options.database
@options.as_json
@remote.server
@remote.token
@click.pass_context
def show(
    context: click.Context,
    execution_id: str,
    database: Path,
    as_json: bool,
    server: str | None,
    token: str | None,
) -> int:
    """Show every visit of every node of a run, its error, and what is in quarantine."""
    if server:
        return _show_remote(remote.ServerAddress(server, token, database), execution_id, as_json)
    from onward.bootstrap.embedded import open_history
    from onward.bootstrap.host import now_ms
    from onward.cli.output.run_result import print_json
    from onward.errors import InputError

    given = context.parent.params if context.parent is not None else {}
    if context.get_parameter_source("database") is click.core.ParameterSource.DEFAULT:
        database = given.get("database", database)  # `onward runs --db FILE show ID`
    as_json = as_json or given.get("as_json", False)
    with open_history(database) as history:
        found = history.execution(execution_id)
        if found is None:
            raise InputError(f"{database} has no run {execution_id}: `onward runs` lists them")
        node_runs = list(history.node_runs(execution_id))
        quarantine = [one for one in history.quarantine() if one.execution_id == execution_id]
    reasons = [{"at_ms": one.at_ms, "reason": one.reason} for one in quarantine]
    if as_json:
        nodes = [_visit(run) for run in node_runs]
        print_json({**_facts(found), "nodes": nodes, "quarantine": reasons})
    else:
        _show(found, node_runs, reasons, now_ms())
    return 0


for _command in (
    list_runs,
    start,
    watch,
    cancel,
    pause,
    resume,
    retry,
    adjust,
    signal,
    signals,
    waits,
    callback,
    explain,
    events,
    nodes,
    items,
    visits,
    logs,
    data,
    definition,
    family,
):
    runs.add_command(_command)


def _show_remote(at: remote.ServerAddress, execution_id: str, as_json: bool) -> int:
    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output import tables
        from onward.cli.output.run_result import print_json
        from onward.cli.output.tables import print_line, print_table

        run = await engine.call("GET", f"/runs/{execution_id}")
        path = f"/runs/{execution_id}/visits"
        visits = [page async for page in engine.pages(dict[str, Any], path, limit=200)]
        if as_json:
            print_json({**run, "nodes": visits})
            return 0
        head = f"{execution_id}  {run['workflow_id']}  {run['status']}  {tables.took(run)}"
        print_line(head, _COLOURS.get(run["status"], ""))
        if run["error"]:
            print_line(f"{run['error']['message']} [{run['error']['code']}]", "red")
        headings = ("node", "item", "status", "attempt", "took", "error")
        print_table(headings, [visit_row(visit) for visit in visits])
        return 0

    return remote.talk(at, ask)


def _show(
    run: RunRecord, node_runs: list[VisitRecord], reasons: list[dict[str, Any]], now_ms: int
) -> None:
    from onward.cli.output.durations import seconds
    from onward.cli.output.tables import print_line, print_table
    from onward.kernel.lineage import describe

    facts = _facts(run)
    print_line(
        f"{run.execution_id}  {run.workflow_id}  {run.status}  {_took(run, now_ms)}",
        _COLOURS[run.status],
    )
    if facts["error"] is not None:
        print_line(f"{facts['error']['message']} [{facts['error']['code']}]", "red")
    rows = [
        (
            run.node_id,
            describe(run.lineage),
            (run.status, _COLOURS.get(run.status, "")),
            str(run.attempt),
            seconds(run.duration_ms),
            (_error_of(run), "red"),
        )
        for run in node_runs
    ]
    print_table(("node", "item", "status", "attempt", "took", "error"), rows)
    for reason in reasons:
        print_line(f"in quarantine since {_moment(reason['at_ms'])}: {reason['reason']}", "red")


def _facts(run: RunRecord) -> dict[str, Any]:
    import msgspec

    from onward.cli.output.run_result import error_of
    from onward.kernel.messages import CompletionMessage
    from onward.kernel.timestamps import to_iso

    ending = run.completion and msgspec.json.decode(run.completion, type=CompletionMessage)
    return {
        "execution_id": run.execution_id,
        "workflow_id": run.workflow_id,
        "status": run.status,
        "started_at": to_iso(run.started_ms),
        "ended_at": None if run.ended_ms is None else to_iso(run.ended_ms),
        "duration_ms": ending.total_duration_ms if ending else None,
        "error": error_of(ending) if ending else None,
    }


def _visit(one: VisitRecord) -> dict[str, Any]:
    import msgspec

    from onward.kernel.lineage import describe
    from onward.kernel.timestamps import to_iso

    return {
        "node": one.node_id,
        "item": describe(one.lineage),
        "status": one.status,
        "attempt": one.attempt,
        "at": to_iso(one.at_ms),
        "duration_ms": one.duration_ms,
        "output": one.output,
        "output_ref": one.output_ref,
        "error": msgspec.Raw(one.error) if one.error else None,
    }


def _error_of(one: VisitRecord) -> str:
    import msgspec

    from onward.kernel.outcome import NodeError

    if one.error is None:
        return ""
    error = msgspec.json.decode(one.error, type=NodeError)
    return f"{error.message} [{error.code}]"


def _moment(ms: int) -> str:
    from onward.kernel.timestamps import to_iso

    return to_iso(ms)[:19].replace("T", " ")


def _took(run: RunRecord, now_ms: int) -> str:
    from onward.cli.output.durations import seconds

    return seconds((run.ended_ms or now_ms) - run.started_ms)

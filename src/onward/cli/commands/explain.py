"""`onward explain`: what a run waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.completion import run_ids
from onward.cli.engines import cluster
from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster
    from onward.runtime.explain.explain import RunExplanation

UNKNOWN_RUN = 5
SHOWN = 20
"""Sentences of one kind that people are shown; programs get all."""


@click.command(
    epilog=examples(
        "onward explain run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J",
        "onward explain run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J --db .onward/onward.db",
    )
)
@click.argument("execution_id", metavar="EXECUTION", shell_complete=run_ids)
@options.as_json
@options.database
@cluster.optional_services
@click.pass_context
def explain(
    context: click.Context,
    /,
    execution_id: str,
    as_json: bool,
    database: Path,
    **places: Any,
) -> int:
    """Say what a run waits for: items, branches, times, workers, or a message in quarantine.

    The run is looked for on the cluster if the addresses of its services are given, else in the
    database file. Looking never disturbs it. The exit code is 5 when there is no such run.
    """
    from onward.kernel.messages import check_identifier

    check_identifier("EXECUTION", execution_id)
    if not cluster.is_meant(context, places):
        from onward.bootstrap.explain import explain_in_file

        found = asyncio.run(explain_in_file(execution_id, database))
        return _answer(found, execution_id, str(database), as_json=as_json)
    from onward.cli.engines.cluster import ask_cluster

    async def ask(at: Cluster) -> int:
        return _answer(await at.explain(execution_id), execution_id, "the cluster", as_json=as_json)

    return ask_cluster(ask, **places)


def _answer(found: RunExplanation | None, execution_id: str, where: str, *, as_json: bool) -> int:
    from onward.cli.output.run_result import print_json, say

    if found is None:
        say(f"Error: {where} has no run {execution_id}")
        return UNKNOWN_RUN
    if as_json:
        print_json(found)
        return 0
    click.echo(f"{found.execution_id} ({found.workflow_id}): {found.summary}")
    for line in _lines(found):
        click.echo(f"  {line}")
    return 0


def _lines(found: RunExplanation) -> Iterator[str]:
    shown: dict[str, int] = {}
    for wait in found.waits:
        shown[wait.kind] = shown.get(wait.kind, 0) + 1
        if shown[wait.kind] <= SHOWN:
            yield f"- {wait.text}"
    for kind, count in shown.items():
        if count > SHOWN:
            yield f"- and {count - SHOWN} more of the kind {kind!r}; --json lists all"
    if found.status == "running":
        for one in found.recent[:1]:
            item = f" ({one.item})" if one.item else ""
            yield f"last: {one.node}{item} {one.status} at {one.at}"

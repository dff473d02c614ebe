"""`onward explain` and `onward runs explain`: what a run is waiting for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.commands.runs.selection import SAMPLE_RUN, run_argument
from onward.cli.engines.cluster import ClusterAddress, anywhere_options, ask_anywhere
from onward.cli.engines.engine import EngineAddress, output
from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster
    from onward.client import AsyncEngine

SHOWN_WAITS = 20
"""Waits of one kind that people are shown; JSON has all of them."""


@click.command(
    epilog=examples(
        f"onward explain {SAMPLE_RUN}", f"onward runs explain {SAMPLE_RUN} -o json | jq .waits"
    )
)
@run_argument
@options.as_json
@output
@anywhere_options
def explain(
    execution_id: str, as_json: bool, form: str, place: EngineAddress | ClusterAddress
) -> int:
    """Explain what a run is waiting for: items, branches, timers, workers or quarantined messages.

    The run is on a server (--server), on a cluster whose services are given, or in the database
    file. The exit code is 5 when there is no such run.
    """
    from onward.kernel.messages import check_identifier

    check_identifier("RUN", execution_id)
    form = "json" if as_json else form

    async def ask_engine(client: AsyncEngine) -> int:
        return _show(await client.call("GET", f"/runs/{execution_id}:explain"), form)

    async def ask_services(services: Cluster) -> int:
        import msgspec

        from onward.cli.output.console import say

        found = await services.explain(execution_id)
        if found is None:
            say(f"Error: there is no run called {execution_id} on the cluster")
            return exit_codes.CONFLICT
        return _show(msgspec.to_builtins(found), form)

    return ask_anywhere(place, engine=ask_engine, cluster=ask_services)


def _show(explanation: dict[str, Any], form: str) -> int:
    from onward.cli.output.tables import show_one

    def people() -> None:
        name, workflow = explanation["execution_id"], explanation["workflow_id"]
        click.echo(f"{name} ({workflow}): {explanation['summary']}")
        for line in _lines(explanation):
            click.echo(f"  {line}")

    show_one(explanation, form, id_of="execution_id", people=people)
    return exit_codes.OK


def _lines(explanation: dict[str, Any]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for wait in explanation["waits"]:
        counts[wait["kind"]] = counts.get(wait["kind"], 0) + 1
        if counts[wait["kind"]] <= SHOWN_WAITS:
            yield f"- {wait['text']}"
    for kind, count in counts.items():
        if count > SHOWN_WAITS:
            yield f"- and {count - SHOWN_WAITS} more of the kind {kind!r}; --json lists all"
    if explanation["status"] == "running":
        for visit in explanation["recent"][:1]:
            item = f" ({visit['item']})" if visit["item"] else ""
            yield f"last: {visit['node']}{item} {visit['status']} at {visit['at']}"

"""`onward repair`: rebuild a run from its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from onward.cli import exit_codes
from onward.cli.commands.runs.selection import SAMPLE_RUN
from onward.cli.engines.cluster import ClusterAddress, ask_cluster, cluster_options
from onward.cli.options import examples
from onward.errors import InputError

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster

_OUTCOMES = {
    "rebuilt": "rebuilt from its history: it continues",
    "ended": "it had ended already: its end is published now",
    "failed": "its history cannot rebuild it: it ends as failed, with the cause",
    "left": "another process repaired it first, or it has just ended",
}


@click.command(
    epilog=examples(
        f"onward repair {SAMPLE_RUN}", f"onward explain {SAMPLE_RUN}    # diagnose it first"
    )
)
@click.argument("execution_id", metavar="RUN")
@cluster_options
def repair(execution_id: str, cluster: ClusterAddress) -> int:
    """Rebuild a run from its history, even if it is still alive.

    Masters repair runs that can no longer continue by themselves. Nothing that history records is
    executed again; what is executing at this moment may be, with the same idempotency key. The exit
    code is 5 when there is no such run.
    """
    from onward.kernel.messages import check_identifier

    check_identifier("RUN", execution_id)

    async def work(services: Cluster) -> int:
        run = await services.store.execution(execution_id)
        if run is None:
            click.echo(f"there is no run called {execution_id} on the cluster", err=True)
            return exit_codes.CONFLICT
        if run.status != "running":
            raise InputError(f"run {execution_id} has ended already: it is {run.status}")
        outcome = await services.repairer().repair(run, "requested with `onward repair`")
        click.echo(f"{execution_id}: {_OUTCOMES[outcome]}")
        return exit_codes.OK

    return ask_cluster(cluster, work)

"""`onward repair`: rebuild a run from its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onward.cli.engines import cluster
from onward.cli.options import examples
from onward.errors import InputError

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster

UNKNOWN_RUN = 5
_TOLD = {
    "rebuilt": "rebuilt from its history: it goes on",
    "ended": "it had ended already: its end is published now",
    "failed": "history cannot rebuild it: it ends as failed, with the cause",
    "left": "somebody else was faster, or it has just ended",
}


@click.command(
    epilog=examples(
        "onward repair run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J",
        "onward explain run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J    # look first",
    )
)
@click.argument("execution_id", metavar="EXECUTION")
@cluster.services
def repair(execution_id: str, **places: Any) -> int:
    """Rebuild a run from its history, although it may still be alive.

    Masters do this by themselves for runs that nothing would ever move. Nothing that history knows
    is executed again; what is being executed at this moment may be, with the same idempotency key.
    The exit code is 5 when there is no such run.
    """
    from onward.cli.engines.cluster import ask_cluster
    from onward.kernel.messages import check_identifier

    check_identifier("EXECUTION", execution_id)

    async def ask(at: Cluster) -> int:
        execution = await at.store.execution(execution_id)
        if execution is None:
            click.echo(f"there is no run called {execution_id} on the cluster", err=True)
            return UNKNOWN_RUN
        if execution.status != "running":
            raise InputError(f"run {execution_id} has ended already: it is {execution.status}")
        done = await at.repairer().repair(execution, "somebody asked for it")
        click.echo(f"{execution_id}: {_TOLD[done]}")
        return 0

    return ask_cluster(ask, **places)

"""`weft scheduler`: wake what waits on a cluster."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import click

from weft.cli import cluster
from weft.cli.options import examples

if TYPE_CHECKING:
    from weft.bootstrap.distributed import Cluster


@click.command(epilog=examples("weft scheduler", "weft scheduler --log-level warning"))
@cluster.process
def scheduler(give_up_s: float, log_level: str, log_json: bool, **places: Any) -> int:
    """Send the timers that are due (waits, retries, time limits) until SIGTERM or Ctrl-C.

    Any number of schedulers may run; a timer fires once.
    """

    async def serve(at: Cluster, stopping: asyncio.Event) -> None:
        logging.getLogger("weft").info("scheduler: ready")
        await cluster.until_set(stopping, at.scheduler().run())

    return cluster.run_process(
        cluster.settings_of(**places),
        serve,
        give_up_s=give_up_s,
        log_level=log_level,
        log_json=log_json,
    )

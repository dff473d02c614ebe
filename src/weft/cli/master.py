"""`weft master`: keep the history of runs on a cluster."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import click

from weft.cli import cluster
from weft.cli.options import examples

if TYPE_CHECKING:
    from weft.bootstrap.distributed import Cluster


@click.command(epilog=examples("weft master", "weft master --log-json"))
@cluster.process
def master(give_up_s: float, log_level: str, log_json: bool, **places: Any) -> int:
    """Write what runs and their nodes came to into the store, until SIGTERM or Ctrl-C.

    Any number of masters may run; everything is written once.
    """

    async def serve(at: Cluster, stopping: asyncio.Event) -> None:
        logging.getLogger("weft").info("master: ready")
        await cluster.until_set(stopping, at.master().run())

    return cluster.run_process(
        cluster.settings_of(**places),
        serve,
        give_up_s=give_up_s,
        log_level=log_level,
        log_json=log_json,
    )

"""`weft worker`: execute the nodes of runs on a cluster."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli import cluster, options
from weft.cli.options import examples, option

if TYPE_CHECKING:
    from weft.bootstrap.distributed import Cluster


@click.command(
    epilog=examples(
        "weft worker --rabbitmq amqp://guest:guest@localhost/ --redis redis://localhost/0"
        " --postgres postgresql://weft@localhost/weft",
        "weft worker --slots 16 --log-json    # with WEFT_RABBITMQ_URL and the others set",
    )
)
@options.slots
@options.env_file
@options.credential_store
@options.key_file
@option(
    "--grace",
    "grace_s",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long nodes may go on after SIGTERM before they are given back.",
)
@cluster.process
def worker(
    slots: int,
    env_file: Path | None,
    credential_store: Path,
    key_file: Path,
    grace_s: float,
    give_up_s: float,
    log_level: str,
    log_json: bool,
    **places: Any,
) -> int:
    """Execute nodes until SIGTERM or Ctrl-C; any number of workers may run.

    Then it takes no more messages, finishes what it has begun, and gives the rest back: nothing
    is lost or halted. A second signal stops it at once, which is just as safe.
    """
    options.check_env_file(env_file)
    settings = cluster.settings_of(
        **places,
        slots=slots,
        env_file=env_file,
        credential_store=credential_store,
        key_file=key_file,
    )

    async def serve(at: Cluster, stopping: asyncio.Event) -> None:
        log = logging.getLogger("weft")
        working = at.worker()
        log.info("worker: ready, %d slots", slots)
        try:
            await cluster.until_set(stopping, working.run())
        finally:
            left = await working.drain(grace_s if stopping.is_set() else 0)
        log.info("worker: stopped, given back: %d", left)

    return cluster.run_process(
        settings, serve, give_up_s=give_up_s, log_level=log_level, log_json=log_json
    )

"""`onward master`: write the history of a cluster, repair runs, fire triggers, serve the API."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import click

from onward.cli import options
from onward.cli.commands.dev import api_address, check_access, keep_audit_option, keep_option
from onward.cli.commands.dev import token_option as token
from onward.cli.engines.cluster import ClusterAddress
from onward.cli.engines.process import ProcessOptions, process_options, run_simple_process
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from pathlib import Path

    from onward.api.http.identity import Access
    from onward.api.server import Listener
    from onward.bootstrap.cluster import Cluster


@click.command(epilog=examples("onward master", "onward master --keep 30d --log-json"))
@option(
    "--lost-after",
    "lost_s",
    type=click.FloatRange(1),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Repair a run without state in Redis that has been silent for so long.",
)
@option(
    "--stuck-after",
    "stuck_s",
    type=click.FloatRange(300),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Look for the messages of a run that has been silent for so long, and repair it if there"
    " are none.",
)
@keep_option
@option("--listen", metavar="HOST:PORT", default=None, help="Serve the API at this address.")
@token
@keep_audit_option
@options.lifecycle_events
@options.key_file
@process_options
def master(
    lost_s: float,
    stuck_s: float,
    keep_ms: int | None,
    listen: str | None,
    token: str | None,
    audit_kept_ms: int,
    lifecycle_events: str,
    key_file: Path,
    cluster: ClusterAddress,
    process: ProcessOptions,
) -> int:
    """Write the results of runs and nodes to the store, until SIGTERM or Ctrl-C.

    A master also fires triggers, and repairs runs whose state or messages were lost by Redis or the
    broker. Any number of masters may run: everything is written, repaired and fired once. With
    --listen it serves the API.
    """
    from onward.bootstrap.telemetry import check_sink

    if lifecycle_events:
        check_sink(lifecycle_events)
    served = None if listen is None else api_address(listen, token, audit_kept_ms)

    async def work(services: Cluster) -> None:
        from onward.bootstrap.cluster_backend import fire_triggers, guard_runs, tell_what_happens
        from onward.runtime.cluster.reconciler import Patience
        from onward.runtime.tasks import together

        patience = Patience(lost_ms=int(lost_s * 1000), stuck_ms=int(stuck_s * 1000))
        works = [
            services.master().run(),
            services.reconciler(patience).run(),
            fire_triggers(services),
            guard_runs(services),
        ]
        if keep_ms is not None:
            works.append(services.retention(keep_ms).run())
        if lifecycle_events:
            works.append(tell_what_happens(services, lifecycle_events))
        if served is not None:
            works.append(_serve(services, *served))
        await together(*works)

    return run_simple_process("master", work, cluster, process, key_file=key_file)


async def _serve(services: Cluster, listener: Listener, access: Access) -> None:
    """Serve the API until cancelled."""
    from onward.api.app import make_app
    from onward.bootstrap.cluster_backend import open_cluster_backend

    async with open_cluster_backend(services) as backend:
        await check_access(backend, listener, access)
        logging.getLogger("onward").info("master: the API is at %s", listener.url)
        await listener.serve(make_app(backend, access), asyncio.Event())

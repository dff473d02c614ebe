"""`onward master`: keep the history of runs on a cluster, and look after those that are silent."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.dev import address_of, check_entry, keep_audit, token
from onward.cli.engines import cluster
from onward.cli.options import examples, option
from onward.cli.output.durations import span

if TYPE_CHECKING:
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
    help="Repair a run whose state in Redis is gone when it has been silent for so long.",
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
@option(
    "--keep",
    "keep_ms",
    callback=span,
    metavar="SPAN",
    help="Drop runs that ended longer ago than this, such as 30d or 12h. They are all kept unless"
    " given.",
)
@option("--listen", metavar="HOST:PORT", default=None, help="Serve the API here.")
@token
@keep_audit
@options.lifecycle_events
@options.key_file
@cluster.process
def master(
    lost_s: float,
    stuck_s: float,
    keep_ms: int | None,
    listen: str | None,
    token: str | None,
    audit_kept_ms: int,
    lifecycle_events: str,
    **given: Any,
) -> int:
    """Write what runs and their nodes came to into the store, until SIGTERM or Ctrl-C.

    It also repairs runs that nothing would ever move, because Redis or the broker lost what was
    theirs, and fires triggers. Any number of masters may run; everything is written, repaired and
    fired once. With --listen it serves the API; each of them tells everything.
    """

    from onward.bootstrap.telemetry import check_sink

    if lifecycle_events:
        check_sink(lifecycle_events)
    served = None if listen is None else address_of(listen, token, audit_kept_ms)

    async def work(at: Cluster) -> None:
        from onward.bootstrap.cluster_backend import (
            fire_triggers,
            guard_runs,
            publish_cluster_lifecycle,
        )
        from onward.runtime.cluster.reconciler import Patience
        from onward.runtime.tasks import together

        patience = Patience(lost_ms=int(lost_s * 1000), stuck_ms=int(stuck_s * 1000))
        works = [
            at.master().run(),
            at.reconciler(patience).run(),
            fire_triggers(at),
            guard_runs(at),
        ]
        if lifecycle_events:
            works.append(publish_cluster_lifecycle(at, lifecycle_events))
        if served is not None:
            works.append(_serve(at, *served))
        await together(*works)

    return cluster.stand("master", work, **given)


async def _serve(at: Cluster, listener: Listener, access: Access) -> None:
    """Serve the API until cancelled."""
    from onward.api.app import make_app
    from onward.bootstrap.cluster_backend import open_cluster_backend

    async with open_cluster_backend(at) as backend:
        await check_entry(backend, listener, access)
        logging.getLogger("onward").info("master: the API is at %s", listener.url)
        await listener.serve(make_app(backend, access), asyncio.Event())

"""`weft scheduler`: wake what waits on a cluster."""

from __future__ import annotations

from typing import Any

import click

from weft.cli import cluster
from weft.cli.options import examples


@click.command(epilog=examples("weft scheduler", "weft scheduler --metrics 9465"))
@cluster.process
def scheduler(**given: Any) -> int:
    """Send the timers that are due (waits, retries, time limits) until SIGTERM or Ctrl-C.

    Any number of schedulers may run; a timer fires once.
    """
    return cluster.stand("scheduler", lambda at: at.scheduler().run(), **given)

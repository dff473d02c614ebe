"""`onward scheduler`: wake what waits on a cluster."""

from __future__ import annotations

from typing import Any

import click

from onward.cli.engines import cluster
from onward.cli.options import examples


@click.command(epilog=examples("onward scheduler", "onward scheduler --metrics 9465"))
@cluster.process
def scheduler(**given: Any) -> int:
    """Send the timers that are due (waits, retries, time limits) until SIGTERM or Ctrl-C.

    Any number of schedulers may run; a timer fires once.
    """
    return cluster.stand("scheduler", lambda at: at.scheduler().run(), **given)

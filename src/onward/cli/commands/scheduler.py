"""`onward scheduler`: send the timers of a cluster."""

from __future__ import annotations

import click

from onward.cli.engines.cluster import ClusterAddress
from onward.cli.engines.process import ProcessOptions, process_options, run_simple_process
from onward.cli.options import examples


@click.command(epilog=examples("onward scheduler", "onward scheduler --metrics 9465"))
@process_options
def scheduler(cluster: ClusterAddress, process: ProcessOptions) -> int:
    """Send due timers (waits, retries, time limits) until SIGTERM or Ctrl-C.

    Any number of schedulers may run; a timer fires once.
    """
    return run_simple_process(
        "scheduler", lambda services: services.scheduler().run(), cluster, process
    )

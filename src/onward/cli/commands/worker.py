"""`onward worker`: execute the nodes of runs on a cluster."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.engines.cluster import ClusterAddress
from onward.cli.engines.process import ProcessOptions, process_options, run_process, until_set
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster
    from onward.cli.engines.supervisor import ChildProcess
    from onward.ports.nodes.commands import CommandKind

COLLECTION_THRESHOLD = 20_000
"""Objects allocated before the garbage collector looks for cycles again."""
_NAME = r"[\w.:@-]{1,100}"
_LOG = logging.getLogger("onward")


def _check_name(_: click.Context, __: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(_NAME, value):
        raise click.BadParameter(
            f"{value!r} is not a valid name: letters, digits and . : @ _ - only, 100 at most"
        )
    return value


def _queues(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return the queues that are named; wrong usage for one that no worker consumes."""
    from onward.runtime.cluster.worker import QUEUES

    if value is None:
        return QUEUES
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
    for name in names:
        if name not in QUEUES:
            valid = " and ".join(QUEUES)
            raise click.BadParameter(f"no worker consumes {name!r}; {valid} can be named")
    return names


@click.command(
    epilog=examples(
        "onward worker --rabbitmq amqp://guest:guest@localhost/ --redis redis://localhost/0"
        " --postgres postgresql://onward@localhost/onward",
        "onward worker --processes 4 --metrics 9464 --log-json    # with the URLs in ONWARD_*_URL",
    )
)
@option(
    "--slots",
    type=click.IntRange(1, 100_000),
    default=128,
    show_default=True,
    help="How many messages to process at once.",
)
@option(
    "--processes",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How many processes, each with so many slots; one that dies is started again.",
)
@option(
    "--queues",
    metavar="NAME,...",
    callback=_queues,
    help="The queues to consume.  [default: workflow.execution,workflow.timeout.process]",
)
@options.env_file
@options.credential_store
@options.key_file
@options.allow
@options.events_sink
@options.public_url
@option(
    "--grace",
    "grace_s",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long nodes may continue after SIGTERM before their messages are returned.",
)
@option(
    "--max-memory",
    "max_memory_mb",
    type=click.IntRange(1),
    metavar="MB",
    help="Exit with code 8, to be restarted, when the process becomes larger.",
)
@option(
    "--name",
    default="",
    metavar="NAME",
    callback=_check_name,
    help="The name of the worker.  [default: its host, process and four random characters]",
)
@option(
    "--early-ack",
    "early_ack_s",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Hold a node that runs longer by a lease instead of by its message.",
)
@option(
    "--lease",
    "lease_s",
    type=click.FloatRange(0.5),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long after a worker's death its long nodes are executed again.",
)
@process_options
def worker(
    processes: int,
    env_file: Path | None,
    allowed: tuple[CommandKind, ...],
    grace_s: float,
    max_memory_mb: int | None,
    cluster: ClusterAddress,
    process: ProcessOptions,
    **more: Any,
) -> int:
    """Execute nodes until SIGTERM or Ctrl-C. Any number of workers may run.

    On the first signal a worker takes no more messages, finishes running nodes, and returns the
    rest: nothing is lost. A second signal stops it at once, which is just as safe.
    """
    options.check_env_file(env_file)
    settings = cluster.settings(env_file=env_file, allowed=allowed, **more)
    label = "worker"
    if processes > 1:
        outcome = _supervise(processes, process)
        if isinstance(outcome, int):
            return outcome
        label = f"worker {outcome.number}"
        process = replace(process, metrics=_address_of_child(process.metrics, outcome.number))
        if settings.name:
            settings = replace(settings, name=f"{settings.name}-{outcome.number}")
    service = _WorkerService(label, grace_s, max_memory_mb)
    return run_process("worker", settings, service.serve, process)


@dataclass(frozen=True, slots=True)
class _WorkerService:
    name: str
    grace_s: float
    max_memory_mb: int | None

    async def serve(self, services: Cluster, stopping: asyncio.Event) -> int | None:
        """Work until stopped, or until too large; then finish, and return the rest."""
        from onward.bootstrap.telemetry import until_full

        worker = services.worker()
        # Loaded modules stay, and what a message allocates is freed without cycles: collect rarely.
        gc.freeze()
        gc.set_threshold(COLLECTION_THRESHOLD)
        _LOG.info("%s: ready, %d slots, called %s", self.name, services.settings.slots, worker.name)
        size_mb = None
        try:
            work = until_full(worker.run(), self.max_memory_mb)
            size_mb = await until_set(stopping, work)
        finally:
            left = await worker.drain(self.grace_s if stopping.is_set() or size_mb else 0)
        _LOG.info("%s: stopped, given back: %d", self.name, left)
        if not size_mb:
            return None
        message = "%s: has %d MB, more than --max-memory %d: start it again"
        _LOG.warning(message, self.name, size_mb, self.max_memory_mb)
        return exit_codes.OUTGROWN


def _supervise(count: int, process: ProcessOptions) -> ChildProcess | int:
    """Return in each of `count` children, and in the parent with the exit code of all."""
    from onward.bootstrap.host import configure_log
    from onward.cli.engines.supervisor import supervise

    configure_log(level=process.log_level, as_json=process.log_json)
    return supervise(count, "worker")


def _address_of_child(address: tuple[str, int] | None, number: int) -> tuple[str, int] | None:
    """Return where a child listens: on consecutive ports; 0 is any free port for all of them."""
    if address is None or address[1] == 0:
        return address
    return address[0], address[1] + number

"""`onward worker`: execute the nodes of runs on a cluster."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onward.cli import options
from onward.cli.engines import cluster
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster
    from onward.cli.engines.supervisor import ChildProcess
    from onward.ports.nodes.commands import CommandKind


# -- How a worker holds its messages: the options of that, which are settings by the same names.


F = TypeVar("F", bound=Callable[..., Any])

_NAME = r"[\w.:@-]{1,100}"


def _name(_: click.Context, __: click.Parameter, value: str) -> str:
    import re

    if value and not re.fullmatch(_NAME, value):
        raise click.BadParameter(
            f"{value!r} is no name: letters, digits and . : @ _ - only, 100 at most"
        )
    return value


_worker_name = option(
    "--name",
    default="",
    metavar="NAME",
    callback=_name,
    help="What the worker is called.  [default: its host, process and four random characters]",
)
_early_ack = option(
    "--early-ack",
    "early_ack_s",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="A node that runs longer is held by a lease instead of by its message.",
)
_lease = option(
    "--lease",
    "lease_s",
    type=click.FloatRange(0.5),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long after a worker has died its long nodes are run again.",
)
max_memory = option(
    "--max-memory",
    "max_memory_mb",
    type=click.IntRange(1),
    metavar="MB",
    help="Stop, to be started again, when the process has become larger than this.",
)


def holding(command: F) -> F:
    """Add the options."""
    for add in reversed((_worker_name, _early_ack, _lease)):
        command = add(command)
    return command


Place = tuple[str, int]
FULL = 8
GARBAGE = 20_000
"""Objects made before the collector looks for cycles again."""
_LOG = logging.getLogger("onward")


def _queues(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return the queues that are named; wrong usage for one that no worker consumes."""
    from onward.runtime.cluster.worker import QUEUES

    if value is None:
        return QUEUES
    names = tuple(dict.fromkeys(one.strip() for one in value.split(",")))
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
    help="How many messages may be in hand at once.",
)
@option(
    "--processes",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How many processes, each with that many slots; one that dies is started again.",
)
@option(
    "--queues",
    metavar="NAME,...",
    callback=_queues,
    help="What to consume.  [default: workflow.execution,workflow.timeout.process]",
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
    help="How long nodes may go on after SIGTERM before they are given back.",
)
@max_memory
@holding
@cluster.process
def worker(
    slots: int,
    processes: int,
    queues: tuple[str, ...],
    env_file: Path | None,
    credential_store: Path,
    key_file: Path,
    allowed: tuple[CommandKind, ...],
    events_sink: str,
    public_url: str,
    grace_s: float,
    max_memory_mb: int | None,
    running: cluster.RunningProcess,
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
        queues=queues,
        env_file=env_file,
        credential_store=credential_store,
        key_file=key_file,
        allowed=allowed,
        events_sink=events_sink,
        public_url=public_url,
    )
    name = "worker"
    if processes > 1:
        fate = _supervised(processes, running)
        if isinstance(fate, int):
            return fate
        name = f"worker {fate.number}"
        running = replace(running, metrics=_shifted(running.metrics, fate.number))
        if settings.name:
            settings = replace(settings, name=f"{settings.name}-{fate.number}")
    serving = _Serving(name, grace_s, max_memory_mb)
    return cluster.run_process("worker", settings, serving.serve, running)


@dataclass(frozen=True, slots=True)
class _Serving:
    name: str
    grace_s: float
    max_memory_mb: int | None

    async def serve(self, at: Cluster, stopping: asyncio.Event) -> int | None:
        """Work until told to stop, or until too large; then finish, and give the rest back."""
        from onward.bootstrap.telemetry import until_full

        working = at.worker()
        # What is loaded by now stays, and what a message makes is gone by itself: look rarely.
        gc.freeze()
        gc.set_threshold(GARBAGE)
        _LOG.info("%s: ready, %d slots, called %s", self.name, at.settings.slots, working.name)
        size_mb = None
        try:
            doing = until_full(working.run(), self.max_memory_mb)
            size_mb = await cluster.until_set(stopping, doing)
        finally:
            left = await working.drain(self.grace_s if stopping.is_set() or size_mb else 0)
        _LOG.info("%s: stopped, given back: %d", self.name, left)
        if not size_mb:
            return None
        told = "%s: has %d MB, more than --max-memory %d: start it again"
        _LOG.warning(told, self.name, size_mb, self.max_memory_mb)
        return FULL


def _supervised(count: int, running: cluster.RunningProcess) -> ChildProcess | int:
    """Return in each of so many children, and in the parent with the exit code of all."""
    from onward.bootstrap.host import configure_log
    from onward.cli.engines.supervisor import supervise

    configure_log(level=running.log_level, as_json=running.log_json)
    return supervise(count, "worker")


def _shifted(place: Place | None, number: int) -> Place | None:
    """Return where the child of that number listens: ports one after the other, 0 stays any."""
    if place is None or place[1] == 0:
        return place
    return place[0], place[1] + number

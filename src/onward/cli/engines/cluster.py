"""What the commands of the distributed engine share: where the services are, and staying with them.

A process of the cluster runs until a signal. A service that is away is waited for; what waiting
cannot cure, or did not, ends the process with code 7.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from onward.cli import options
from onward.cli.options import option
from onward.distribution import install_command
from onward.errors import InputError

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster, ClusterSettings
    from onward.bootstrap.telemetry import Telemetry
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster
from collections.abc import Iterator
from typing import TypeAlias

from redis.exceptions import RedisError

from onward.errors import StorageError, UnavailableError
from onward.ports.cluster.bus import BusError

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Serve = Callable[["Cluster", asyncio.Event], Awaitable[int | None]]
"""Serve until the event is set, and return when nothing is in hand any more.

What it returns, if anything, is the exit code: the process ends, signal or not."""

UNAVAILABLE = 7
LONGEST_PAUSE_S = 30.0
_DRIVERS = ("pika", "redis", "asyncpg")
_PLACES = ("rabbitmq", "redis", "postgres")
_LOG = logging.getLogger("onward")

_rabbitmq = option(
    "--rabbitmq", metavar="URL", envvar="ONWARD_RABBITMQ_URL", required=True, help="The broker."
)
_redis = option(
    "--redis", metavar="URL", envvar="ONWARD_REDIS_URL", required=True, help="The coordinator."
)
_postgres = option(
    "--postgres", metavar="URL", envvar="ONWARD_POSTGRES_URL", required=True, help="The store."
)
_queue_type = option(
    "--queue-type",
    type=click.Choice(["classic", "quorum"]),
    default="classic",
    show_default=True,
    help="The kind of the broker's queues, the same for every process.",
)
_give_up = option(
    "--give-up",
    "give_up_s",
    type=click.FloatRange(0),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for a service that is away.",
)
_log_level = option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least important log line to show.",
)
_log_json = option("--log-json", is_flag=True, help="Log lines as JSON objects.")
_metrics = option(
    "--metrics",
    callback=options.address,
    metavar="[HOST:]PORT",
    help="Serve /live, /ready and /metrics there; 127.0.0.1 unless a host is given, any free port"
    " for 0.  [default: nowhere]",
)
_otel = option(
    "--otel",
    metavar="URL",
    help="Send spans to the OpenTelemetry collector there, by OTLP over HTTP."
    "  [default: OTEL_EXPORTER_OTLP_ENDPOINT]",
)


def services(command: F) -> F:
    """Add the options that say where the services are."""
    for add in reversed((_rabbitmq, _redis, _postgres, _queue_type)):
        command = add(command)
    return command


def optional_services(command: F) -> F:
    """Add the same options, for a command that may look elsewhere: `is_meant` tells."""
    for name in ("rabbitmq", "redis", "postgres"):
        twin = f"ONWARD_{name.upper()}_URL"
        add = option(f"--{name}", metavar="URL", envvar=twin, help="Of a cluster.", default=None)
        command = add(command)
    added: F = _queue_type(command)
    return added


def is_meant(context: click.Context, given: Mapping[str, Any]) -> bool:
    """Return whether the options say where a cluster is; UsageError when that is not clear.

    A file that is named on the command line wins over services in the environment.
    """
    source = context.get_parameter_source
    named = [name for name in _PLACES if given[name]]
    if source("database") is ParameterSource.COMMANDLINE:
        said = [name for name in named if source(name) is ParameterSource.COMMANDLINE]
        if said:
            raise click.UsageError(f"--db and --{said[0]} name two places: give one of them")
        return False
    missing = [name for name in _PLACES if name not in named]
    if named and missing:
        raise click.UsageError(
            f"the cluster needs --{missing[0]} (or ONWARD_{missing[0].upper()}_URL) too;"
            " for a file give --db"
        )
    return bool(named)


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """How a process runs, whatever it does."""

    give_up_s: float
    metrics: tuple[str, int] | None
    otel: str | None
    log_level: str
    log_json: bool


def process(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of a process that runs until it is stopped: it gets them as `running`."""

    @wraps(command)
    def gathered(
        *,
        give_up_s: float,
        metrics: tuple[str, int] | None,
        otel: str | None,
        log_level: str,
        log_json: bool,
        **given: Any,
    ) -> int:
        running = RunningProcess(give_up_s, metrics, otel, log_level, log_json)
        return command(running=running, **given)

    for add in reversed((services, _give_up, _metrics, _otel, _log_level, _log_json)):
        gathered = add(gathered)
    return gathered


def settings_of(
    *, rabbitmq: str, redis: str, postgres: str, queue_type: Any, **more: Any
) -> ClusterSettings:
    """Return the settings that the options describe; InputError when a client is not installed."""
    try:
        from onward.bootstrap.cluster import ClusterSettings
    except ModuleNotFoundError as missing:
        driver = (missing.name or "").partition(".")[0]
        if driver not in _DRIVERS:
            raise
        raise InputError(
            f"the distributed engine needs {driver}, which is not installed:"
            f" {install_command('distributed')}"
        ) from None
    return ClusterSettings(
        rabbitmq_url=rabbitmq,
        redis_url=redis,
        postgres_url=postgres,
        queue_type=queue_type,
        **more,
    )


def run_process(role: str, settings: ClusterSettings, serve: Serve, running: RunningProcess) -> int:
    """Serve until a signal comes, and return the exit code: 0, or 7 without a service.

    The first signal lets what is in hand finish, a second one ends the process at once.
    """
    from onward.bootstrap.host import configure_log
    from onward.bootstrap.telemetry import Telemetry
    from onward.cli.engines.embedded import new_loop

    configure_log(level=running.log_level, as_json=running.log_json)
    collector = running.otel or _surrounding_collector()
    telemetry = Telemetry(role, metrics=running.metrics, otel=collector)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_Process(settings, serve, running.give_up_s, telemetry).run())


def _surrounding_collector() -> str | None:
    """Return the collector that the environment names for every program, if it can be used."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not endpoint:
        return None
    try:
        find_spec("opentelemetry.exporter.otlp.proto.http")
    except ModuleNotFoundError:
        _LOG.warning("no traces: OTEL_EXPORTER_OTLP_ENDPOINT is set, onward[otel] is not installed")
        return None
    return endpoint


def stand(
    role: str,
    work: Callable[[Cluster], Coroutine[Any, Any, None]],
    *,
    running: RunningProcess,
    **places: Any,
) -> int:
    """Do the work until a signal comes; it is such that nothing of it is in hand then."""

    async def serve(at: Cluster, stopping: asyncio.Event) -> None:
        _LOG.info("%s: ready", role)
        await until_set(stopping, work(at))

    return run_process(role, settings_of(**places), serve, running)


async def until_set(stopping: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return what `work` comes to, or None: when the event is set, it is cancelled."""
    from onward.runtime.tasks import cancel

    doing, waiting = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    both = {doing, waiting}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel(*both)
    return None if doing.cancelled() else doing.result()


@dataclass(slots=True)
class _Process:
    settings: ClusterSettings
    serve: Serve
    give_up_s: float
    telemetry: Telemetry
    code: int = 0

    async def run(self) -> int:
        """Listen for who wants to know how it is, and serve."""
        listening = await self.telemetry.open()
        if listening is not None:
            _LOG.info("metrics: http://%s:%d/metrics", *listening)
        try:
            return await self._serve()
        finally:
            await self.telemetry.close()

    async def _serve(self) -> int:
        """Connect and serve, again and again, until a signal or until there is no hope."""

        stopping = _signalled()
        time = asyncio.get_running_loop().time
        pause_s, hopeless = 1.0, None
        while not stopping.is_set():
            began = time()
            outage, opened = await self._once(stopping)
            if outage is None:
                break
            self.telemetry.away(str(outage), outage=True)
            if opened and time() - began > LONGEST_PAUSE_S:
                # Patience is for one outage, not for all that a long life meets.
                pause_s, hopeless = 1.0, None
            if hopeless is None:
                hopeless = time() + self.give_up_s
            if time() >= hopeless or not (opened or may_pass(outage)):
                _LOG.error("%s", outage)
                return UNAVAILABLE
            pause_s = min(pause_s, hopeless - time())
            _LOG.warning("%s (trying again in %.1f s)", outage, pause_s)
            await until_set(stopping, asyncio.sleep(pause_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return self.code

    async def _once(self, stopping: asyncio.Event) -> tuple[Outage | None, bool]:
        """Serve until stopped (None) or until a service is away, and say whether all was opened."""
        from onward.bootstrap.cluster import open_cluster

        opened = False
        try:
            async with AsyncExitStack() as stack:
                watch = self.telemetry.watch
                opening = stack.enter_async_context(open_cluster(self.settings, watch=watch))
                cluster = await until_set(stopping, opening)
                if cluster is not None:
                    opened = True
                    self.telemetry.serving(cluster)
                    self.code = await self.serve(cluster, stopping) or 0
        except Exception as problem:
            outage = outage_of(problem)
            if outage is None:
                raise
            return outage, opened
        return None, opened


def _signalled() -> asyncio.Event:
    """Return an event that the first signal sets; the second ends the process."""
    stopping = asyncio.Event()

    def stop(number: int) -> None:
        if stopping.is_set():
            # Safe at any moment: whatever was not acknowledged is delivered again.
            os._exit(128 + number)
        _LOG.info("stopping; a second signal stops at once")
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return stopping


# -- One question to a cluster: connect, ask, and turn an outage into its exit code.


Question = Callable[["Cluster"], Awaitable[int]]
"""Ask, print the answer, and return the exit code."""


def ask_cluster(question: Question, **places: Any) -> int:
    """Return the question's exit code, or 7 when a service is away or will not do."""
    from onward.bootstrap.host import configure_log

    settings = settings_of(**places)
    from onward.bootstrap.cluster import open_cluster
    from onward.cli.output.run_result import say

    configure_log(level="warning")

    async def ask() -> int:
        async with open_cluster(settings) as at:
            return await question(at)

    try:
        return asyncio.run(ask())
    except Exception as problem:
        outage = outage_of(problem)
        if outage is None:
            raise
        say(f"Error: {outage}")
        return UNAVAILABLE


# -- Telling outages apart: what waiting may cure, what it cannot, and what is no outage at all.


Outage: TypeAlias = BusError | StorageError | RedisError | OSError


def outage_of(problem: BaseException) -> Outage | None:
    """Return the first outage in a group of nothing else; None when there is more than that."""
    leaves = list(_leaves(problem))
    outages = [leave for leave in leaves if isinstance(leave, Outage)]
    return outages[0] if len(outages) == len(leaves) else None


def may_pass(problem: Outage) -> bool:
    """Return whether a service that could not be opened may be there later.

    A refused user, an old server or a queue of another kind stays what it is.
    """
    return isinstance(problem, UnavailableError)


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for exception in problem.exceptions:
            yield from _leaves(exception)
    else:
        yield problem

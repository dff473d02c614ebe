"""A process of a cluster: it serves until a signal, and outlives the outages of its services.

A service that is away is waited for. What waiting cannot cure, or did not, ends the process with
exit code 7.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onward.cli import exit_codes, options
from onward.cli.engines.cluster import ClusterAddress, cluster_options, may_pass, outage_of
from onward.cli.options import combine, option

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster, ClusterSettings
    from onward.bootstrap.telemetry import Telemetry
    from onward.cli.engines.cluster import Outage

T = TypeVar("T")
Serve = Callable[["Cluster", asyncio.Event], Awaitable[int | None]]
"""Serve until the event is set, and return when nothing is in hand any more.

What it returns, if anything, is the exit code: the process ends, signal or not."""

LONGEST_PAUSE_S = 30.0
_FIRST_PAUSE_S = 1.0
_LOG = logging.getLogger("onward")
_OPTIONS = combine(
    cluster_options,
    option(
        "--give-up",
        "give_up_s",
        type=click.FloatRange(0),
        default=60,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for a service that is away before exiting.",
    ),
    option(
        "--metrics",
        callback=options.address,
        metavar="[HOST:]PORT",
        help="Serve /live, /ready and /metrics here, on 127.0.0.1 unless a host is given; port 0"
        " is any free port.  [default: off]",
    ),
    option(
        "--otel",
        metavar="URL",
        help="Send spans to this OpenTelemetry collector, by OTLP over HTTP."
        "  [default: OTEL_EXPORTER_OTLP_ENDPOINT]",
    ),
    options.log_level,
    option("--log-json", is_flag=True, help="Write log lines as JSON objects."),
)


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """How a process runs, whatever it serves."""

    give_up_s: float
    metrics: tuple[str, int] | None
    otel: str | None
    log_level: str
    log_json: bool


def process_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of a process: the command gets `cluster`, and the rest as `process`."""

    @wraps(command)
    def run(
        *,
        give_up_s: float,
        metrics: tuple[str, int] | None,
        otel: str | None,
        log_level: str,
        log_json: bool,
        **given: Any,
    ) -> int:
        process = ProcessOptions(give_up_s, metrics, otel, log_level, log_json)
        return command(process=process, **given)

    return _OPTIONS(run)


def run_process(role: str, settings: ClusterSettings, serve: Serve, process: ProcessOptions) -> int:
    """Serve until a signal comes, and return the exit code: 0, or 7 without a service.

    The first signal lets running work finish, a second one ends the process at once.
    """
    from onward.bootstrap.host import configure_log
    from onward.bootstrap.telemetry import Telemetry
    from onward.cli.engines.engine import new_loop

    configure_log(level=process.log_level, as_json=process.log_json)
    collector = process.otel or _collector_of_environment()
    telemetry = Telemetry(role, metrics=process.metrics, otel=collector)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_Process(settings, serve, process.give_up_s, telemetry).run())


def run_simple_process(
    role: str,
    work: Callable[[Cluster], Coroutine[Any, Any, None]],
    cluster: ClusterAddress,
    process: ProcessOptions,
    **settings: Any,
) -> int:
    """Do work that may be cancelled at any moment until a signal comes."""

    async def serve(services: Cluster, stopping: asyncio.Event) -> None:
        _LOG.info("%s: ready", role)
        await until_set(stopping, work(services))

    return run_process(role, cluster.settings(**settings), serve, process)


async def until_set(stopping: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of `work`, or None: it is cancelled when the event is set."""
    from onward.runtime.tasks import cancel

    working, waiting = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    both = {working, waiting}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel(*both)
    return None if working.cancelled() else working.result()


def _collector_of_environment() -> str | None:
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


@dataclass(slots=True)
class _Process:
    settings: ClusterSettings
    serve: Serve
    give_up_s: float
    telemetry: Telemetry
    code: int = exit_codes.OK

    async def run(self) -> int:
        """Serve, with the metrics and health checks of the process."""
        listening = await self.telemetry.open()
        if listening is not None:
            _LOG.info("metrics: http://%s:%d/metrics", *listening)
        try:
            return await self._serve()
        finally:
            await self.telemetry.close()

    async def _serve(self) -> int:
        """Connect and serve, again after each outage, until a signal or until there is no hope."""
        stopping = _stop_event()
        time = asyncio.get_running_loop().time
        pause_s, deadline = _FIRST_PAUSE_S, None
        while not stopping.is_set():
            began = time()
            outage, opened = await self._serve_once(stopping)
            if outage is None:
                break
            self.telemetry.away(str(outage), outage=True)
            if opened and time() - began > LONGEST_PAUSE_S:
                # Patience is for one outage, not for all outages of a long life.
                pause_s, deadline = _FIRST_PAUSE_S, None
            if deadline is None:
                deadline = time() + self.give_up_s
            if time() >= deadline or not (opened or may_pass(outage)):
                _LOG.error("%s", outage)
                return exit_codes.UNREACHABLE
            pause_s = min(pause_s, deadline - time())
            _LOG.warning("%s (trying again in %.1f s)", outage, pause_s)
            await until_set(stopping, asyncio.sleep(pause_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return self.code

    async def _serve_once(self, stopping: asyncio.Event) -> tuple[Outage | None, bool]:
        """Serve until stopped (None) or until an outage; the flag says whether all was opened."""
        from onward.bootstrap.cluster import open_cluster

        opened = False
        try:
            async with AsyncExitStack() as stack:
                watch = self.telemetry.watch
                opening = stack.enter_async_context(open_cluster(self.settings, watch=watch))
                services = await until_set(stopping, opening)
                if services is not None:
                    opened = True
                    self.telemetry.serving(services)
                    self.code = await self.serve(services, stopping) or exit_codes.OK
        except Exception as problem:
            outage = outage_of(problem)
            if outage is None:
                raise
            return outage, opened
        return None, opened


def _stop_event() -> asyncio.Event:
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

"""What the commands of the distributed engine share: where the services are, and staying with them.

A process of the cluster runs until a signal. A service that is away is waited for; what waiting
cannot cure, or did not, ends the process with code 7.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weft.cli.options import option
from weft.errors import InputError

if TYPE_CHECKING:
    from weft.bootstrap.distributed import Cluster, ClusterSettings
    from weft.cli.outages import Outage

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Serve = Callable[["Cluster", asyncio.Event], Awaitable[None]]
"""Serve until the event is set, and return when nothing is in hand any more."""

UNAVAILABLE = 7
LONGEST_PAUSE_S = 30.0
_DRIVERS = ("pika", "redis", "asyncpg")
_LOG = logging.getLogger("weft")

_rabbitmq = option(
    "--rabbitmq", metavar="URL", envvar="WEFT_RABBITMQ_URL", required=True, help="The broker."
)
_redis = option(
    "--redis", metavar="URL", envvar="WEFT_REDIS_URL", required=True, help="The coordinator."
)
_postgres = option(
    "--postgres", metavar="URL", envvar="WEFT_POSTGRES_URL", required=True, help="The store."
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


def services(command: F) -> F:
    """Add the options that say where the services are."""
    for add in reversed((_rabbitmq, _redis, _postgres, _queue_type)):
        command = add(command)
    return command


def process(command: F) -> F:
    """Add the options of a process that runs until it is stopped."""
    for add in reversed((services, _give_up, _log_level, _log_json)):
        command = add(command)
    return command


def settings_of(
    *, rabbitmq: str, redis: str, postgres: str, queue_type: Any, **more: Any
) -> ClusterSettings:
    """Return the settings that the options describe; InputError when a client is not installed."""
    try:
        from weft.bootstrap.distributed import ClusterSettings
    except ModuleNotFoundError as missing:
        driver = (missing.name or "").partition(".")[0]
        if driver not in _DRIVERS:
            raise
        raise InputError(
            f"the distributed engine needs {driver}, which is not installed:"
            " pip install 'weft[distributed]'"
        ) from None
    return ClusterSettings(rabbitmq, redis, postgres, queue_type, **more)


def run_process(
    settings: ClusterSettings,
    serve: Serve,
    *,
    give_up_s: float,
    log_level: str,
    log_json: bool,
) -> int:
    """Serve until a signal comes, and return the exit code: 0, or 7 without a service.

    The first signal lets what is in hand finish, a second one ends the process at once.
    """
    from weft.bootstrap import configure_log
    from weft.cli.serving import new_loop

    configure_log(level=log_level, as_json=log_json)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_Process(settings, serve, give_up_s).run())


async def until_set(stopping: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return what `work` comes to, or None: when the event is set, it is cancelled."""
    doing, waiting = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    both = {doing, waiting}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in both:
            one.cancel()
        await asyncio.wait(both)
    return None if doing.cancelled() else doing.result()


@dataclass(slots=True)
class _Process:
    settings: ClusterSettings
    serve: Serve
    give_up_s: float

    async def run(self) -> int:
        """Connect and serve, again and again, until a signal or until there is no hope."""
        from weft.cli.outages import may_pass

        stopping = _signalled()
        time = asyncio.get_running_loop().time
        pause_s, hopeless = 1.0, None
        while not stopping.is_set():
            began = time()
            outage, opened = await self._once(stopping)
            if outage is None:
                break
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
        return 0

    async def _once(self, stopping: asyncio.Event) -> tuple[Outage | None, bool]:
        """Serve until stopped (None) or until a service is away, and say whether all was opened."""
        from weft.bootstrap.distributed import open_cluster
        from weft.cli.outages import outage_of

        opened = False
        try:
            async with AsyncExitStack() as stack:
                opening = stack.enter_async_context(open_cluster(self.settings))
                cluster = await until_set(stopping, opening)
                if cluster is not None:
                    opened = True
                    await self.serve(cluster, stopping)
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

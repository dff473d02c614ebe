"""The services of a cluster: the options that name them, asking them, and their outages.

A command that needs the services adds `cluster_options` and gets a `ClusterAddress`. One that may
ask a server or a file as well adds `anywhere_options` and gets whichever was named: `ask_anywhere`
tells them apart.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeGuard

import click
from click.core import ParameterSource

from onward.cli import exit_codes
from onward.cli.engines.engine import EngineAddress, Need, Work, ask, engine_options
from onward.cli.options import combine, option
from onward.distribution import install_command
from onward.errors import InputError, StorageError, UnavailableError
from onward.ports.cluster.bus import BusError

if TYPE_CHECKING:
    from redis.exceptions import RedisError

    from onward.bootstrap.cluster import Cluster, ClusterSettings

    Outage = BusError | StorageError | RedisError | OSError

_DRIVERS = ("pika", "redis", "asyncpg")
_SERVICES = {"rabbitmq": "RabbitMQ", "redis": "Redis", "postgres": "PostgreSQL"}
ClusterWork = Callable[["Cluster"], Awaitable[int]]
"""Ask, print the answer, and return the exit code."""


def _service(name: str, *, required: bool) -> Any:
    return option(
        f"--{name}",
        metavar="URL",
        envvar=f"ONWARD_{name.upper()}_URL",
        required=required,
        help=f"The URL of {_SERVICES[name]}.",
    )


queue_type = option(
    "--queue-type",
    type=click.Choice(["classic", "quorum"]),
    default="classic",
    show_default=True,
    help="The type of the queues, the same for every process.",
)
optional_services = combine(*(_service(name, required=False) for name in _SERVICES), queue_type)
_services = combine(*(_service(name, required=True) for name in _SERVICES), queue_type)


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Where the services of a cluster are."""

    rabbitmq: str
    redis: str
    postgres: str
    queue_type: Any

    def settings(self, **more: Any) -> ClusterSettings:
        """Return the settings of a process; InputError when a client is not installed."""
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
            rabbitmq_url=self.rabbitmq,
            redis_url=self.redis,
            postgres_url=self.postgres,
            queue_type=self.queue_type,
            **more,
        )


def cluster_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that name the services: the command gets them as `cluster`."""

    @wraps(command)
    def run(*, rabbitmq: str, redis: str, postgres: str, queue_type: str, **given: Any) -> int:
        address = ClusterAddress(rabbitmq, redis, postgres, queue_type)
        return command(cluster=address, **given)

    return _services(run)


def anywhere_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that name a server, a cluster or a file: the command gets `place`."""

    @engine_options
    @wraps(command)
    def run(*, engine: EngineAddress, queue_type: str, **given: Any) -> int:
        services = {name: given.pop(name) for name in _SERVICES}
        place: EngineAddress | ClusterAddress = engine
        if not engine.server and _names_cluster(services):
            place = ClusterAddress(**services, queue_type=queue_type)
        return command(place=place, **given)

    return optional_services(run)


def _names_cluster(services: dict[str, str | None]) -> bool:
    """Return whether the options name a cluster; UsageError when that is not clear.

    A file that is named on the command line wins over services in the environment.
    """
    source = click.get_current_context().get_parameter_source
    named = [name for name, url in services.items() if url]
    if source("database") is ParameterSource.COMMANDLINE:
        explicit = [name for name in named if source(name) is ParameterSource.COMMANDLINE]
        if explicit:
            raise click.UsageError(f"--db and --{explicit[0]} exclude each other")
        return False
    missing = [name for name in services if name not in named]
    if named and missing:
        raise click.UsageError(
            f"the cluster also needs --{missing[0]} (or ONWARD_{missing[0].upper()}_URL);"
            " for a file give --db"
        )
    return bool(named)


# -- asking ----------------------------------------------------------------------------------------


def ask_cluster(cluster: ClusterAddress, work: ClusterWork) -> int:
    """Do the work with the services of a cluster; an outage is printed and becomes exit code 7."""
    import asyncio

    from onward.bootstrap.host import configure_log

    settings = cluster.settings()
    from onward.bootstrap.cluster import open_cluster
    from onward.cli.output.console import say

    configure_log(level="warning")

    async def answer() -> int:
        async with open_cluster(settings) as services:
            return await work(services)

    try:
        return asyncio.run(answer())
    except Exception as problem:
        outage = outage_of(problem)
        if outage is None:
            raise
        say(f"Error: {outage}")
        return exit_codes.UNREACHABLE


def ask_anywhere(
    place: EngineAddress | ClusterAddress,
    *,
    engine: Work,
    cluster: ClusterWork,
    need: Need = "read",
) -> int:
    """Do one of two works: with the client of an engine, or with the services of a cluster."""
    if isinstance(place, ClusterAddress):
        return ask_cluster(place, cluster)
    return ask(place, engine, need=need)


# -- outages ---------------------------------------------------------------------------------------


def outage_of(problem: BaseException) -> Outage | None:
    """Return the first outage in a group of outages; None when there is another error in it."""
    leaves = list(_leaves(problem))
    outages = [leaf for leaf in leaves if _is_outage(leaf)]
    return outages[0] if len(outages) == len(leaves) else None


def may_pass(problem: Outage) -> bool:
    """Return whether a service that could not be opened may be available later.

    A refused user, an old server or a queue of another type will not change by waiting.
    """
    return isinstance(problem, UnavailableError)


def _is_outage(problem: BaseException) -> TypeGuard[Outage]:
    from redis.exceptions import RedisError  # an extra: without it there is no outage to meet

    return isinstance(problem, (BusError, StorageError, RedisError, OSError))


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for exception in problem.exceptions:
            yield from _leaves(exception)
    else:
        yield problem

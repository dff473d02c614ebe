"""What a process reports about itself and about runs: endpoint, metrics, spans, lifecycle events.

`Telemetry` is one process as others see it; `publish_lifecycle` publishes the lifecycle of runs to
a URL or into a file; `until_full` ends a worker that has grown too large.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from onward import __version__
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.event_file import EventFile
from onward.adapters.host.log import HostLog
from onward.adapters.host.memory import resident_mb
from onward.adapters.sql.database import SqlDatabase
from onward.adapters.sql.publish_positions import TablePublishPositions
from onward.adapters.telemetry.endpoint import TEXT_FORMAT, Endpoint, EndpointResponse
from onward.distribution import install_command
from onward.errors import InputError
from onward.kernel.ids import derive
from onward.ports.nodes.outside import Http
from onward.ports.storage.run_queries import RunQueries
from onward.ports.telemetry import RESTARTS, UNMEASURED, Meter, Tracer
from onward.runtime.instrumentation import Instrumentation
from onward.runtime.signals.lifecycle_publisher import LifecyclePublisher, Send
from onward.runtime.tasks import cancel
from onward.runtime.triggers.event_hub import HttpSink

if TYPE_CHECKING:
    from onward.adapters.telemetry.otel import OtelTracer
    from onward.adapters.telemetry.prometheus import PrometheusMeter

READY_FOR_S = 1.0
"""How long an answer about the services stands: probes shall not be a load of their own."""
SIZE_CHECK_S = 1.0
"""How often the size of a process is checked."""


class ServiceHealth(Protocol):
    """Services that report their health (`Cluster`, or a stand-in)."""

    async def health(self) -> dict[str, str | None]:
        """Return why each service cannot be used; None for one that can."""
        ...

    def reconnects(self) -> dict[str, int]:
        """Return how often the connection to each service was found again."""
        ...


class Telemetry:
    """One process as others see it. What was not asked for costs nothing.

    `metrics` is where to listen; `otel` is where spans go; `role` is what the process is.
    Raises InputError for what is not installed, or an endpoint that is none.
    """

    def __init__(
        self, role: str, *, metrics: tuple[str, int] | None = None, otel: str | None = None
    ) -> None:
        self._place = metrics
        self._meter = _prometheus(self._reconnects) if metrics else None
        self._tracer = _otel(otel, role) if otel else None
        self._endpoint: Endpoint | None = None
        self._cluster: ServiceHealth | None = None
        self._lost: dict[str, int] = {}
        self._why = "it is starting"
        self._seen: tuple[float, dict[str, str | None]] | None = None
        self._asking = asyncio.Lock()
        meter: Meter = self._meter or UNMEASURED
        tracer: Tracer | None = self._tracer
        self.watch = Instrumentation(meter, tracer)

    async def open(self) -> tuple[str, int] | None:
        """Listen, and return where; InputError when the address cannot be used."""
        if self._place is None:
            return None
        self._endpoint = Endpoint(
            {"/live": self._live, "/ready": self._ready, "/metrics": self._metrics}
        )
        try:
            return await self._endpoint.open(*self._place)
        except OSError as problem:
            host, port = self._place
            raise InputError(
                f"--metrics {host}:{port}: cannot listen there ({problem.strerror or problem});"
                " choose another address, or port 0 for any"
            ) from None

    async def close(self) -> None:
        """Stop listening, and send what is left."""
        if self._endpoint is not None:
            await self._endpoint.close()
        if self._tracer is not None:
            self._tracer.close()

    def serving(self, cluster: ServiceHealth) -> None:
        """The services are connected: from now on they are asked."""
        self._cluster, self._seen = cluster, None

    def away(self, why: str, *, outage: bool = False) -> None:
        """The process has left its services: it is not ready, and this is why."""
        if self._cluster is not None:
            for service, count in self._cluster.reconnects().items():
                self._lost[service] = self._lost.get(service, 0) + count
        self._cluster, self._why = None, why
        if outage:
            self.watch.meter.add(RESTARTS)

    def _reconnects(self) -> dict[str, int]:
        found = self._cluster.reconnects() if self._cluster is not None else {}
        return {
            service: self._lost.get(service, 0) + found.get(service, 0)
            for service in {**self._lost, **found}
        }

    async def _live(self) -> EndpointResponse:
        return _json(200, {"live": True})

    async def _ready(self) -> EndpointResponse:
        if self._cluster is None:
            return _json(503, {"ready": False, "reason": self._why})
        services = await self._health(self._cluster)
        ready = not any(services.values())
        answers = {name: why or "ok" for name, why in services.items()}
        return _json(200 if ready else 503, {"ready": ready, "services": answers})

    async def _health(self, cluster: ServiceHealth) -> dict[str, str | None]:
        now = asyncio.get_running_loop().time
        async with self._asking:
            if self._seen is None or now() - self._seen[0] > READY_FOR_S:
                services = await cluster.health()
                self._seen = (now(), services)
            return self._seen[1]

    async def _metrics(self) -> EndpointResponse:
        text = self._meter.text() if self._meter is not None else b""
        return EndpointResponse(200, TEXT_FORMAT, text)


def _prometheus(reconnects: Callable[[], dict[str, int]]) -> PrometheusMeter:
    try:
        from onward.adapters.telemetry.prometheus import PrometheusMeter  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise _not_installed("--metrics", missing, "metrics") from None
    meter = PrometheusMeter(__version__)
    meter.count_reconnects(reconnects)
    return meter


def _otel(endpoint: str, role: str) -> OtelTracer:
    try:
        from onward.adapters.telemetry.otel import open_otel  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as missing:
        raise _not_installed("--otel", missing, "otel") from None
    return open_otel(endpoint, service=f"onward-{role}", version=__version__)


def _not_installed(option: str, missing: ModuleNotFoundError, extra: str) -> InputError:
    return InputError(
        f"{option} needs {missing.name}, which is not installed: {install_command(extra)}"
    )


def _json(status: int, value: dict[str, object]) -> EndpointResponse:
    return EndpointResponse(status, "application/json", json.dumps(value).encode() + b"\n")


# -- the lifecycle of runs: to a URL, or into a file -----------------------------------------------


def check_sink(target: str) -> None:
    """Raise InputError unless events can be sent to a target at all."""
    if target.startswith(("http://", "https://")):
        return
    if not target.startswith("file:") or not _file(target).name:
        raise InputError(
            f"--lifecycle-events {target}: write an http:// or https:// URL, or file:PATH"
        )
    if not _file(target).parent.is_dir():
        raise InputError(f"--lifecycle-events {target}: there is no folder {_file(target).parent}")


async def publish_lifecycle(
    target: str, archive: RunQueries, tables: SqlDatabase, http: Http, *, late_ms: int
) -> None:
    """Publish the lifecycle of runs to a target until cancelled; any number of processes may."""
    send: Send = EventFile(_file(target))
    if not target.startswith("file:"):
        send = HttpSink(http, target)
    holder = HostChance().publish_id()
    positions, clock = TablePublishPositions(tables), HostClock()
    publisher = LifecyclePublisher(
        archive, positions, send, clock, HostLog(), holder, late_ms=late_ms
    )
    # Its name is no secret, and the target may hold one.
    await publisher.run(f"lifecycle-{derive(target)}")


def _file(target: str) -> Path:
    return Path(target.removeprefix("file:").removeprefix("//"))


# -- the size of a process: memory that leaked is returned by starting anew ------------------------


async def until_full(work: Coroutine[Any, Any, None], max_mb: int | None) -> int | None:
    """Do the work until it ends, or until this process is larger than `max_mb`: return its size."""
    working = asyncio.create_task(work)
    try:
        while True:
            done, _ = await asyncio.wait(
                [working], timeout=None if max_mb is None else SIZE_CHECK_S
            )
            if done:
                await working
                return None
            size_mb = resident_mb()
            if max_mb is not None and size_mb > max_mb:
                return size_mb
    finally:
        await cancel(working)

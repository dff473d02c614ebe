"""What a process of the cluster tells about itself: its endpoint, its numbers and its spans."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from onward import __version__
from onward.adapters.telemetry.endpoint import TEXT_FORMAT, Answer, Endpoint
from onward.distribution import install_command
from onward.errors import InputError
from onward.ports.metrics import RESTARTS, UNMEASURED, Meter
from onward.ports.tracing import Tracer
from onward.runtime.watching import Watch

if TYPE_CHECKING:
    from onward.adapters.telemetry.otel import OtelTracer
    from onward.adapters.telemetry.prometheus import PrometheusMeter

READY_FOR_S = 1.0
"""How long an answer about the services stands: probes shall not be a load of their own."""


class Checked(Protocol):
    """Services that can be asked how they are (`Cluster`)."""

    async def health(self) -> dict[str, str | None]:
        """Return why each service cannot be used; None for one that can."""
        ...

    def reconnects(self) -> dict[str, int]:
        """Return how often the connection to each service was found again."""
        ...


class Telemetry:
    """One process as others see it. Nothing of it costs anything unless it was asked for.

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
        self._cluster: Checked | None = None
        self._lost: dict[str, int] = {}
        self._why = "it is starting"
        self._seen: tuple[float, dict[str, str | None]] | None = None
        self._looking = asyncio.Lock()
        meter: Meter = self._meter or UNMEASURED
        tracer: Tracer | None = self._tracer
        self.watch = Watch(meter, tracer)

    async def open(self) -> tuple[str, int] | None:
        """Listen, and return where; InputError when the address cannot be had."""
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

    def serving(self, cluster: Checked) -> None:
        """The services are connected: from now on they are asked."""
        self._cluster, self._seen = cluster, None

    def away(self, why: str, *, outage: bool = False) -> None:
        """The process has let go of its services: it is not ready, and this is why."""
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

    async def _live(self) -> Answer:
        return _json(200, {"live": True})

    async def _ready(self) -> Answer:
        if self._cluster is None:
            return _json(503, {"ready": False, "reason": self._why})
        services = await self._looked(self._cluster)
        ready = not any(services.values())
        told = {name: why or "ok" for name, why in services.items()}
        return _json(200 if ready else 503, {"ready": ready, "services": told})

    async def _looked(self, cluster: Checked) -> dict[str, str | None]:
        now = asyncio.get_running_loop().time
        async with self._looking:
            if self._seen is None or now() - self._seen[0] > READY_FOR_S:
                services = await cluster.health()
                self._seen = (now(), services)
            return self._seen[1]

    async def _metrics(self) -> Answer:
        text = self._meter.text() if self._meter is not None else b""
        return Answer(200, TEXT_FORMAT, text)


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


def _json(status: int, value: dict[str, object]) -> Answer:
    return Answer(status, "application/json", json.dumps(value).encode() + b"\n")

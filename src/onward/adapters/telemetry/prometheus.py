"""Metrics for Prometheus, in a registry of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from onward.ports.telemetry import BUILD, METRICS, RECONNECTS, Meter, Metric


class PrometheusMeter:
    """Holds every metric from the start: a series without labels is 0 before it first changes."""

    def __init__(self, version: str) -> None:
        self._registry = CollectorRegistry()
        self._families: dict[Metric, Any] = {
            metric: _family(metric, self._registry)
            for metric in METRICS
            if metric is not RECONNECTS
        }
        self._series: dict[tuple[Metric, tuple[str, ...]], Any] = {}
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self.set(BUILD, 1, version)

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        self._of(metric, labels).inc(amount)

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        self._of(metric, labels).observe(value)

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        self._of(metric, labels).set(value)

    def count_reconnects(self, read: Callable[[], dict[str, int]]) -> None:
        """Call `read` for the reconnects of each service at every scrape."""
        self._registry.register(_Reconnects(read))

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self._registry)

    def _of(self, metric: Metric, labels: tuple[str, ...]) -> Any:
        key = (metric, labels)
        series = self._series.get(key)
        if series is None:
            family = self._families[metric]
            series = self._series[key] = family.labels(*labels) if labels else family
        return series


def _family(metric: Metric, registry: CollectorRegistry) -> Any:
    match metric.kind:
        case "counter":
            return Counter(metric.name, metric.help, metric.labels, registry=registry)
        case "gauge":
            return Gauge(metric.name, metric.help, metric.labels, registry=registry)
        case "histogram":
            return Histogram(
                metric.name,
                metric.help,
                metric.labels,
                registry=registry,
                buckets=metric.buckets,
            )


class _Reconnects(Collector):
    """The reconnects of each service, which are counted where the connections are."""

    def __init__(self, read: Callable[[], dict[str, int]]) -> None:
        self._read = read

    def collect(self) -> list[Family]:
        """Return one counter with a series for each service."""
        family = CounterMetricFamily(RECONNECTS.name, RECONNECTS.help, labels=RECONNECTS.labels)
        for service, count in self._read().items():
            family.add_metric([service], count)
        return [family]


_conforms: type[Meter] = PrometheusMeter

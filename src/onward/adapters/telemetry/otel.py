"""Spans to an OpenTelemetry collector, by OTLP over HTTP.

Spans are exported when they have ended, with ids of our own, so nothing of the SDK is on the hot
path but its batch processor, which sends from a thread.
"""

from __future__ import annotations

import threading
import time
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from onward.errors import InputError
from onward.kernel.lineage import describe
from onward.kernel.messages import CompletionMessage, Token
from onward.kernel.timestamps import from_iso
from onward.ports.telemetry import Mark, Tracer, mark_of, parent_of, root_of

TIMEOUT_S = 5
_BAD_OUTCOMES = frozenset({"failed", "trouble"})


class OtelTracer:
    """Hands spans to a processor."""

    def __init__(self, processor: SpanProcessor, *, service: str, version: str) -> None:
        self._processor = processor
        own = Resource({"service.name": service, "service.version": version})
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have precedence.
        surroundings = OTELResourceDetector().detect()
        self._resource = Resource.create().merge(own).merge(surroundings)
        self._scope = InstrumentationScope("onward", version)

    def now_ns(self) -> int:
        return time.time_ns()

    def executed(
        self, token: Token, node_type: str, outcome: str, start_ns: int, end_ns: int
    ) -> None:
        mark = mark_of(token)
        if not mark.sampled:
            return
        attributes: dict[str, str | int] = {
            "onward.execution_id": token.execution_id,
            "onward.workflow": token.workflow_id,
            "onward.node": token.current_node,
            "onward.type": node_type,
            "onward.attempt": token.attempt,
            "onward.outcome": outcome,
        }
        if token.lineage_stack:
            attributes["onward.lineage"] = describe(token.lineage_stack)
        self._processor.on_end(
            ReadableSpan(
                name=token.current_node,
                context=_context(mark),
                parent=_context(parent_of(token), remote=True),
                resource=self._resource,
                attributes=attributes,
                kind=SpanKind.CONSUMER,
                status=Status(StatusCode.ERROR if outcome in _BAD_OUTCOMES else StatusCode.UNSET),
                start_time=start_ns,
                end_time=end_ns,
                instrumentation_scope=self._scope,
            )
        )

    def ended(self, completion: CompletionMessage) -> None:
        end_ms = from_iso(completion.completed_at)
        good = completion.status == "completed"
        why = completion.error.message if completion.error is not None else None
        self._processor.on_end(
            ReadableSpan(
                name=completion.workflow_id,
                context=_context(root_of(completion.execution_id)),
                resource=self._resource,
                attributes={
                    "onward.execution_id": completion.execution_id,
                    "onward.workflow": completion.workflow_id,
                    "onward.outcome": completion.status,
                },
                kind=SpanKind.INTERNAL,
                status=Status(StatusCode.UNSET) if good else Status(StatusCode.ERROR, why),
                start_time=(end_ms - completion.total_duration_ms) * 1_000_000,
                end_time=end_ms * 1_000_000,
                instrumentation_scope=self._scope,
            )
        )

    def close(self) -> None:
        """Send what is left, and give up after a few seconds when the collector does not answer."""
        sending = threading.Thread(target=self._processor.shutdown, daemon=True)
        sending.start()
        sending.join(TIMEOUT_S)


def open_otel(endpoint: str, *, service: str, version: str) -> OtelTracer:
    """Return a tracer that sends to the collector at `endpoint`; InputError for a wrong URL.

    The endpoint is the base of the collector, as in OTEL_EXPORTER_OTLP_ENDPOINT, or names
    /v1/traces itself. A collector that is down costs spans, never a run.
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"--otel {endpoint}: not the URL of an OTLP/HTTP collector; write http://HOST:4318"
        )
    url = endpoint.rstrip("/")
    if not parts.path.rstrip("/").endswith("/v1/traces"):
        url += "/v1/traces"
    exporter = OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S)
    return OtelTracer(BatchSpanProcessor(exporter), service=service, version=version)


def _context(mark: Mark, *, remote: bool = False) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if mark.sampled else TraceFlags.DEFAULT)
    return SpanContext(int(mark.trace, 16), int(mark.span, 16), remote, flags)


_conforms: type[Tracer] = OtelTracer

"""Spans on the wire, to a collector that is there and to one that is not."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from kernel.builders import token
from onward.adapters.telemetry.otel import open_otel
from onward.ports.telemetry import mark_of


class Collector(BaseHTTPRequestHandler):
    """Takes what is posted."""

    def do_POST(self):  # the name that the base class calls
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def collector():
    server = HTTPServer(("127.0.0.1", 0), Collector)
    server.taken = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["", "/", "/v1/traces"])
def test_spans_arrive_at_the_collector(collector, monkeypatch, path):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    url = f"http://127.0.0.1:{collector.server_port}{path}"
    tracer = open_otel(url, service="onward-worker", version="1.2")
    one = token(current_node="p")

    tracer.executed(one, "http", "succeeded", 1_000, 2_000)
    tracer.close()

    ((asked, body),) = collector.taken
    assert "/v1/traces" == asked
    (spans,) = ExportTraceServiceRequest.FromString(body).resource_spans
    resource = {item.key: item.value.string_value for item in spans.resource.attributes}
    assert ("onward-worker", "1.2") == (resource["service.name"], resource["service.version"])
    (span,) = spans.scope_spans[0].spans
    assert ("p", 1_000, 2_000) == (span.name, span.start_time_unix_nano, span.end_time_unix_nano)
    assert mark_of(one).span == span.span_id.hex()


def test_the_name_of_the_service_can_be_set_from_outside(collector, monkeypatch):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "orders")
    tracer = open_otel(f"http://127.0.0.1:{collector.server_port}", service="w", version="1")

    tracer.executed(token(), "http", "succeeded", 1, 2)
    tracer.close()

    (spans,) = ExportTraceServiceRequest.FromString(collector.taken[0][1]).resource_spans
    named = [item.value for item in spans.resource.attributes if item.key == "service.name"]
    assert ["orders"] == [value.string_value for value in named]


def test_what_nobody_samples_is_not_told(collector):
    tracer = open_otel(f"http://127.0.0.1:{collector.server_port}", service="w", version="1")

    tracer.executed(token(traceparent=f"00-{32 * 'a'}-{16 * 'b'}-00"), "http", "failed", 1, 2)
    tracer.close()

    assert [] == collector.taken

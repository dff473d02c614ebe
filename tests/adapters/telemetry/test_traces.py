"""One trace for each run, with the right parents, over the real services."""

from collections import Counter

import msgspec
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from onward.adapters.telemetry.otel import OtelTracer
from onward.kernel.messages import encode_message
from onward.kernel.outcome import Succeeded
from onward.ports.telemetry import root_of
from onward.runtime.instrumentation import Instrumentation
from runtime.cluster.lab import publish
from support.documents import TRIGGER, node, transform, workflow

FOREIGN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Spans:
    """The spans that were told."""

    def __init__(self):
        self.exporter = InMemorySpanExporter()
        self.tracer = OtelTracer(SimpleSpanProcessor(self.exporter), service="onward", version="1")

    def __iter__(self):
        return iter(self.exporter.get_finished_spans())

    def traces(self):
        return {f"{span.context.trace_id:032x}" for span in self}

    def edges(self):
        """Return how often a span of one name stands below one of another."""
        names = {span.context.span_id: span.name for span in self}
        below = [
            (names.get(span.parent.span_id, "?") if span.parent else None, span) for span in self
        ]
        return Counter((parent, one.name) for parent, one in below)

    def called(self, name):
        return [span for span in self if span.name == name]


@pytest.fixture
def spans():
    return Spans()


async def test_a_split_is_one_trace_with_every_node_below_the_one_before(watched, spans):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", tag="$item"),
        node("all", "aggregator"),
        transform("after", "$all"),
        "start -> each -> p -> all -> after",
    )

    async with watched(Instrumentation(tracer=spans.tracer)) as lab:
        ended = await lab.run(document, [1, 2, 3])

    assert {root_of(ended.execution_id).trace} == spans.traces()
    assert {
        (None, "flow"): 1,
        ("flow", "start"): 1,
        ("start", "each"): 1,
        ("each", "p"): 3,
        ("p", "all"): 3,
        ("each", "after"): 1,
    } == spans.edges()
    items = {span.attributes["onward.lineage"] for span in spans.called("p")}
    assert {"each[0]", "each[1]", "each[2]"} == items
    (first,) = spans.called("start")
    assert {
        "onward.execution_id": ended.execution_id,
        "onward.workflow": "flow",
        "onward.node": "start",
        "onward.type": "manual_trigger",
        "onward.attempt": 1,
        "onward.outcome": "succeeded",
    } == dict(first.attributes)
    (run,) = spans.called("flow")
    assert "completed" == run.attributes["onward.outcome"]
    assert all(span.start_time <= span.end_time for span in spans)


async def test_attempts_and_waits_stay_in_the_trace(watched, spans):
    document = workflow(
        TRIGGER,
        node("p", "probe", fail_first=1, retry={"max_attempts": 2, "delay": 0.01}),
        node("nap", "wait", amount=0.01, unit="seconds"),
        transform("after", "1"),
        "start -> p -> nap -> after",
    )

    async with watched(Instrumentation(tracer=spans.tracer)) as lab:
        await lab.run(document)

    assert 1 == len(spans.traces())
    assert {
        (None, "flow"): 1,
        ("flow", "start"): 1,
        ("start", "p"): 1,
        ("p", "p"): 1,
        ("p", "nap"): 1,
        ("nap", "nap"): 1,
        ("nap", "after"): 1,
    } == spans.edges()
    first, second = spans.called("p")
    assert ["failed", "succeeded"] == [
        span.attributes["onward.outcome"] for span in (first, second)
    ]
    assert [1, 2] == [span.attributes["onward.attempt"] for span in (first, second)]
    assert [False, True] == [span.status.is_ok for span in (first, second)]


async def test_a_trace_that_a_producer_began_goes_on(watched, spans, rabbitmq_url):
    seen = []

    async def look(tools):
        seen.append(tools.traceparent)
        return Succeeded(None)

    document = workflow(TRIGGER, node("p", "probe", does="look"), "start -> p")

    async with watched(Instrumentation(tracer=spans.tracer)) as lab:
        lab.book.acts["look"] = look
        program = lab.program(document)
        (token,), _ = program.start("run-1", msgspec.Raw(b"null"), now_ms=1)
        definition = msgspec.Raw(program.document.source)
        sent = msgspec.structs.replace(
            token, traceparent=FOREIGN, workflow_definition=definition, definition_ref=""
        )
        publish(rabbitmq_url, "workflow.execution", encode_message(sent))
        await lab.finish("run-1")

    assert {FOREIGN.split("-")[1]} == spans.traces()
    assert {("?", "start"): 1, ("start", "p"): 1} == spans.edges()
    (visit,) = spans.called("p")
    assert [f"00-{FOREIGN.split('-')[1]}-{visit.context.span_id:016x}-01"] == seen

"""What goes along with a node: the trace to those it calls, its place to the log."""

import json
import logging

import pytest

from kernel.builders import token
from onward.adapters.host.log import HostLog, configure_log
from onward.kernel.messages import item_frame
from onward.nodes.graph.http import HttpNode
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpAnswer
from onward.runtime.instrumentation import Instrumentation
from onward.runtime.token.statuses import fields_of
from support.documents import TRIGGER, node, workflow

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Caller:
    """An HTTP client that remembers the headers."""

    async def send(self, request):
        self.headers = request.headers
        return HttpAnswer(status=200, headers={}, body=b"")


async def called(parent, **headers):
    http = Caller()
    await HttpNode(url="http://x/", headers=headers).run(
        Tools(http=http, mail=None, log=None, traceparent=parent)
    )
    return http.headers.get("traceparent")


async def test_a_called_service_is_told_the_trace():
    assert PARENT == await called(PARENT)


async def test_without_a_trace_nothing_is_told():
    assert None is await called("")


async def test_a_header_of_the_document_counts_more():
    assert "mine" == await called(PARENT, Traceparent="mine")


def test_a_line_about_a_run_says_which_node_item_and_attempt():
    frame = item_frame("x1", "s", "users", 5, 9)
    one = token(current_node="p", lineage_stack=(frame,), attempt=2, traceparent=PARENT)

    assert {
        "run": "x1",
        "node": "p",
        "item": "users[5]",
        "attempt": 2,
        "trace": "4bf92f3577b34da6a3ce929d0e0e4736",
    } == fields_of(one)


def test_a_line_about_no_message_that_could_be_read_says_nothing_of_a_run():
    assert {} == fields_of(None)


@pytest.fixture
def restored():
    loggers = [logging.getLogger(name) for name in ("onward", "opentelemetry")]
    before = [(list(logger.handlers), logger.level, logger.propagate) for logger in loggers]
    yield
    for one, (handlers, level, propagate) in zip(loggers, before, strict=True):
        one.handlers[:], one.propagate = handlers, propagate
        one.setLevel(level)


@pytest.mark.parametrize(("attempt", "shown"), [(1, "x node=p"), (2, "x node=p attempt=2")])
def test_people_see_the_attempt_only_when_it_is_news(restored, capsys, attempt, shown):
    configure_log()
    HostLog().write("info", "x", node="p", attempt=attempt)

    assert f"INFO {shown}\n" == capsys.readouterr().err.split(" ", 1)[1]


def test_an_exception_stays_on_the_line_it_belongs_to(restored, capsys):
    configure_log()
    try:
        raise ValueError("a\nb")
    except ValueError:
        logging.getLogger("opentelemetry.sdk").exception("not sent")

    (line,) = capsys.readouterr().err.splitlines()
    assert "ERROR not sent exception=" in line
    assert "ValueError" in line


async def test_on_the_cluster_every_line_of_a_node_says_where_it_is_from(watched, restored, capsys):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("say", "log", message="$item"),
        node("all", "aggregator"),
        "start -> each -> say -> all",
    )

    configure_log(as_json=True)
    async with watched(Instrumentation()) as lab:
        ended = await lab.run(document, ["a", "b"])

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[:1] == "{"]
    about = [line for line in lines if line["message"] in ("a", "b")]
    assert [("a", "each[0]"), ("b", "each[1]")] == sorted((o["message"], o["item"]) for o in about)
    run = ended.execution_id
    assert [(run, "say", 1)] * 2 == [(line["run"], line["node"], line["attempt"]) for line in about]

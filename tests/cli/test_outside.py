"""What reaches runs from outside, by commands: signals, decisions, callbacks, events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.conftest import Onward, node
from cli.test_control import begun, kept
from onward.cli.commands.runs.signals import engine_of_link
from onward.cli.engines.engine import EngineAddress


@pytest.fixture
def asking(ask: Onward, document: Any) -> str:
    """A workflow that waits for a signal, and then for two people."""
    people = {"approvers": ["ada", "bo"], "required": 2, "message": "Pay?"}
    return kept(
        ask,
        document,
        "asking",
        node("start", "manual_trigger"),
        node("paid", "wait_for_signal", signal="paid"),
        node("agreed", "approval", **people),
        edges=("start>paid", "paid>agreed"),
    )


def test_a_run_gets_its_signal_and_two_decisions(ask: Onward, asking: str, request: Any):
    run = begun(ask, asking, "r1")
    waits = ask("runs", "waits", run, "-o", "json").json
    sent = [ask("runs", "signal", run, "paid", "-i", "amount:=7", "--once", "a") for _ in "12"]
    listed = ask("runs", "signals", run, "-o", "json").json
    _go_on(ask, request, run)
    asked = ask("approvals", "ls", "-o", "json").json
    shown = ask("approvals", "ls", run).out
    stranger = ask("approvals", "approve", run, "--as", "cy")
    first = ask("approvals", "approve", run, "--as", "ada", "--comment", "fine")
    _go_on(ask, request, run)
    twice = ask("approvals", "approve", run, "--as", "ada")
    second = ask("approvals", "approve", run, "--as", "bo", "-o", "json")
    _go_on(ask, request, run, ended=True)

    assert ["paid"] == [wait["signal"] for wait in waits]
    assert "/api/v1/callbacks/" in waits[0]["callback_url"]
    assert [0, 0] == [one.code for one in sent]
    assert [{"amount": 7}] == [one["payload"] for one in listed]
    assert [("r1", "Pay?")] == [(one["execution_id"], one["message"]) for one in asked]
    assert "r1\tagreed\t\tPay?\t0 of 2\tada, bo\t" in shown
    assert (1, True) == (stranger.code, "cy is not a pending approver: ada, bo" in stranger.err)
    assert (0, "ada decided: approve\n") == (first.code, first.out)
    assert (1, True) == (twice.code, "ada is not a pending approver" in twice.err)
    assert (0, "approve") == (second.code, second.json["decision"])
    assert "completed" == ask("runs", "show", run, "--json").json["status"]


def _go_on(ask: Onward, request: Any, run: str, *, ended: bool = False) -> None:
    """Let a run go on until it has nothing to do: a server does so by itself."""
    if "file" in request.node.name:
        words = ("continue", run) if ended else ("runs", "pause", run)
        assert 0 == ask(*words).code
        assert ended or 0 == ask("runs", "resume", run).code
    for _ in range(600):
        found = ask("runs", "explain", run, "-o", "json").json
        told = [one["kind"] for one in found["waits"]]
        if ended == (found["status"] == "completed") and (ended or "signal" not in told):
            return
    raise AssertionError(found)


def test_an_event_starts_runs_of_those_who_look_for_it(served: Onward, document: Any):
    name = kept(served, document, "told", node("a", "noop"), edges=())
    served("triggers", "add", "paid", name, "--event", "order.*", "--where", ".data.amount > 100")
    words = ("events", "emit", "order.paid", "--source", "/shop", "--id", "e1")
    small = served(
        "events", "emit", "order.paid", "--source", "/shop", "-i", "amount:=1", "-o", "ids"
    )
    large = served(*words, "-i", "amount:=200", "-o", "ids")
    again = served(*words, "-i", "amount:=200", "-o", "ids")
    events = served("events", "ls", "--run", large.out.strip(), "-o", "jsonl").out.splitlines()

    assert (0, "") == (small.code, small.out)
    assert (0, large.out) == (large.code, again.out)
    assert large.out == served("triggers", "firings", "paid", "-o", "ids").out
    assert "run.started" == msgspec.json.decode(events[0])["type"]


def test_expressions_are_evaluated_on_given_data_and_on_that_of_a_run(
    served: Onward, document: Any
):
    nodes = (node("start", "manual_trigger"), node("add", "transform", expression="{sum: 3}"))
    name = kept(served, document, "sums", *nodes, edges=("start>add",))
    run = served("runs", "start", name, "--wait", "-o", "ids").out.strip()

    assert 3 == served("expr", "$add.sum", "--run", run).json
    assert 7 == served("expr", "{{ .a + $b }}", "-i", "a:=3", "--var", "b:=4").json
    assert "hello Ada" == served("expr", "hello {{ $name }}", "--var", "name=Ada").json
    broken = served("expr", "{{ .a + }}")
    assert (2, "") == (broken.code, broken.out)


def test_how_runs_may_start_is_set_shown_and_taken_away(served: Onward, document: Any):
    name = kept(served, document, "w", node("a", "noop"), edges=())
    flow = ("workflows", "flow")
    made = served(
        *flow, "set", name, "--key", "$trigger.to", "--at-once", 2, "--rate", 5, "-o", "json"
    )
    shown = served(*flow, "show", name).out
    gone = served(*flow, "rm", name)
    missing = served(*flow, "show", name)

    assert (2, 5, 60_000) == tuple(made.json[key] for key in ("concurrency", "rate", "per_ms"))
    assert "w\t$trigger.to\t2\t5 in 1 min 00 s\t\t" in shown
    assert (0, 5) == (gone.code, missing.code)


def test_schedules_are_previewed_changed_and_webhooks_get_new_secrets(
    served: Onward, document: Any
):
    name = kept(served, document, "timed", node("a", "noop"), edges=())
    after = ("--after", "2026-10-24T12:00:00Z", "--count", 2)
    berlin = ("--cron", "30 2 * * *", "--zone", "Europe/Berlin")
    times = served("triggers", "preview", *berlin, *after, "-o", "json").json
    served("triggers", "add", "t", name, "--cron", "@daily")
    changed = served("triggers", "change", "t", *berlin, "--disabled", "-o", "json").json
    other = served("triggers", "change", "t", "--every", "1h")
    served("triggers", "add", "h", name, "--webhook", "h")
    rotated = served("triggers", "rotate", "h")

    assert ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"] == times
    assert ("30 2 * * *", False) == (changed["settings"]["expression"], changed["enabled"])
    assert (5, True) == (other.code, "[OTHER_KIND]" in other.err)
    assert "whsec_" in rotated.out
    assert "h\n" == served("triggers", "ls", "--kind", "webhook", "-o", "ids").out


def test_credentials_that_the_api_keeps_never_show_a_value(ask: Onward, here: Path, request: Any):
    ask("stats")
    ask("users", "ls")  # makes the file
    at = ("--db", here / ".onward/onward.db") if "file" in request.node.name else ()
    fields = ("--type", "http_bearer", "--field", "token=s3cret")
    made = ask("credentials", "add", "pay", *fields, "--workflow", "charge", *at, "-o", "json")
    other = ask("credentials", "add", "pay", "--type", "smtp", "--field", "host=x", *at)
    wrong = ask("credentials", "add", "pay", "--field", "host=x", *at)
    again = ask("credentials", "add", "pay", "--field", "token=s3cret2", *at, "-o", "json")
    allowed = ask("credentials", "allow", "pay", "--all", "-o", "json")
    tried = ask("credentials", "test", "pay", "--url", "http://127.0.0.1:1/")
    listed = ask("credentials", "ls", *at, "-o", "jsonl")
    gone = ask("credentials", "rm", "pay", *at)
    missing = ask("credentials", "show", "pay")

    assert (0, "http_bearer", ["charge"]) == (made.code, made.json["type"], made.json["workflows"])
    assert (2, True) == (other.code, "pay is of type http_bearer" in other.err)
    assert (2, True) == (wrong.code, "[INVALID_CREDENTIAL]" in wrong.err)
    assert (["charge"], 2) == (again.json["workflows"], again.json["revision"])
    assert allowed.json["workflows"] is None
    assert (1, True) == (tried.code, tried.out.startswith("refused: "))
    assert "s3cret" not in listed.out + made.out + tried.out
    assert (0, 5) == (gone.code, missing.code)


def test_the_audit_log_tells_who_changed_what(served: Onward, document: Any):
    kept(served, document, "audited", node("a", "noop"), edges=())
    served("workflows", "disable", "audited")

    found = served("audit", "--target", "workflow audited", "-o", "json").json

    assert ["disable_workflow", "create_workflow"] == [one["action"] for one in found]
    assert "disable_workflow" in served("audit", "--limit", 1).out
    assert "audited\tcompleted\t" not in served("stats").out


def test_whoever_has_a_link_decides_with_it_and_nothing_else(
    quick: Onward, server: str, document: Any
):
    nodes = (node("start", "manual_trigger"), node("agreed", "approval", approvers=["ada"]))
    file: Path = document("a.json", *nodes, edges=("start>agreed",))
    at = ("--server", server)
    quick("runs", "start", file, "--id", "r1", *at)
    while not (links := quick("approvals", "ls", "r1", "-o", "json", *at).json):
        pass  # the test's own time limit ends this
    link = links[0]["links"][0]["url"]
    forged = quick("approvals", "approve", f"{link[:-8]}AAAAAAAA")
    done = quick("approvals", "reject", link, "--comment", "too dear")
    again = quick("approvals", "approve", link)
    watched = quick("runs", "watch", "r1", *at)

    assert (4, True) == (forged.code, "[BAD_LINK]" in forged.err)
    assert (0, "ada decided: reject\n") == (done.code, done.out)
    assert 5 == again.code
    assert (1, True) == (watched.code, "halted" in watched.err)


def test_a_link_is_asked_of_its_own_server_and_shown_no_token():
    file = EngineAddress(None, "t", Path("onward.db"))

    engine = engine_of_link("https://onward:8700/below/api/v1/approvals/eyJ", file)

    assert ("https://onward:8700/below", None) == (engine.server, engine.token)

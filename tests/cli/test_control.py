"""Control over runs from a shell: one, or many that filters choose; on a file and on a server."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.conftest import Onward, node


def kept(
    ask: Onward, document: Any, name: str, *nodes: dict[str, Any], edges: tuple[str, ...]
) -> str:
    """Keep a workflow, and return its name."""
    file: Path = document(f"{name}.json", *nodes, edges=edges)
    value = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode({"id": name, **value}))
    pushed = ask("workflows", "push", file)
    assert 0 == pushed.code, pushed.err
    return name


@pytest.fixture
def failing(ask: Onward, document: Any) -> str:
    """A workflow of which one item in three fails."""
    expression = 'if $item == $trigger.bad then error("bad") else $item end'
    enough = 'if ($all | map(numbers) | length) < 3 then error("few") else $all end'
    return kept(
        ask,
        document,
        "failing",
        node("start", "manual_trigger"),
        node("each", "split", input_array=[1, 2, 3]),
        node("work", "transform", expression=expression),
        node("all", "aggregator"),
        node("end", "transform", expression=enough),
        edges=("start>each", "each>work", "work>all", "all>end"),
    )


@pytest.fixture
def slow(ask: Onward, document: Any) -> str:
    """A workflow that waits for longer than any test."""
    nodes = (node("start", "manual_trigger"), node("pause", "wait", amount=3600))
    return kept(ask, document, "slow", *nodes, edges=("start>pause",))


def begun(ask: Onward, workflow: str, name: str) -> str:
    """Start a run that does not end."""
    done = ask("runs", "start", workflow, "--id", name, "--wait", "--timeout", "0.3")
    assert 6 == done.code, done.err
    return name


def test_a_run_is_paused_and_resumed(ask: Onward, slow: str):
    run = begun(ask, slow, "r1")
    paused = ask("runs", "pause", run, "-o", "json")
    shown = ask("runs", "ls").out
    resumed = ask("runs", "resume", run, "-o", "json")
    missing = ask("runs", "pause", "nobody")

    assert (0, 0) == (paused.code, resumed.code)
    assert paused.json["paused_at"] is not None
    assert "r1\tslow\tpaused" in shown
    assert resumed.json["paused_at"] is None
    assert (5, True) == (missing.code, "there is no run called nobody" in missing.err)


def test_what_filters_choose_is_listed_and_asked_about_before_anything_is_done(
    ask: Onward, slow: str, monkeypatch: pytest.MonkeyPatch
):
    for name in ("r1", "r2", "x3"):
        begun(ask, slow, name)
    chosen = ("runs", "cancel", "--workflow", slow, "--search", "r")
    looked = ask(*chosen, "--dry-run", "-o", "ids")
    refused = ask(*chosen)
    done = ask(*chosen, "--yes", "-o", "json")
    nothing = ask(*chosen, "--yes")

    assert (0, {"r1", "r2"}) == (looked.code, set(looked.out.split()))
    assert "would cancel 2 runs" in looked.err
    assert (2, True) == (refused.code, "this would cancel 2 runs: add --yes" in refused.err)
    assert 0 == done.code
    assert {("r1", True), ("r2", True)} == {(x["execution_id"], x["done"]) for x in done.json}
    assert "2 done, 0 refused" in done.err
    assert "x3\n" == ask("runs", "ls", "--status", "running", "-o", "ids").out
    assert (0, True) == (nothing.code, "would cancel 0 runs" in nothing.err)


def test_a_run_is_tried_again_with_what_succeeded_kept(ask: Onward, failing: str):
    first = ask("runs", "start", failing, "-i", "bad:=2", "--id", "r1", "--wait")
    given = ("--input", '{"bad": 0}', "--id", "r2", "--wait", "-o", "json")
    again = ask("runs", "retry", "r1", *given, "--from", "work", "--item", "each[1]")
    visits = ask("runs", "visits", "r2", "--node", "work", "-o", "json").json
    whole = ask("runs", "retry", "r1", "--everything", "--id", "r3", "--wait")
    bad = ask("runs", "retry", "r1", "r2", "--everything")
    done = ask("runs", "retry", "r2")

    assert 1 == first.code
    assert (0, [1, 2, 3]) == (again.code, again.json["output"])
    assert "r1" == again.json["retry_of"]
    assert 3 == len(visits)
    assert 1 == whole.code
    assert (2, True) == (bad.code, "name one run" in bad.err)
    assert (5, True) == (done.code, "[NOTHING_FAILED]" in done.err)


def test_many_runs_are_tried_again_at_once(ask: Onward, failing: str):
    for name in ("r1", "r2"):
        ask("runs", "start", failing, "-i", "bad:=2", "--id", name, "--wait")
    looked = ask("runs", "retry", "--workflow", failing, "--dry-run", "-o", "ids")
    done = ask("runs", "retry", "--workflow", failing, "--latest", "--yes", "-o", "jsonl")

    assert {"r1", "r2"} == set(looked.out.split())
    items = [msgspec.json.decode(line) for line in done.out.splitlines()]
    assert (0, 2) == (done.code, len({item["attempt"] for item in items}))


def test_a_split_that_waits_for_items_is_changed(served: Onward, document: Any):
    name = kept(
        served,
        document,
        "split",
        node("start", "manual_trigger"),
        node("each", "split", input_array=[1, 2, 3], max_concurrency=1),
        node("pause", "wait", amount=3600),
        node("all", "aggregator"),
        edges=("start>each", "each>pause", "pause>all"),
    )
    run = begun(served, name, "r1")
    changed = served("runs", "adjust", run, "each", "--max-concurrency", 2, "--tolerate", 1)
    missing = served("runs", "adjust", run, "none", "--any-failures")
    nothing = served("runs", "adjust", run, "each")

    assert (0, "changed 1 run of each\n") == (changed.code, changed.out)
    assert (5, True) == (missing.code, "[NOT_FOUND]" in missing.err)
    assert (2, True) == (nothing.code, "give --max-concurrency" in nothing.err)


def test_a_time_limit_and_a_priority_are_set_at_the_start(served: Onward, document: Any):
    nodes = (node("start", "manual_trigger"), node("pause", "wait", amount=3600))
    slow = kept(served, document, "slow", *nodes, edges=("start>pause",))
    words = ("--priority", 4, "--time-limit", "2h", "--timeout", "0.3", "--wait")
    served("runs", "start", slow, "--id", "limited", *words)
    run = served("runs", "cancel", "limited", "-o", "json").json

    assert 4 == run["priority"]
    assert run["deadline_at"] is not None


MISTAKES = {
    ("runs", "cancel"): "name the runs to cancel, or choose them",
    ("runs", "pause", "r1", "--workflow", "w"): "not both",
    ("runs", "retry", "--workflow", "w", "--split", "each"): "only --latest can be given",
    ("runs", "cancel", "--workflow", "w", "--limit", "0"): "0 is not in the range",
    ("runs", "adjust", "r", "s", "--tolerate", "1", "--any-failures"): "exclude each other",
    ("runs", "start", "w", "--time-limit", "soon"): "span of time",
    ("runs", "callback", "eyJ"): "is not a link",
    ("approvals", "approve", "r1"): "name the approver with --as NAME",
    ("approvals", "approve", "r 1", "--as", "ada"): "neither the id of a run nor a link",
    ("approvals", "reject", "http://onward/api/v1/approvals/x", "--as", "ada"): "omit --as",
    ("triggers", "preview"): "give one of --cron and --every",
    ("triggers", "preview", "--every", "1h", "--zone", "UTC"): "--zone cannot be used with",
    ("workflows", "flow", "set", "w"): "give --at-once, --rate, --alone or --debounce",
    ("workflows", "flow", "set", "w", "--at-once", "1", "--per", "1m"): "--per needs --rate",
    ("credentials", "add", "x", "--field", "a=b", "--type", "smtp"): "give --server",
    ("credentials", "allow", "x"): "name the workflows, or give --all",
    ("expr", "1", "--var", "x"): "write key=text",
    ("events", "ls", "--after", "x"): "it must be the place of an event",
    ("quarantine", "ls", "--rabbitmq", "amqp://x"): "the cluster also needs --redis",
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_are_wrong_usage_and_one_clear_line(quick: Onward, words):
    done = quick(*words)

    assert (2, "") == (done.code, done.out)
    assert MISTAKES[words] in done.err
    assert "Traceback" not in done.err


def test_the_key_that_seals_credentials_is_nobodys_idempotency_key(
    quick: Onward, document: Any, monkeypatch: pytest.MonkeyPatch
):
    kept(quick, document, "w", node("a", "noop"), edges=())
    monkeypatch.setenv("ONWARD_KEY", "c2VjcmV0")

    runs = {quick("runs", "start", "w", "-o", "ids").out for _ in range(2)}

    assert 2 == len(runs)


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, ""), ("n\n", 130, "r1\n")])
def test_somebody_at_a_terminal_is_asked(
    quick: Onward, document: Any, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, left: str
):
    nodes = (node("start", "manual_trigger"), node("pause", "wait", amount=3600))
    name = kept(quick, document, "slow", *nodes, edges=("start>pause",))
    begun(quick, name, "r1")
    monkeypatch.setattr("sys.stdin", Terminal(typed))

    done = quick("runs", "cancel", "--workflow", name)

    assert code == done.code
    assert "Cancel 1 run? [y/N]" in done.err
    assert left == quick("runs", "ls", "--status", "running", "-o", "ids").out

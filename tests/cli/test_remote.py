"""Commands that ask an engine: of a server, or of a file, with the same words and exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.conftest import Done, Onward, node


@pytest.fixture
def hello(document: Any) -> Path:
    """A workflow that greets, and says so in the log."""
    return _named(
        document(
            "hello.json",
            node("start", "manual_trigger"),
            node("greet", "transform", expression='{text: ("Hello, " + $trigger.name)}'),
            node("say", "log", message="$greet.text"),
            edges=("start>greet", "greet>say"),
        ),
        "hello",
    )


@pytest.fixture
def pause(document: Any) -> Path:
    """A workflow that waits for longer than any test."""
    nodes = (node("start", "manual_trigger"), node("pause", "wait", amount=3600))
    return _named(document("pause.json", *nodes, edges=("start>pause",)), "pause")


def _named(file: Path, name: str) -> Path:
    value = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode({"id": name, **value}))
    return file


def test_a_workflow_is_pushed_run_and_looked_into(ask: Onward, hello: Path):
    pushed = ask("workflows", "push", hello, "-o", "json")
    started = ask("runs", "start", "hello", "-i", "name=Ada", "--wait", "-o", "json")
    run = started.json["execution_id"]

    assert (0, "hello", 1) == (pushed.code, pushed.json["workflow_id"], pushed.json["revision"])
    assert (0, "completed", "Hello, Ada") == (
        started.code,
        started.json["status"],
        started.json["output"]["message"],
    )
    assert "hello\n" == ask("workflows", "ls", "-o", "ids").out
    assert f"{run}\n" == ask("runs", "ls", "--status", "completed", "-o", "ids").out
    assert "" == ask("runs", "ls", "--status", "failed", "-o", "ids").out
    assert "start\ngreet\nsay\n" == ask("runs", "nodes", run, "-o", "ids").out
    assert 3 == len(ask("runs", "visits", run, "-o", "json").json)
    assert ["Hello, Ada"] == [one["message"] for one in ask("runs", "logs", run, "-o", "json").json]
    assert {"text": "Hello, Ada"} == ask("runs", "data", run, "$greet").json
    assert "Hello, Ada" == ask("runs", "data", run, "$greet", "--pointer", "/text").json
    assert "$greet\t" in ask("runs", "data", run).out
    assert f"{run} (hello): it has completed" in ask("runs", "explain", run).out
    seqs = [one["seq"] for one in ask("runs", "events", run, "-o", "json").json]
    assert list(range(1, len(seqs) + 1)) == seqs
    watched = ask("runs", "watch", run, "-o", "ids")
    assert (0, [str(seq) for seq in seqs]) == (watched.code, watched.out.split())
    lines = ask("events", "--after", "0", "--limit", len(seqs), "-o", "jsonl").out.splitlines()
    assert seqs == [msgspec.json.decode(line)["seq"] for line in lines]


def test_a_document_runs_without_being_kept(ask: Onward, hello: Path):
    done = ask("runs", "start", hello, "-i", "name=Ada", "--wait")

    assert (0, "Hello, Ada") == (done.code, done.json["message"])
    assert "" == ask("workflows", "ls", "-o", "ids").out


def test_versions_are_published_compared_and_taken_elsewhere(ask: Onward, hello: Path, here: Path):
    ask("workflows", "push", hello)
    changed = msgspec.json.decode(hello.read_bytes())
    changed["nodes"][1]["parameters"]["expression"] = "{text: $trigger.name}"
    hello.write_bytes(msgspec.json.encode(changed))
    draft = ask("workflows", "push", hello, "--draft", "--note", "shorter", "-o", "json").json

    assert (1, 2) == (draft["published_version"], draft["latest_version"])
    assert 2 == ask("workflows", "publish", "hello", "-o", "json").json["published_version"]
    assert 1 == ask("workflows", "rollback", "hello", "-o", "json").json["published_version"]
    assert 2 == ask("workflows", "publish", "hello", 2, "-o", "json").json["published_version"]
    diff = ask("workflows", "diff", "hello", 1, 2, "-o", "ids").out
    assert "/nodes/greet/parameters/expression\n" == diff
    assert "shorter" in ask("workflows", "show", "hello").out
    assert "hello" == ask("workflows", "show", "hello", "--version", 1, "-o", "json").json["id"]
    assert not ask("workflows", "disable", "hello", "-o", "json").json["enabled"]
    refused = ask("runs", "start", "hello", "-i", "name=Ada")
    assert (5, True) == (refused.code, "[WORKFLOW_DISABLED]" in refused.err)
    assert ask("workflows", "enable", "hello", "-o", "json").json["enabled"]
    (here / "all.json").write_text(ask("workflows", "export").out)
    assert "unchanged\thello\n" == ask("workflows", "import", here / "all.json").out


def test_a_run_is_cancelled(ask: Onward, pause: Path, request: pytest.FixtureRequest):
    late = ask("runs", "start", pause, "--id", "r1", "--wait", "--timeout", "0.3")
    explained = ask("runs", "explain", "r1", "-o", "json").json
    watched = ask("runs", "watch", "r1", "--timeout", "0.3")
    done = ask("runs", "cancel", "r1", "--reason", "enough", "-o", "json")
    again = ask("runs", "cancel", "r1")

    assert (6, True) == (late.code, "it continues" in late.err)
    assert "running" == explained["status"]
    assert 6 == watched.code
    assert (0, "cancelled") == (done.code, done.json["status"])
    assert (5, True) == (again.code, "[RUN_ENDED]" in again.err)
    assert 1 == ask("runs", "watch", "r1").code


def test_what_is_behind_runs_is_listed(ask: Onward, hello: Path):
    ask("workflows", "push", hello)

    assert [64] == [one["slots"] for one in ask("workers", "-o", "json").json]
    assert "journal\n" == ask("queue", "-o", "ids").out
    assert [] == ask("timers", "-o", "json").json


MISTAKES = {
    ("workflows", "show", "nobody"): (5, "there is no workflow called nobody [NOT_FOUND]"),
    ("runs", "watch", "nobody"): (5, "there is no run called nobody [NOT_FOUND]"),
    ("runs", "ls", "--status", "well"): (2, "there is no status 'well'"),
    ("runs", "ls", "--started-after", "now"): (2, "write a date and time like"),
    ("runs", "visits", "x y"): (2, "INVALID_REQUEST"),
    ("events", "--after", "x"): (2, "it must be the place of an event, a number"),
    ("workflows", "push", "broken.json"): (3, "INVALID_DEFINITION"),
    ("workflows", "validate", "broken.json"): (3, "error: /nodes: "),
    ("workflows", "push", "none.json"): (2, "there is no such file"),
    ("workflows", "import", "broken.json"): (2, "this is not an export of workflows"),
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_have_their_exit_code_and_one_clear_line(
    ask: Onward, here: Path, words, hello: Path
):
    ask("workflows", "push", hello)
    (here / "broken.json").write_text('{"id": "x", "nodes": []}')

    done = ask(*words)

    code, said = MISTAKES[words]
    assert (code, "") == (done.code, done.out)
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_server_that_is_away_or_refuses_is_told(quick: Onward, server: str):
    away = quick("runs", "ls", "--server", "http://127.0.0.1:1")
    nonsense = quick("runs", "ls", "--server", "onward")

    assert (7, True) == (away.code, "does not answer" in away.err)
    assert (2, True) == (nonsense.code, "is no address of a server" in nonsense.err)


def test_a_file_that_a_server_uses_can_be_looked_at_but_not_run(
    quick: Onward, server: str, hello: Path, here: Path
):
    file = ("--db", here / "server.db")
    pushed = quick("workflows", "push", hello, *file)
    seen = quick("workflows", "ls", "-o", "ids", "--server", server)
    refused = quick("runs", "start", "hello", "-i", "name=Ada", *file)

    assert (0, "hello\n") == (pushed.code, seen.out)
    assert (2, True) == (refused.code, "--server http://127.0.0.1:8700" in refused.err)


def test_without_a_file_there_is_nothing_to_look_at(quick: Onward, here: Path):
    done = quick("runs", "ls")

    assert (2, True) == (done.code, "nothing has run here yet" in done.err)
    assert [] == list(here.iterdir())


def _completed(onward: Onward, words: str) -> Done:
    count = str(len(words.split(" ")) - 1)
    return onward(_ONWARD_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count)


def test_a_shell_completes_ids_and_names(onward: Onward, hello: Path):
    onward("workflows", "push", hello)
    onward("triggers", "add", "greeting", "hello", "--manual")
    run = onward("runs", "start", "hello", "-i", "name=Ada", "-o", "ids").out.strip()

    assert "plain,greeting\n" == _completed(onward, "onward triggers fire gr").out
    assert f"plain,{run}\n" == _completed(onward, f"onward approvals approve {run[:8]}").out
    assert "plain,hello\n" == _completed(onward, "onward workflows show he").out
    assert f"plain,{run}\n" == _completed(onward, f"onward runs watch {run[:8]}").out
    assert "" == _completed(onward, "onward workflows show no").out.strip()
    assert "_ONWARD_COMPLETE=zsh_complete" in onward("completion", "zsh").out

"""Everything the API can do can be done from a shell.

Every command below is run on a server, and what it asked is noted: each operation of the OpenAPI
must be among that, or have a reason not to be.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from cli.conftest import Done, Onward
from onward.client.transports.http import HttpTransport

BROWSERS = "a login is for browsers: a command shows a token"
OTHERS = "whoever has the address calls it, and needs no onward"
SUPERVISORS = "for a supervisor, which asks by HTTP"
REASONS = {
    "log_in": BROWSERS,
    "log_out": BROWSERS,
    "change_password": BROWSERS,
    "show_approval": "a page, for browsers; `approvals ls` tells the same",
    "call_hook_with_get": OTHERS,
    "call_hook_with_post": OTHERS,
    "call_hook_with_put": OTHERS,
    "call_hook_with_patch": OTHERS,
    "call_hook_with_delete": OTHERS,
    "live": SUPERVISORS,
    "ready": SUPERVISORS,
}
PASSWORD = "correct horse battery"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[tuple[str, str]]]:
    """What commands ask of a server: methods and paths."""
    found: set[tuple[str, str]] = set()
    send, stream = HttpTransport.send, HttpTransport.stream

    def noting_send(self: Any, method: str, path: str, *more: Any) -> Any:
        found.add((method, path))
        return send(self, method, path, *more)

    def noting_stream(self: Any, path: str, *more: Any) -> Any:
        found.add(("GET", path))
        return stream(self, path, *more)

    monkeypatch.setattr(HttpTransport, "send", noting_send)
    monkeypatch.setattr(HttpTransport, "stream", noting_stream)
    return found


class Shell:
    """Somebody who works with one server, and gets done what they ask for."""

    def __init__(self, run: Onward, monkeypatch: pytest.MonkeyPatch) -> None:
        self._run = run
        self._patch = monkeypatch

    def __call__(self, line: str, *more: object, code: int = 0, given: str = "") -> Done:
        self._patch.setattr("sys.stdin", io.StringIO(given))
        done = self._run(*line.split(), *more)
        assert (code, line) == (done.code, line), done.err
        return done

    def until(self, line: str, word: str) -> Done:
        """Ask until the answer has a word in it."""
        for _ in range(600):
            done = self(line)
            if word in done.out:
                return done
        raise AssertionError(f"{line}: no {word} in {done.out}")


def written(here: Path, name: str, nodes: list[dict[str, Any]], edges: list[str]) -> Path:
    """A workflow in a file."""
    pairs = [edge.split(">") for edge in edges]
    value = {
        "id": name,
        "nodes": [{"id": "start", "type": "manual_trigger"}, *nodes],
        "edges": [{"src": src, "dst": dst} for src, dst in pairs],
    }
    file = here / f"{name}.json"
    file.write_bytes(msgspec.json.encode(value))
    return file


def part(name: str, kind: str, **parameters: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "parameters": parameters}


@pytest.mark.timeout(300)
def test_every_operation_of_the_api_is_reached_by_a_command_or_has_a_reason(
    here: Path, server: str, quick: Onward, monkeypatch: pytest.MonkeyPatch, asked
):
    monkeypatch.setenv("ONWARD_SERVER", server)
    onward = Shell(quick, monkeypatch)

    _keep_workflows(onward, here)
    _look_into_runs(onward)
    _steer_runs(onward, here)
    _reach_into_runs(onward, here)
    _let_runs_start(onward)
    _let_people_in(onward, server)
    _look_behind(onward)

    operations = _operations(server)
    reached = {name for name, known in operations.items() if any(known(*one) for one in asked)}
    missing = set(operations) - reached - set(REASONS)
    assert set() == missing, f"no command asks for: {', '.join(sorted(missing))}"
    assert set() == reached & set(REASONS), "these are reached: they need no reason"
    assert set() == set(REASONS) - set(operations), "there are no such operations"


def _operations(server: str) -> dict[str, Any]:
    """Every operation by name, with a test whether a request is one of its."""
    paths = httpx2.get(f"{server}/openapi.json").json()["paths"]
    found: dict[str, Any] = {}
    for path, methods in paths.items():
        # A segment with an action (`/runs/{id}:cancel`) is not the segment without it.
        pattern = re.sub(r"\\\{\w+\\\}", "[^/:]+", re.escape(path))
        for method, operation in methods.items():

            def known(asked: str, at: str, method: str = method, pattern: str = pattern) -> bool:
                return asked.lower() == method and re.fullmatch(pattern, at) is not None

            found[operation["operationId"]] = known
    return found


def _keep_workflows(onward: Shell, here: Path) -> None:
    file = written(here, "hello", [part("greet", "transform", expression="1")], ["start>greet"])
    onward("workflows push", file)
    written(here, "hello", [part("greet", "transform", expression="2")], ["start>greet"])
    onward("workflows push --draft", file)
    onward("workflows validate", file)
    onward("workflows ls")
    onward("workflows show hello")
    onward("workflows show hello --version 1")
    onward("workflows diff hello 1 2")
    onward("workflows publish hello")
    onward("workflows rollback hello")
    onward("workflows disable hello")
    onward("workflows enable hello")
    everything = here / "all.json"
    everything.write_text(onward("workflows export").out)
    onward("workflows import", everything)
    onward("workflows flow set hello --rate 1000 --per 1m")
    assert "1000 in 1 min" in onward("workflows flow show hello").out
    onward("workflows flow rm hello")
    onward("workflows flow show hello", code=5)


def _look_into_runs(onward: Shell) -> None:
    run = onward("runs start hello --wait --priority 3 --time-limit 1h -o ids").out.strip()
    onward("runs watch", run)
    onward("runs ls --workflow hello")
    onward("runs show", run)
    for what in ("nodes", "visits", "logs", "data", "events", "explain", "definition", "family"):
        onward(f"runs {what}", run)
    onward("runs data", run, "$greet", "--pointer", "")
    onward("expr $greet --run", run)


def _steer_runs(onward: Shell, here: Path) -> None:
    nodes = [
        part("each", "split", input_array=[1, 2, 3], max_concurrency=1),
        part("pause", "wait", amount=3600),
        part("all", "aggregator"),
    ]
    file = written(here, "slow", nodes, ["start>each", "each>pause", "pause>all"])
    onward("workflows push", file)
    onward("runs start slow --id s1")
    onward("runs start slow --id s2")
    onward.until("runs explain s1", "split each")
    onward("runs items s1 each")
    onward("runs adjust s1 each --max-concurrency 2")
    onward("runs pause s1")
    onward("runs resume s1")
    onward("runs pause --workflow slow --yes")
    onward("runs resume --workflow slow --yes")
    onward("runs cancel s1")
    onward("runs cancel --workflow slow --yes")
    onward("runs retry s1 --latest --id s3")
    onward("runs retry --workflow slow --status cancelled --limit 1 --yes")
    onward("runs cancel --workflow slow --status running --yes")


def _reach_into_runs(onward: Shell, here: Path) -> None:
    nodes = [
        part("paid", "wait_for_signal", signal="paid"),
        part("sent", "wait_for_signal", signal="sent"),
        part("agreed", "approval", approvers=["ada"], message="Pay?"),
    ]
    edges = ["start>paid", "paid>sent", "sent>agreed"]
    onward("workflows push", written(here, "ask", nodes, edges))
    onward("runs start ask --id a1")
    onward("runs signal a1 paid -i amount:=120 --once one")
    assert "paid" in onward("runs signals a1").out
    link = msgspec.json.decode(onward.until("runs waits a1 -o json", '"sent"').out)
    onward("runs callback", link[0]["callback_url"], "-i", "by=mail")
    onward.until("approvals ls", "Pay?")
    onward("approvals approve a1 --as ada")
    onward("runs watch a1")


def _let_runs_start(onward: Shell) -> None:
    onward("triggers add daily hello --cron @daily")
    onward("triggers add paid hello --webhook paid")
    onward("triggers add told hello --event order.*")
    onward("triggers ls --kind cron")
    onward("triggers show daily")
    onward("triggers next daily")
    onward("triggers preview --every 1h")
    onward("triggers change daily --cron @hourly")
    onward("triggers disable daily")
    onward("triggers enable daily")
    onward("triggers fire daily")
    onward("triggers firings daily")
    onward("triggers backfill daily --from 2026-03-01T00:00:00Z --until 2026-03-01T01:00:00Z")
    assert "whsec_" in onward("triggers rotate paid --keep-previous").out
    onward("triggers rm daily")
    assert "started" in onward("events emit order.paid --source /shop -i order=1").out
    onward("events --after 0 --limit 1")
    onward("events ls --workflow hello")


def _let_people_in(onward: Shell, server: str) -> None:
    onward("users add ada --role admin", given=f"{PASSWORD}\n")
    onward("users add bo", given=f"{PASSWORD}\n")
    assert "ada\nbo\n" == onward("users ls -o ids").out
    onward("users change bo --role editor")
    assert "editor" in onward("users show bo").out
    onward("users rm bo")
    assert onward("tokens create ci --expires 9d").out.startswith("onward_pat_")
    token = onward("tokens ls -o ids").out.strip()
    onward("tokens show", token)
    onward("tokens revoke", token)
    onward("credentials types")
    onward("credentials add key --type http_bearer --field token=one")
    onward("credentials add key --field token=two")
    assert "key\n" == onward("credentials ls -o ids").out
    onward("credentials show key")
    onward("credentials allow key hello")
    onward("credentials usage key")
    onward(f"credentials test key --url {server}/livez")
    onward("credentials rotate")
    onward("credentials rm key")
    assert "create_token" in onward("audit --action create_token").out
    assert "admin" in onward("whoami").out


def _look_behind(onward: Shell) -> None:
    for line in ("queue", "workers", "timers", "stats", "nodes", "nodes http"):
        onward(line)
    onward("quarantine ls")
    onward("quarantine show 1", code=5)
    onward("quarantine discard --all --yes")
    onward("quarantine release --all", code=5)

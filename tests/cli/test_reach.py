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

from cli.conftest import Done, Weft
from weft.api.client.network import HttpTransport

BROWSERS = "a login is for browsers: a command shows a token"
OTHERS = "whoever has the address calls it, and needs no weft"
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

    def __init__(self, run: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
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
    here: Path, server: str, quick: Weft, monkeypatch: pytest.MonkeyPatch, asked
):
    monkeypatch.setenv("WEFT_SERVER", server)
    weft = Shell(quick, monkeypatch)

    _keep_workflows(weft, here)
    _look_into_runs(weft)
    _steer_runs(weft, here)
    _reach_into_runs(weft, here)
    _let_runs_start(weft)
    _let_people_in(weft, server)
    _look_behind(weft)

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


def _keep_workflows(weft: Shell, here: Path) -> None:
    file = written(here, "hello", [part("greet", "transform", expression="1")], ["start>greet"])
    weft("workflows push", file)
    written(here, "hello", [part("greet", "transform", expression="2")], ["start>greet"])
    weft("workflows push --draft", file)
    weft("workflows validate", file)
    weft("workflows ls")
    weft("workflows show hello")
    weft("workflows show hello --version 1")
    weft("workflows diff hello 1 2")
    weft("workflows publish hello")
    weft("workflows rollback hello")
    weft("workflows disable hello")
    weft("workflows enable hello")
    everything = here / "all.json"
    everything.write_text(weft("workflows export").out)
    weft("workflows import", everything)
    weft("workflows flow set hello --rate 1000 --per 1m")
    assert "1000 in 1 min" in weft("workflows flow show hello").out
    weft("workflows flow rm hello")
    weft("workflows flow show hello", code=5)


def _look_into_runs(weft: Shell) -> None:
    run = weft("runs start hello --wait --priority 3 --time-limit 1h -o ids").out.strip()
    weft("runs watch", run)
    weft("runs ls --workflow hello")
    weft("runs show", run)
    for what in ("nodes", "visits", "logs", "data", "events", "explain", "definition", "family"):
        weft(f"runs {what}", run)
    weft("runs data", run, "$greet", "--pointer", "")
    weft("expr $greet --run", run)


def _steer_runs(weft: Shell, here: Path) -> None:
    nodes = [
        part("each", "split", input_array=[1, 2, 3], max_concurrency=1),
        part("pause", "wait", amount=3600),
        part("all", "aggregator"),
    ]
    file = written(here, "slow", nodes, ["start>each", "each>pause", "pause>all"])
    weft("workflows push", file)
    weft("runs start slow --id s1")
    weft("runs start slow --id s2")
    weft.until("runs explain s1", "split each")
    weft("runs items s1 each")
    weft("runs adjust s1 each --max-concurrency 2")
    weft("runs pause s1")
    weft("runs resume s1")
    weft("runs pause --workflow slow --yes")
    weft("runs resume --workflow slow --yes")
    weft("runs cancel s1")
    weft("runs cancel --workflow slow --yes")
    weft("runs retry s1 --latest --id s3")
    weft("runs retry --workflow slow --status cancelled --limit 1 --yes")
    weft("runs cancel --workflow slow --status running --yes")


def _reach_into_runs(weft: Shell, here: Path) -> None:
    nodes = [
        part("paid", "wait_for_signal", signal="paid"),
        part("sent", "wait_for_signal", signal="sent"),
        part("agreed", "approval", approvers=["ada"], message="Pay?"),
    ]
    edges = ["start>paid", "paid>sent", "sent>agreed"]
    weft("workflows push", written(here, "ask", nodes, edges))
    weft("runs start ask --id a1")
    weft("runs signal a1 paid -i amount:=120 --once one")
    assert "paid" in weft("runs signals a1").out
    link = msgspec.json.decode(weft.until("runs waits a1 -o json", '"sent"').out)
    weft("runs callback", link[0]["callback_url"], "-i", "by=mail")
    weft.until("approvals ls", "Pay?")
    weft("approvals approve a1 --as ada")
    weft("runs watch a1")


def _let_runs_start(weft: Shell) -> None:
    weft("triggers add daily hello --cron @daily")
    weft("triggers add paid hello --webhook paid")
    weft("triggers add told hello --event order.*")
    weft("triggers ls --kind cron")
    weft("triggers show daily")
    weft("triggers next daily")
    weft("triggers preview --every 1h")
    weft("triggers change daily --cron @hourly")
    weft("triggers disable daily")
    weft("triggers enable daily")
    weft("triggers fire daily")
    weft("triggers firings daily")
    weft("triggers backfill daily --from 2026-03-01T00:00:00Z --until 2026-03-01T01:00:00Z")
    assert "whsec_" in weft("triggers rotate paid --keep-previous").out
    weft("triggers rm daily")
    assert "started" in weft("events emit order.paid --source /shop -i order=1").out
    weft("events --after 0 --limit 1")
    weft("events ls --workflow hello")


def _let_people_in(weft: Shell, server: str) -> None:
    weft("users add ada --role admin", given=f"{PASSWORD}\n")
    weft("users add bo", given=f"{PASSWORD}\n")
    assert "ada\nbo\n" == weft("users ls -o ids").out
    weft("users change bo --role editor")
    assert "editor" in weft("users show bo").out
    weft("users rm bo")
    assert weft("tokens create ci --expires 9d").out.startswith("weft_pat_")
    token = weft("tokens ls -o ids").out.strip()
    weft("tokens show", token)
    weft("tokens revoke", token)
    weft("credentials types")
    weft("credentials add key --type http_bearer --field token=one")
    weft("credentials add key --field token=two")
    assert "key\n" == weft("credentials ls -o ids").out
    weft("credentials show key")
    weft("credentials allow key hello")
    weft("credentials usage key")
    weft(f"credentials test key --url {server}/livez")
    weft("credentials rotate")
    weft("credentials rm key")
    assert "create_token" in weft("audit --action create_token").out
    assert "admin" in weft("whoami").out


def _look_behind(weft: Shell) -> None:
    for line in ("queue", "workers", "timers", "stats", "nodes", "nodes http"):
        weft(line)
    weft("quarantine ls")
    weft("quarantine show 1", code=5)
    weft("quarantine discard --all --yes")
    weft("quarantine release --all", code=5)

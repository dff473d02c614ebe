"""`onward runs` is `onward runs ls`, and one command is the same under two names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click
import pytest

from cli.conftest import Onward, node
from onward.cli.commands.runs.group import runs
from onward.cli.main import onward as group


def test_without_a_command_runs_are_listed_with_the_same_flags(quick: Onward, document: Any):
    file = document("a.json", node("a", "noop"))
    quick("run", file, "--id", "r1", "--db", "my.db")

    listed = quick("runs", "ls", "--db", "my.db")

    assert (0, "r1") == (listed.code, listed.out.splitlines()[1].split("\t")[0])
    assert listed == quick("runs", "--db", "my.db")
    assert "r1\n" == quick("runs", "--db=my.db", "--status", "completed", "-o", "ids").out
    assert "r1" == quick("runs", "--json", "--db", "my.db", "show", "r1").json["execution_id"]
    assert "No such command 'shwo'" in quick("runs", "shwo").err
    assert "Commands:" in quick("runs", "--help").out


def test_explain_is_one_command_under_two_names():
    context = click.Context(group)

    assert runs.get_command(context, "explain") is group.get_command(context, "explain")


def test_a_master_deletes_old_runs_when_it_is_asked_to(
    quick: Onward, monkeypatch: pytest.MonkeyPatch
):
    kept: list[int] = []
    services = SimpleNamespace(
        master=lambda: SimpleNamespace(run=lambda: "master"),
        reconciler=lambda _: SimpleNamespace(run=lambda: "reconciler"),
        retention=lambda keep_ms: SimpleNamespace(run=lambda: kept.append(keep_ms)),
    )
    for name in ("fire_triggers", "guard_runs"):
        monkeypatch.setattr(f"onward.bootstrap.cluster_backend.{name}", lambda _: "work")
    monkeypatch.setattr("onward.runtime.tasks.together", _nothing)
    monkeypatch.setattr("onward.cli.commands.master.run_simple_process", _run(services))
    urls = ("--rabbitmq", "amqp://x", "--redis", "redis://x", "--postgres", "postgresql://x")

    quick("master", *urls)
    assert [] == kept
    quick("master", *urls, "--keep", "30d")
    assert [30 * 24 * 60 * 60 * 1000] == kept


async def _nothing(*_: object) -> None:
    return None


def _run(services: Any) -> Any:
    def run_simple_process(role: str, work: Any, *_: object, **__: object) -> int:
        with pytest.raises(StopIteration):
            work(services).send(None)
        return 0

    return run_simple_process

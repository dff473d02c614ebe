"""`onward continue` and `onward runs`, through the real executable."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from .conftest import EXECUTABLE, Onward, node


def killed(here: Path, file: Path, name: str) -> None:
    """Start a run and kill it, as nothing can be killed harder, once it waits."""
    os.mkfifo(here / f"{name}.pipe")
    process = subprocess.Popen(
        [EXECUTABLE, "run", file, "--id", name, "--events", f"{name}.pipe", "-q"]
    )
    with (here / f"{name}.pipe").open() as events:
        next(line for line in events if '"waiting"' in line)
        process.send_signal(signal.SIGKILL)
        process.wait()


def nap(document, seconds: float) -> Path:
    return document(
        f"nap{seconds}.json",
        node("nap", "wait", amount=seconds),
        node("after", "transform", expression='"awake"'),
        edges=("nap>after",),
    )


def test_a_killed_run_is_finished_by_resume(onward: Onward, document, here: Path):
    killed(here, nap(document, 2), "r1")
    assert "running" == onward("runs", "--json").json[0]["status"]

    done = onward("continue", "--json")

    assert (0, "r1", "completed", "awake") == (
        done.code,
        *(done.json[key] for key in ("execution_id", "status", "output")),
    )
    again = onward("continue", "r1")
    assert (0, '"awake"\n') == (again.code, again.out)


def test_several_runs_are_an_array(onward: Onward, document, here: Path):
    for name in ("r1", "r2"):
        killed(here, nap(document, 1.5), name)

    done = onward("continue", "--json")

    assert (0, ["r1", "r2"]) == (done.code, [one["execution_id"] for one in done.json])


def test_nothing_to_resume_is_said_and_makes_no_database(onward: Onward, here: Path):
    done = onward("continue", "--json")

    assert (0, []) == (done.code, done.json)
    assert "nothing to continue" in done.err
    assert [] == list(here.iterdir())


def test_a_run_that_does_not_exist_is_named(onward: Onward, quick: Onward, document):
    quick("run", document("one.json", node("a", "noop")))

    done = quick("continue", "nobody")

    assert (2, "") == (done.code, done.out)
    assert "has no run nobody: `onward runs` lists them" in done.err


def test_runs_can_be_looked_at_while_one_goes_on(onward: Onward, document, here: Path):
    file = nap(document, 600)
    os.mkfifo(here / "events")
    process = subprocess.Popen([EXECUTABLE, "run", file, "--id", "r1", "--events", "events", "-q"])
    with (here / "events").open() as events:
        next(line for line in events if '"waiting"' in line)
        shown = onward("runs", "show", "r1")
        other = onward("run", file)
        process.terminate()
        process.wait()

    assert 0 == shown.code
    assert "nap\t\twaiting\t1" in shown.out
    assert 2 == other.code
    assert f"in use by another onward process (pid {process.pid})" in other.err


def test_show_tells_what_every_visit_came_to(quick: Onward, document):
    file = document(
        "items.json",
        node("each", "split", input_array=[1, 0]),
        node("one", "transform", expression='if $item == 0 then error("zero") else $item end'),
        node("all", "aggregator"),
        edges=("each>one", "one>all"),
    )
    quick("run", file, "--id", "r1")

    rows = [line.split("\t") for line in quick("runs", "show", "r1").out.splitlines()]

    assert ["node", "item", "status", "attempt", "took", "error"] == rows[1]
    assert ["one", "each[0]", "success"] == rows[2][:3]
    assert ["one", "each[1]", "failed"] == rows[3][:3]
    assert rows[3][5].endswith("zero [EXPRESSION_FAILED]")
    nodes = quick("runs", "--db", ".onward/onward.db", "show", "r1", "--json").json["nodes"]
    assert (1, "EXPRESSION_FAILED") == (nodes[0]["output"], nodes[1]["error"]["code"])

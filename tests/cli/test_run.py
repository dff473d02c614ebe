"""`onward run`, through the real executable."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import msgspec
import pytest

from .conftest import EXAMPLES, EXECUTABLE, Onward, node

HELLO = (
    node("start", "manual_trigger"),
    node("hello", "transform", expression='"hi \\($start.n)"'),
)


def test_the_output_alone_is_on_standard_output(onward: Onward, document):
    done = onward("run", document("hello.json", *HELLO, edges=("start>hello",)), "-i", "n=Ada")

    assert (0, '"hi Ada"\n') == (done.code, done.out)
    assert done.err.startswith("completed in ")
    assert "run_" in done.err


def test_json_is_exactly_one_object_with_the_whole_context(onward: Onward, document):
    file = document("hello.json", *HELLO, edges=("start>hello",))

    done = onward("run", file, "-i", "n:=12345678901234567890123", "--id", "mine", "--json")

    assert (0, "") == (done.code, done.err)
    result = done.json
    assert 0 <= result.pop("duration_ms")
    assert {
        "execution_id": "mine",
        "workflow_id": "hello",
        "status": "completed",
        "output": "hi 12345678901234567890123",
        "context": {
            "$trigger": {"n": 12345678901234567890123},
            "$start": {"n": 12345678901234567890123},
            "$hello": "hi 12345678901234567890123",
        },
        "error": None,
    } == result


def test_a_run_that_ends_at_several_nodes_has_the_output_of_each(onward: Onward, document):
    file = document(
        "two.json",
        node("start", "manual_trigger"),
        node("a", "transform", expression="1"),
        node("b", "transform", expression="[2]"),
        edges=("start>a", "start>b"),
    )

    assert {"a": 1, "b": [2]} == onward("run", file, "--json").json["output"]


def test_large_values_are_whole_in_the_context(onward: Onward, document):
    file = document("large.json", node("big", "transform", expression="[range(20000)]"))

    result = onward("run", file, "--json").json

    assert list(range(20000)) == result["output"] == result["context"]["$big"]


def test_a_result_is_whole_when_the_process_is_stopped_while_it_writes(document, here):
    file = document("large.json", node("big", "transform", expression="[range(20000)]"))
    command = [EXECUTABLE, "run", str(file), "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}

    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        waiting = bytearray(4)
        while int.from_bytes(waiting, sys.byteorder) < 1 << 16:  # until the pipe is full
            time.sleep(0.01)
            fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        out = process.stdout.read()

    assert list(range(20000)) == json.loads(out)["output"]


def test_a_failure_names_the_node_its_place_and_what_to_do_next(onward: Onward, document):
    file = document("bad.json", node("boom", "fail", message="no luck", code="LUCK"))

    done = onward("run", file, "--id", "r1", "--db", "my data.db")

    assert (1, "") == (done.code, done.out)
    line = next(
        i for i, text in enumerate(file.read_text().splitlines(), 1) if "{" in text and i > 2
    )
    assert f"boom, {file}:{line}" in done.err
    assert "no luck [LUCK]" in done.err
    assert "details: onward runs show r1 --db 'my data.db'" in done.err


def test_a_failed_run_has_its_error_in_the_object(onward: Onward, document):
    file = document("bad.json", node("boom", "fail", message="no luck", code="LUCK"))

    done = onward("run", file, "--json")

    assert 1 == done.code
    assert ("halted", None) == (done.json["status"], done.json["output"])
    error = {"message": "no luck", "code": "LUCK", "details": {}, "node": "boom"}
    assert error == done.json["error"]


def test_events_are_every_message_in_order_and_are_appended(onward: Onward, document, here: Path):
    file = document("hello.json", *HELLO, edges=("start>hello",))

    for name in ("a", "b"):
        onward("run", file, "--id", name, "--events", "log.jsonl")

    lines = [msgspec.json.decode(line) for line in (here / "log.jsonl").read_text().splitlines()]
    told = [(line["execution_id"], line.get("node_id"), line["status"]) for line in lines]
    expected = [
        ("start", "running"),
        ("start", "success"),
        ("hello", "running"),
        ("hello", "success"),
        (None, "completed"),
    ]
    assert [(run, *rest) for run in ("a", "b") for rest in expected] == told


def test_events_on_standard_output_stand_alone(onward: Onward, document):
    done = onward("run", document("one.json", node("a", "noop")), "--events", "-")

    last = msgspec.json.decode(done.out.splitlines()[-1])
    assert (0, 3, "completed") == (done.code, len(done.out.splitlines()), last["status"])


def test_input_comes_from_standard_input_or_a_file(onward: Onward, document, here: Path):
    file = document("echo.json", node("start", "manual_trigger"))
    (here / "in.json").write_text('{"a": [1]}')

    assert {"b": "é"} == onward("run", file, "--input", "-", given='{"b": "é"}').json
    both = onward("run", file, "--input", "@in.json", "-i", "c:=null", "-i", "d=x=y")
    assert {"a": [1], "c": None, "d": "x=y"} == both.json


def test_options_have_twins_in_the_environment(onward: Onward, document, here: Path):
    done = onward(
        "run", document("one.json", node("a", "noop")), ONWARD_DB="other.db", ONWARD_JSON="1"
    )

    assert "completed" == done.json["status"]
    assert (here / "other.db").exists()
    assert not (here / ".onward").exists()


def test_verbose_says_a_line_for_every_finished_node(onward: Onward):
    done = onward("run", EXAMPLES / "fan-out.yaml", "-v")

    assert "success region (each_region[1]) 0 ms\n" in done.err
    assert "success count (each_region[0] > each_store[1]) 0 ms\n" in done.err


def test_warnings_are_shown_and_the_run_goes_on(onward: Onward, document):
    odd = {**node("a", "noop"), "retry": {"max_attempts": 2}}

    done = onward("run", document("odd.json", odd))

    assert (0, "{}\n") == (done.code, done.out)
    assert "warning: node" in done.err
    assert "[USELESS_RETRY]" in done.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_how_to_go_on(document, here: Path, number, code):
    file = document("slow.json", node("nap", "wait", amount=600))
    os.mkfifo(here / "events")
    process = subprocess.Popen(
        [EXECUTABLE, "run", file, "--id", "slow", "--events", "events"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with (here / "events").open() as events:
        assert "waiting" in next(line for line in events if "waiting" in line)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)

    assert (code, "") == (process.returncode, out)
    assert "Continue with: onward continue slow\n" in err


def test_a_reader_that_goes_away_is_no_error(document, here: Path):
    file = document("big.json", node("big", "transform", expression="[range(200000)]"))
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [EXECUTABLE, "run", file, "-q"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)

    assert (141, b"") == (process.returncode, process.stderr)

"""The command line takes documents of the DSL like any other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ONWARD = Path(sys.executable).with_name("onward")
HEAD = "document: {dsl: '1.0.3', namespace: shop, name: order, version: '1.0.0'}\n"
FINE = HEAD + "do:\n  - one: {set: {n: '${ .n + 1 }'}}\n  - two: {wait: {milliseconds: 1}}\n"
FAULTY = HEAD + "do:\n  - one: {set: {n: 1}}\n  - bad: {set: {n: '${ .n.x.y }'}}\n"
WRONG = HEAD + "do:\n  - one: {sett: {n: 1}}\n"


@pytest.fixture
def onward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(text, *words):
        Path("w.yaml").write_text(text)
        command = [ONWARD, words[0], "w.yaml", *words[1:]]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    return run


def test_run_prints_the_output(onward):
    done = onward(FINE, "run", "-i", "n:=1")

    assert (0, {"n": 2}) == (done.returncode, json.loads(done.stdout))


def test_run_with_json_prints_the_object_of_every_run(onward):
    result = json.loads(onward(FINE, "run", "-i", "n:=1", "--json").stdout)

    assert ("shop_order", "completed", {"n": 2}, None) == (
        result["workflow_id"],
        result["status"],
        result["output"],
        result["error"],
    )


def test_a_fault_has_the_fields_of_rfc_7807(onward):
    done = onward(FAULTY, "run", "--json")
    error = json.loads(done.stdout)["error"]

    assert 1 == done.returncode
    assert ("/do/1/bad", 400, "Expression Error", "/do/1/bad") == (
        error["instance"],
        error["status"],
        error["title"],
        error["node"],
    )
    assert "https://serverlessworkflow.io/spec/1.0.0/errors/expression" == error["type"]
    assert ".n.x.y" in error["detail"]


def test_a_fault_is_told_with_its_task_and_its_line(onward):
    done = onward(FAULTY, "run")

    assert "/do/1/bad (bad), w.yaml:4" in done.stderr


def test_a_document_that_is_wrong_is_not_run(onward):
    done = onward(WRONG, "run")

    assert 3 == done.returncode
    assert 'w.yaml:3:5: error: task "one" does not say what kind of task it is' in done.stderr
    assert 'did you mean "set"?' in done.stderr


def test_validate_judges_it(onward):
    assert 0 == onward(FINE, "validate").returncode
    assert 3 == onward(WRONG, "validate").returncode


def test_graph_draws_it(onward):
    done = onward(FINE, "graph")

    assert 0 == done.returncode
    assert "one" in done.stdout
    assert "flowchart" in done.stdout


def test_simulate_rehearses_it(onward):
    done = onward(FINE, "simulate", "--seeds", "2")

    assert 0 == done.returncode, done.stderr
    assert "2 seeds, no fault" in done.stdout


def test_simulate_says_that_nobody_publishes_events(onward):
    listens = FINE.partition("do:")[0] + "do: [{h: {listen: {to: {any: []}}}}]\n"

    done = onward(listens, "simulate", "--seeds", "2")

    assert 0 != done.returncode
    assert "/do/0/h listens" in done.stderr
    assert "Traceback" not in done.stderr


EXAMPLE = Path(__file__).parents[3] / "examples" / "serverless" / "order.yaml"


def test_the_example_runs(onward):
    items = '[{"sku": "a", "price": 20}, {"sku": "b", "price": 5}]'

    done = onward(EXAMPLE.read_text(), "run", "-i", f"items:={items}")

    assert {"shipped": True, "total": 25} == json.loads(done.stdout)


def test_the_page_names_every_file_of_scenarios():
    root = Path(__file__).parents[3]
    page = (root / "docs" / "reference" / "serverless.md").read_text()
    features = sorted((root / "tests" / "conformance" / "features").glob("*.feature"))

    assert [] == [feature.stem for feature in features if f"`{feature.stem}`" not in page]


def test_a_document_with_a_schedule_runs_once_and_says_who_keeps_it(onward):
    done = onward(FINE.replace("do:", "schedule: {every: PT1M}\ndo:"), "run", "-i", "n:=1")

    assert (0, {"n": 2}) == (done.returncode, json.loads(done.stdout))
    assert "w.yaml:2:" in done.stderr
    assert "only a server follows a schedule" in done.stderr
    assert "onward workflows push" in done.stderr

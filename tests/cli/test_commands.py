"""The commands around a run: validate, graph, nodes, messages, simulate, demo and the help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import msgspec
import pytest

from onward import __version__
from onward.bootstrap.catalogue import builtin
from onward.cli import exit_codes
from onward.cli.commands.simulate_workers import random_workflows, tallies
from onward.cli.main import onward as group
from onward.kernel.messages import message_schemas

from .conftest import EXAMPLES, Onward, node


def test_valid_documents_are_counted(onward: Onward):
    done = onward("validate", EXAMPLES)

    assert (0, "") == (done.code, done.out)
    assert re.fullmatch(r"\d+ documents valid\n", done.err)


@pytest.fixture
def mixed(here: Path, document) -> Path:
    document("good.json", node("a", "noop"))
    (here / "bad.yaml").write_text("nodes:\n  - {id: a, type: htpp}\n")
    (here / "deep").mkdir()
    (here / "deep/odd.yml").write_text("nodes:\n  - {id: a, type: noop}\nnotes: x\n")
    (here / ".hidden.yaml").write_text("nodes: 1")
    return here


def test_every_problem_is_a_line_with_its_place(quick: Onward, mixed: Path):
    done = quick("validate", ".")

    assert 3 == done.code
    bad, hint, odd, *_ = done.out.splitlines()
    assert re.fullmatch(r"bad\.yaml:2:\d+: error: .*htpp.* \[UNKNOWN_TYPE\]", bad)
    assert '    hint: did you mean "http"?' == hint
    assert re.fullmatch(r"deep/odd\.yml:3:\d+: warning: .* \[UNKNOWN_FIELD\]", odd)
    assert "1 of 3 documents cannot run, 1 warning\n" == done.err


def test_strict_takes_warnings_for_errors(quick: Onward, mixed: Path):
    assert (0, 3) == (
        quick("validate", "deep").code,
        quick("validate", "deep", "--strict").code,
    )


def test_validate_can_be_read_by_programs(quick: Onward, mixed: Path):
    files = quick("validate", ".", "good.json", "--json").json["files"]

    assert [("bad.yaml", False), ("deep/odd.yml", True), ("good.json", True)] == [
        (file["file"], file["ok"]) for file in files
    ]
    problem = files[0]["problems"][0]
    assert ("UNKNOWN_TYPE", "error", 2) == tuple(problem[k] for k in ("code", "severity", "line"))


@pytest.mark.parametrize("path", ["missing", "empty"])
def test_a_path_without_documents_is_wrong_usage(quick: Onward, here: Path, path: str):
    (here / "empty").mkdir()

    assert 2 == quick("validate", path).code


def test_graph_draws_both_forms(quick: Onward, here: Path):
    text = quick("graph", EXAMPLES / "approval.yaml")
    written = quick("graph", EXAMPLES / "approval.yaml", "-o", "a.svg")

    assert text.out.startswith("flowchart TD\n")
    assert (0, "", "wrote a.svg\n") == (written.code, written.out, written.err)
    assert (here / "a.svg").read_text().startswith("<svg")
    assert 2 == quick("graph", EXAMPLES / "approval.yaml", "-o", "no/dir/a.svg").code


def test_convert_shows_a_serverless_workflow_as_a_picture(quick: Onward, here: Path):
    source = EXAMPLES / "serverless" / "order.yaml"
    text = quick("convert", source)
    written = quick("convert", source, "-o", "a.svg")
    drawn = quick("convert", source, "--to", "svg")

    assert text.out.startswith("flowchart TD\n")
    assert quick("graph", source).out == text.out
    assert (0, "", "wrote a.svg\n") == (written.code, written.out, written.err)
    assert (here / "a.svg").read_text() == drawn.out
    assert drawn.out.startswith("<svg")
    (here / "bad.yaml").write_text("document: {dsl: 1.0.3}\ndo: 7\n")
    assert 3 == quick("convert", "bad.yaml").code
    assert 2 == quick("convert", "missing.yaml").code


def test_nodes_are_listed_and_explained(quick: Onward):
    listed = quick("nodes").out.splitlines()

    assert [one.name for one in builtin] == [line.split()[0] for line in listed]
    shown = quick("nodes", "split").out
    assert "max_concurrency" in shown
    assert "integer >= 1 or null" in shown
    assert "did you mean" in quick("nodes", "splt").err


def test_every_node_type_has_facts_for_programs(quick: Onward):
    for facts in quick("nodes", "--json").json:
        jsonschema_rs.validator_for(facts["schema"])
        kind: Any = builtin.get(facts["type"])
        fields = msgspec.structs.fields(kind.parameters)
        assert [(field.encode_name, field.required) for field in fields] == [
            (fact["name"], fact["required"]) for fact in facts["parameters"]
        ]
        assert facts == quick("nodes", facts["type"], "--json").json


def test_message_schemas_are_printed(quick: Onward):
    known = msgspec.json.decode(msgspec.json.encode(message_schemas()))

    assert known == quick("messages", "schema").json
    assert known["CompletionMessage"] == quick("messages", "schema", "CompletionMessage").json
    assert "there are NodeExecutionMessage" in quick("messages", "schema", "Nope").err


def test_random_workflows_are_simulated_in_processes(onward: Onward):
    done = onward("simulate", "--seeds", 60, "--jobs", 2)

    assert 0 == done.code
    assert re.fullmatch(
        r"60 seeds, no fault: [\d,]+ steps, [\d,]+ crashes, \d+ seeds/s\n", done.out
    )


def test_random_documents_of_the_serverless_language_are_simulated(onward: Onward):
    done = onward("simulate", "--language", "serverless", "--seeds", 10, "--jobs", 1)

    assert 0 == done.code
    assert done.out.startswith("10 seeds, no fault: ")


def test_a_file_says_its_own_language(quick: Onward):
    done = quick("simulate", "any.yaml", "--language", "graph")

    assert 2 == done.code
    assert "--language is for random workflows: FILE has its own" in done.err


def test_stopping_a_simulation_does_not_wait_for_the_seeds_that_are_left():
    going = tallies(random_workflows("graph"), range(1_000_000), jobs=2)

    assert 25 == next(going).seeds
    going.close()  # would take hours


def test_a_seed_can_be_repeated(quick: Onward):
    first, second = (quick("simulate", "--seed", 7).out for _ in range(2))

    assert re.sub(r"\d+ seeds/s", "", first) == re.sub(r"\d+ seeds/s", "", second)
    assert first.startswith("1 seed, no fault")


def test_a_workflow_of_ones_own_is_simulated(quick: Onward):
    out = quick("simulate", EXAMPLES / "retry.yaml", "--seeds", 3).out

    assert ["completed  3", "3 seeds, no fault"] == [
        out.splitlines()[0],
        out.splitlines()[1].split(":")[0],
    ]


def test_a_fault_ends_the_simulation_with_the_line_that_repeats_it(
    quick: Onward, monkeypatch: pytest.MonkeyPatch
):
    def broken(program: object, seed: int, given: object) -> None:
        from onward.simulation.checkers import BrokenError

        raise BrokenError(f"seed {seed}: the run is stuck")

    monkeypatch.setattr("onward.cli.commands.simulate_workers.rehearse", broken)
    file = EXAMPLES / "retry.yaml"

    done = quick("simulate", file, "--first", 5, "--seeds", 2)

    assert 1 == done.code
    assert f"seed 5: the run is stuck\nrepeat with: onward simulate {file} --seed=5\n" == done.out


@pytest.mark.slow
def test_the_demo_completes_without_a_terminal(onward: Onward, here: Path):
    done = onward("demo")

    assert (0, 200, "stamped") == (done.code, done.json["parcels"], done.json["papers"])
    assert re.search(r"success stamp \d+ ms\n", done.err)
    assert "Try next:" in done.err
    assert [] == list(here.iterdir())


def commands(command: click.Command, *path: str) -> list[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        return [path]
    context = click.Context(command)
    return [
        one
        for name in command.list_commands(context)
        for one in commands(command.get_command(context, name), *path, name)
    ]


@pytest.mark.parametrize("path", commands(group), ids=" ".join)
def test_every_help_ends_with_two_examples_and_every_option_has_a_twin(quick: Onward, path):
    shown = quick(*path, "--help").out

    assert 2 == len(re.findall(r"^    onward .*", shown.partition("Examples:")[2], re.MULTILINE))
    context = click.Context(group)
    command: Any = group
    for name in path:
        command = command.get_command(context, name)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "pairs":
            assert str(parameter.envvar).startswith("ONWARD_")


def test_the_version_is_told(onward: Onward):
    assert f"onward {__version__}\n" == onward("--version").out


def test_help_imports_neither_the_engine_nor_the_drawing(onward: Onward):
    done = onward("--help", PYTHONPROFILEIMPORTTIME="1")

    imported = set(re.findall(r"\| +([\w.]+)$", done.err, re.MULTILINE))
    assert "click" in imported
    assert set() == imported & {
        "rich",
        "msgspec",
        "asyncio",
        "sqlite3",
        "ruamel",
        "onward.bootstrap",
    }


def test_the_reference_names_every_option_of_every_command():
    text = (EXAMPLES.parent / "docs/reference/cli.md").read_text()
    context = click.Context(group)

    for path in commands(group):
        command: Any = group
        for name in path:
            command = command.get_command(context, name)
        assert f"onward {path[0]}" in text
        options = [param for param in command.params if isinstance(param, click.Option)]
        missing = [
            option.opts for option in options if not any(f"`{o}" in text for o in option.opts)
        ]
        assert [] == missing


def test_the_reference_lists_every_exit_code():
    text = (EXAMPLES.parent / "docs/reference/cli.md").read_text()
    listed = re.search(r"\| exit code \| means \|\n(.*?)\n\n", text, re.DOTALL)
    codes = {value for name, value in vars(exit_codes).items() if name.isupper()}

    assert listed is not None
    rows = re.findall(r"^\| ([0-9, ]+) \|", listed[1], re.MULTILINE)
    assert codes == {int(code) for row in rows for code in row.split(", ")}

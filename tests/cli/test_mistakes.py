"""Every mistake ends with the right exit code and words that help, never with a traceback."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from onward.cli.main import main

from .conftest import Onward, node


@pytest.fixture
def file(document) -> Path:
    return document("ok.json", node("start", "manual_trigger"))


def refused(done, code: int, *words: str) -> None:
    assert (code, "") == (done.code, done.out)
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--input", "{oops"], ["--input: not JSON", "write JSON, such as"]),
        (["--input", "{'a': 1}"], ["double quotes"]),
        (["--input", ""], ["write {} for no input"]),
        (["--input", '{"a": NaN}'], ["JSON has no NaN"]),
        (["--input", '"\\ud800"'], ["--input: not JSON"]),
        (["--input", "[" * 1000 + "]" * 1000], ["nested deeper than 500"]),
        (["--input", "@missing.json"], ["--input @missing.json", "No such file"]),
        (["--input", "[1]", "-i", "a=b"], ["-i sets keys of an object"]),
        (["-i", "novalue"], ["-i 'novalue'", "key=text", "key:=json"]),
        (["-i", "=x"], ["-i '=x'"]),
        (["-i", "a:=[1,"], ["-i a: not JSON"]),
        (["-i", "a:=Infinity"], ["-i a", "no NaN or Infinity"]),
        (["-i", "a=\udcff"], ["not UTF-8"]),
        (["--id", "no spaces"], ["--id", "letters, digits"]),
        (["--json", "--events", "-"], ["--events"]),
        (["--events", "no/such/dir/e"], ["--events no/such/dir/e", "No such file"]),
        (["--env-file", "missing.env"], ["--env-file missing.env"]),
        (["--slots", "0"], ["--slots"]),
        (["--inptu", "{}"], ["No such option", "--input"]),
    ],
)
def test_wrong_usage_is_exit_code_2(quick: Onward, file: Path, given, words):
    refused(quick("run", file, *given), 2, *words)


def test_files_that_cannot_be_documents_are_exit_code_2(quick: Onward, here: Path):
    (here / "binary.yaml").write_bytes(b"\x89PNG\r\n\0\xff")
    (here / "utf16.yaml").write_bytes("nodes: []".encode("utf-16"))
    (here / "secret.yaml").write_text("")
    (here / "secret.yaml").chmod(0)

    refused(quick("run", "missing.yaml"), 2, "missing.yaml: there is no such file")
    refused(quick("run", here), 2, "this is a directory")
    refused(quick("run", "binary.yaml"), 2, "binary.yaml: this is not text")
    refused(quick("run", "utf16.yaml"), 2, "utf16.yaml: this is not text", "UTF-8")
    if os.geteuid() != 0:
        refused(quick("run", "secret.yaml"), 2, "secret.yaml: it cannot be read")


def test_an_invalid_document_lists_every_problem_and_starts_nothing(quick: Onward, here: Path):
    (here / "bad.yaml").write_text(
        "nodes:\n  - {id: a, type: htpp}\n  - {id: b, type: wait, parameters: {amount: -1}}\n"
        "edges: [{src: a, dst: c}]\n"
    )

    done = quick("run", "bad.yaml")

    refused(done, 3, "bad.yaml:2:", "did you mean", "bad.yaml:3:", "bad.yaml:4:")
    assert not (here / ".onward").exists()


def test_an_id_that_is_taken_is_refused(quick: Onward, file: Path):
    assert 0 == quick("run", file, "--id", "one").code

    refused(quick("run", file, "--id", "one"), 2, "there is a run called one already")


def test_databases_that_cannot_be_used_are_exit_code_2(quick: Onward, file: Path, here: Path):
    (here / "text.db").write_text("these are no pages of a database" * 100)
    with sqlite3.connect(here / "other.db") as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()

    refused(quick("run", file, "--db", "text.db"), 2, "text.db is not a usable onward database")
    refused(quick("run", file, "--db", "other.db"), 2, "database of another program", "--db")
    refused(quick("run", file, "--db", file / "x.db"), 2, "cannot")
    refused(quick("runs", "--db", "other.db"), 2, "other.db is a database of another program")
    refused(quick("runs", "--db", "none.db"), 2, "there is no database none.db")


def test_a_misspelt_command_is_answered_with_the_right_one(quick: Onward):
    refused(quick("validte"), 2, "No such command 'validte'", "validate")


def test_an_unexpected_exception_is_a_bug_in_one_line(
    quick: Onward, file: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(_: object) -> None:
        raise RuntimeError("wires crossed")

    monkeypatch.setattr("onward.cli.input.documents.read_text", broken)

    refused(quick("run", file), 70, "internal error: RuntimeError: wires crossed", "ONWARD_DEBUG=1")
    monkeypatch.setenv("ONWARD_DEBUG", "1")
    with pytest.raises(RuntimeError, match="wires crossed"):
        main(["run", str(file)])

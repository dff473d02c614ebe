"""`onward credentials`, as a user runs it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onward.adapters.host.vault import open_vault
from onward.cli.commands.credentials.file_store import credentials


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("ONWARD_KEY", "ONWARD_KEY_FILE", "ONWARD_CREDENTIAL_STORE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def command(*arguments: str, given: str = "") -> Result:
    result = CliRunner().invoke(credentials, arguments, input=given)
    assert "s3cret" not in result.output
    return result


def stored(here: Path, name: str) -> dict[str, str] | None:
    vault = open_vault({}, store=here / ".onward/credentials.json", key_file=here / ".onward/key")
    return vault.get(name)


def test_add_seals_the_fields_and_makes_the_key(here: Path):
    result = command("add", "mail", "--field", "host=mail.test", "--field", "password=s3cret=x")

    assert 0 == result.exit_code
    assert "added mail" in result.stderr
    assert "store a copy" in result.stderr
    assert "" == result.stdout
    assert {"host": "mail.test", "password": "s3cret=x"} == stored(here, "mail")


def test_add_reads_json_from_standard_input(here: Path):
    result = command("add", "api", given='{"token": "s3cret", "port": 8}')

    assert 0 == result.exit_code
    assert {"token": "s3cret", "port": "8"} == stored(here, "api")


def test_on_a_terminal_add_asks_and_does_not_echo_the_value(here: Path):
    code = "from onward.cli.commands.credentials.file_store import credentials; credentials()"
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code, "add", "api"],
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
    )
    os.close(side)
    seen = b""
    for question, answer in (
        (b"Field (empty to finish): ", b"token\n"),
        (b"Value of token: ", b"s3cret\n"),
        (b"Field (empty to finish): ", b"\n"),
        (b"added api", b""),
    ):
        start = len(seen)
        while question not in seen[start:]:
            seen += os.read(terminal, 1000)
        os.write(terminal, answer)

    assert 0 == process.wait()
    os.close(terminal)
    assert b"s3cret" not in seen
    assert {"token": "s3cret"} == stored(here, "api")


def test_ls_prints_names_only_and_needs_no_key(here: Path):
    for name in ("b", "a"):
        command("add", name, "--field", "token=s3cret")
    (here / ".onward/key").unlink()

    result = command("ls")

    assert (0, "a\nb\n") == (result.exit_code, result.stdout)


def test_rm_removes_and_names_what_is_not_there(here: Path):
    command("add", "a", "--field", "token=s3cret")

    assert 0 == command("rm", "a").exit_code
    again = command("rm", "a")
    assert (1, True) == (again.exit_code, "has no credential 'a'" in again.stderr)


def test_rotate_seals_anew(here: Path):
    command("add", "a", "--field", "token=s3cret")
    before = (here / ".onward/credentials.json").read_text()

    result = command("rotate")

    assert "re-encrypted 1 credentials" in result.stderr
    assert before != (here / ".onward/credentials.json").read_text()
    assert {"token": "s3cret"} == stored(here, "a")


def test_store_and_key_may_be_elsewhere(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ONWARD_KEY_FILE", str(here / "k"))

    command("--store", str(here / "s.json"), "add", "a", "--field", "token=s3cret")

    vault = open_vault({}, store=here / "s.json", key_file=here / "k")
    assert {"token": "s3cret"} == vault.get("a")


@pytest.mark.parametrize(
    ("arguments", "given", "code", "words"),
    [
        (("add", "a", "--field", "s3cret"), "", 2, "KEY=VALUE"),
        (("add", "a"), "s3cret", 2, "one JSON object"),
        (("add", "a"), '["s3cret"]', 2, "one JSON object"),
        (("add", "a"), "{}", 1, "at least one field"),
        (("add", "a"), '{"x": ["s3cret"]}', 1, "field 'x' must be"),
        (("add", "a b", "--field", "x=s3cret"), "", 1, "is not a credential's name"),
    ],
)
def test_mistakes_are_explained_without_their_values(
    here: Path, arguments: tuple[str, ...], given: str, code: int, words: str
):
    result = command(*arguments, given=given)

    assert (code, True) == (result.exit_code, words in result.stderr)


def test_a_damaged_store_is_explained(here: Path):
    (here / ".onward").mkdir()
    (here / ".onward/credentials.json").write_text("{")

    result = command("ls")

    assert (1, True) == (result.exit_code, "is damaged" in result.stderr)

"""`weft users` and `weft tokens`: the first admin, and what programs show."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from .conftest import Weft

PASSWORD = "correct horse battery"


def test_the_first_admin_is_made_on_the_command_line(weft: Weft, here: Path):
    made = weft("users", "add", "ada", "--role", "admin", given=f"{PASSWORD}\n")
    twice = weft("users", "add", "ada", given=f"{PASSWORD}\n")
    listed = weft("users", "ls", "--json")

    assert (0, "", "ada may log in, as admin\n") == (made.code, made.out, made.err)
    assert (2, "Error: there is a user called ada\n") == (twice.code, twice.err)
    assert [("ada", "admin", True)] == [
        (one["name"], one["role"], one["enabled"]) for one in listed.json
    ]
    assert PASSWORD.encode() not in (here / ".weft/weft.db").read_bytes()


def test_a_user_is_changed_and_removed(weft: Weft):
    for name, role in (("ada", "admin"), ("bo", "viewer")):
        weft("users", "add", name, "--role", role, given=PASSWORD)
    changed = weft("users", "change", "bo", "--role", "editor", "--disable")
    renewed = weft("users", "change", "bo", "--new-password", given="another good password")
    last = weft("users", "rm", "ada")
    rows = weft("users", "ls").out.splitlines()
    gone = weft("users", "rm", "bo")
    missing = weft("users", "rm", "bo")

    assert (0, 0, 0) == (changed.code, renewed.code, gone.code)
    assert (2, "Error: ada is the last admin: make another one first\n") == (last.code, last.err)
    assert ["bo", "editor", "no"] == rows[2].split("\t")[:3]
    assert (2, "Error: there is no user called bo\n") == (missing.code, missing.err)


def test_mistakes_about_users_are_told(weft: Weft):
    assert "too short" in weft("users", "add", "ada", given="short").err
    assert "is no name" in weft("users", "add", "a b", given=PASSWORD).err
    assert "--new-password" in weft("users", "change", "ada").err
    assert 2 == weft("users", "change", "ada").code


def test_a_token_is_printed_once_and_can_be_revoked(weft: Weft, here: Path):
    made = weft("tokens", "create", "ci", "--role", "editor", "--workflow", "a", "--expires", "9d")
    before = weft("tokens", "ls", "--json").json
    revoked = weft("tokens", "revoke", before[0]["token_id"])
    after = weft("tokens", "ls", "--json").json
    shown = weft("tokens", "ls").out

    assert made.out.startswith("weft_pat_")
    assert 1 == len(made.out.splitlines())
    assert ("ci", "editor", ["a"]) == tuple(before[0][k] for k in ("name", "role", "workflows"))
    assert (True, False) == (before[0]["counts"], after[0]["counts"])
    assert 0 == revoked.code
    assert made.out.strip() not in shown + str(after)
    assert made.out.strip().encode() not in (here / ".weft/weft.db").read_bytes()
    assert 2 == weft("tokens", "revoke", "none").code


def test_what_the_command_line_changes_is_in_the_audit_log(weft: Weft, here: Path):
    weft("tokens", "create", "ci", USER="ada", LOGNAME="ada")
    weft("tokens", "ls")
    db = sqlite3.connect(here / ".weft/weft.db")
    rows = db.execute("SELECT actor, action, target FROM audit").fetchall()
    db.close()

    assert [("cli:ada", "create_token")] == [row[:2] for row in rows]
    assert rows[0][2].startswith("token tok_")


def test_an_address_for_others_is_not_served_while_nobody_can_log_in(weft: Weft):
    done = weft("dev", "--listen", "0.0.0.0:0")

    assert 2 == done.code
    assert "0.0.0.0 can be reached from other machines" in done.err
    assert "weft users add" in done.err


def test_a_database_of_another_program_is_left_alone(weft: Weft, here: Path):
    (here / "other.db").write_bytes(b"not a database, but long enough to look at")

    done = weft("tokens", "ls", "--db", "other.db")

    assert 2 == done.code
    assert "not a usable weft database" in done.err

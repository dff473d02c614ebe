"""`onward users` and `onward tokens`: the first admin, and what programs show."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from .conftest import Onward

PASSWORD = "correct horse battery"


def test_the_first_admin_is_made_on_the_command_line(onward: Onward, here: Path):
    made = onward("users", "add", "ada", "--role", "admin", given=f"{PASSWORD}\n")
    twice = onward("users", "add", "ada", given=f"{PASSWORD}\n")
    listed = onward("users", "ls", "--json")

    assert (0, "", "ada may log in, as admin\n") == (made.code, made.out, made.err)
    assert (2, "Error: there is a user called ada\n") == (twice.code, twice.err)
    assert [("ada", "admin", True)] == [
        (one["name"], one["role"], one["enabled"]) for one in listed.json
    ]
    assert PASSWORD.encode() not in (here / ".onward/onward.db").read_bytes()


def test_a_user_is_changed_and_removed(onward: Onward):
    for name, role in (("ada", "admin"), ("bo", "viewer")):
        onward("users", "add", name, "--role", role, given=PASSWORD)
    changed = onward("users", "change", "bo", "--role", "editor", "--disable")
    renewed = onward("users", "change", "bo", "--new-password", given="another good password")
    last = onward("users", "rm", "ada")
    rows = onward("users", "ls").out.splitlines()
    gone = onward("users", "rm", "bo")
    missing = onward("users", "rm", "bo")

    assert (0, 0, 0) == (changed.code, renewed.code, gone.code)
    assert (2, "Error: ada is the last admin: make another one first\n") == (last.code, last.err)
    assert ["bo", "editor", "no"] == rows[2].split("\t")[:3]
    assert (2, "Error: there is no user called bo\n") == (missing.code, missing.err)


def test_mistakes_about_users_are_told(onward: Onward):
    assert "too short" in onward("users", "add", "ada", given="short").err
    assert "is not a valid name" in onward("users", "add", "a b", given=PASSWORD).err
    assert "--new-password" in onward("users", "change", "ada").err
    assert 2 == onward("users", "change", "ada").code


def test_a_token_is_printed_once_and_can_be_revoked(onward: Onward, here: Path):
    made = onward(
        "tokens", "create", "ci", "--role", "editor", "--workflow", "a", "--expires", "9d"
    )
    before = onward("tokens", "ls", "--json").json
    revoked = onward("tokens", "revoke", before[0]["token_id"])
    after = onward("tokens", "ls", "--json").json
    shown = onward("tokens", "ls").out

    assert made.out.startswith("onward_pat_")
    assert 1 == len(made.out.splitlines())
    assert ("ci", "editor", ["a"]) == tuple(before[0][k] for k in ("name", "role", "workflows"))
    assert (True, False) == (before[0]["counts"], after[0]["counts"])
    assert 0 == revoked.code
    assert made.out.strip() not in shown + str(after)
    assert made.out.strip().encode() not in (here / ".onward/onward.db").read_bytes()
    assert 2 == onward("tokens", "revoke", "none").code


def test_what_the_command_line_changes_is_in_the_audit_log(onward: Onward, here: Path):
    onward("tokens", "create", "ci", USER="ada", LOGNAME="ada")
    onward("tokens", "ls")
    db = sqlite3.connect(here / ".onward/onward.db")
    rows = db.execute("SELECT actor, action, target FROM audit").fetchall()
    db.close()

    assert [("cli:ada", "create_token")] == [row[:2] for row in rows]
    assert rows[0][2].startswith("token tok_")


def test_an_address_for_others_is_not_served_while_nobody_can_log_in(onward: Onward):
    done = onward("dev", "--listen", "0.0.0.0:0")

    assert 2 == done.code
    assert "0.0.0.0 can be reached from other machines" in done.err
    assert "onward users add" in done.err


def test_a_database_of_another_program_is_left_alone(onward: Onward, here: Path):
    (here / "other.db").write_bytes(b"not a database, but long enough to look at")

    done = onward("tokens", "ls", "--db", "other.db")

    assert 2 == done.code
    assert "not a usable onward database" in done.err

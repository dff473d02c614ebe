"""The encrypted store: sealed, bound to its name, rotated, never half written."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from onward.adapters.host.vault import Vault, open_vault
from onward.errors import CredentialError

OLD = b64encode(b"o" * 32).decode()
NEW = b64encode(b"n" * 32).decode()
FIELDS = {"username": "ann", "password": "s3cret-wörd"}


def vault_in(folder: Path, key: str = OLD) -> Vault:
    return open_vault({"ONWARD_KEY": key}, store=folder / "store.json")


def edited(folder: Path, change) -> None:
    path = folder / "store.json"
    document = json.loads(path.read_text())
    change(document["records"])
    path.write_text(json.dumps(document))


def error_of(action) -> str:
    with pytest.raises(CredentialError) as caught:
        action()
    assert "s3cret" not in str(caught.value)
    return str(caught.value)


def test_what_is_put_comes_back_and_is_not_readable_in_the_file(tmp_path: Path):
    vault = vault_in(tmp_path)

    assert not vault.put("mail", FIELDS)

    assert FIELDS == vault_in(tmp_path).get("mail")
    content = (tmp_path / "store.json").read_bytes()
    assert b"s3cret" not in content
    assert b"ann" not in content


def test_an_unknown_name_is_none(tmp_path: Path):
    assert vault_in(tmp_path).get("mail") is None


def test_putting_again_replaces_and_says_so(tmp_path: Path):
    vault = vault_in(tmp_path)
    vault.put("mail", FIELDS)

    assert vault.put("mail", {"token": 12345})
    assert {"token": "12345"} == vault.get("mail")


def test_names_are_listed_sorted_and_removed(tmp_path: Path):
    vault = vault_in(tmp_path)
    for name in ("b", "a"):
        vault.put(name, FIELDS)

    assert ("a", "b") == vault.names()
    assert vault.remove("a")
    assert not vault.remove("a")
    assert ("b",) == vault.names()


def test_the_same_fields_are_sealed_differently_each_time(tmp_path: Path):
    vault = vault_in(tmp_path)
    vault.put("a", FIELDS)
    vault.put("b", FIELDS)

    records = json.loads((tmp_path / "store.json").read_text())["records"]
    assert records["a"]["nonce"] != records["b"]["nonce"]


def test_files_are_for_their_owner_only(tmp_path: Path):
    vault = open_vault({}, store=tmp_path / "x" / "store.json", key_file=tmp_path / "x" / "key")
    vault.ensure_key()
    vault.put("mail", FIELDS)

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "x").iterdir()}
    assert {"store.json": 0o600, "key": 0o600, ".store.json.lock": 0o600} == modes


def test_a_key_file_is_made_once_when_asked(tmp_path: Path):
    vault = open_vault({}, store=tmp_path / "store.json", key_file=tmp_path / "key")

    assert "there is no key" in error_of(lambda: vault.put("mail", FIELDS))
    assert [True, False] == [vault.ensure_key(), vault.ensure_key()]
    vault.put("mail", FIELDS)
    assert FIELDS == vault.get("mail")


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path):
    key_file = tmp_path / "key"
    key_file.write_text(OLD)
    key_file.chmod(0o644)
    vault = open_vault({}, store=tmp_path / "store.json", key_file=key_file)

    assert f"run chmod 600 {key_file}" in error_of(lambda: vault.put("mail", FIELDS))


@pytest.mark.parametrize("key", ["short", b64encode(b"x" * 31).decode(), f"{OLD},???"])
def test_a_key_that_is_no_key_is_refused_without_showing_it(key: str, tmp_path: Path):
    text = error_of(lambda: vault_in(tmp_path, key).put("mail", FIELDS))

    assert "ONWARD_KEY" in text
    assert "openssl rand -base64 32" in text
    assert key not in text


def test_a_wrong_key_is_told_from_a_damaged_record(tmp_path: Path):
    vault_in(tmp_path, OLD).put("mail", FIELDS)

    text = error_of(lambda: vault_in(tmp_path, NEW).get("mail"))

    assert "was sealed with key" in text
    assert "not in ONWARD_KEY" in text


def test_a_sealed_store_without_any_key_says_where_to_give_one(tmp_path: Path):
    vault_in(tmp_path).put("mail", FIELDS)

    text = error_of(lambda: open_vault({}, store=tmp_path / "store.json").get("mail"))

    assert "set ONWARD_KEY or ONWARD_KEY_FILE" in text


@pytest.mark.parametrize("part", ["nonce", "sealed"])
def test_a_flipped_bit_is_found(part: str, tmp_path: Path):
    vault_in(tmp_path).put("mail", FIELDS)

    def flip(records) -> None:
        raw = bytearray(b64decode(records["mail"][part]))
        raw[0] ^= 1
        records["mail"][part] = b64encode(raw).decode()

    edited(tmp_path, flip)
    assert "tampered" in error_of(lambda: vault_in(tmp_path).get("mail"))


@pytest.mark.parametrize("text", ["", "!!", "AAAA"])
@pytest.mark.parametrize("part", ["nonce", "sealed"])
def test_a_record_that_is_not_even_sealed_bytes_is_found(part: str, text: str, tmp_path: Path):
    vault_in(tmp_path).put("mail", FIELDS)
    edited(tmp_path, lambda records: records["mail"].update({part: text}))

    assert "tampered" in error_of(lambda: vault_in(tmp_path).get("mail"))


def test_a_record_moved_under_another_name_does_not_open(tmp_path: Path):
    """Otherwise a writer of the file could have one service be sent another one's password."""
    vault_in(tmp_path).put("mail", FIELDS)
    edited(tmp_path, lambda records: records.update(other=records["mail"]))

    assert "tampered" in error_of(lambda: vault_in(tmp_path).get("other"))


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 2}', b"\xff", b'{"records": []}'])
def test_a_file_that_is_no_store_is_refused_and_kept(content: bytes, tmp_path: Path):
    path = tmp_path / "store.json"
    path.write_bytes(content)

    assert f"{path} is not a credential store" in error_of(vault_in(tmp_path).names)
    assert f"{path} is not a credential store" in error_of(
        lambda: vault_in(tmp_path).put("a", FIELDS)
    )
    assert content == path.read_bytes()


def test_rotation_with_keys_in_the_environment_uses_the_first(tmp_path: Path):
    vault_in(tmp_path, OLD).put("a", FIELDS)
    vault_in(tmp_path, OLD).put("b", FIELDS)

    assert 2 == vault_in(tmp_path, f"{NEW},{OLD}").rotate()

    assert FIELDS == vault_in(tmp_path, NEW).get("a")
    assert "was sealed with key" in error_of(lambda: vault_in(tmp_path, OLD).get("b"))


def test_rotation_with_a_key_file_makes_a_key_and_keeps_the_old(tmp_path: Path):
    vault = open_vault({}, store=tmp_path / "store.json", key_file=tmp_path / "key")
    vault.ensure_key()
    vault.put("a", FIELDS)
    before = (tmp_path / "key").read_text().split()
    sealed_before = (tmp_path / "store.json").read_text()

    vault.rotate()

    new, *rest = (tmp_path / "key").read_text().split()
    assert before == rest
    assert FIELDS == vault_in(tmp_path, new).get("a")
    (tmp_path / "store.json").write_text(sealed_before)
    assert FIELDS == vault.get("a")


def test_a_rotation_that_meets_a_damaged_record_changes_nothing(tmp_path: Path):
    vault_in(tmp_path).put("a", FIELDS)
    vault_in(tmp_path).put("b", FIELDS)
    edited(tmp_path, lambda records: records["b"].update(sealed="AAAA"))
    before = (tmp_path / "store.json").read_bytes()

    error_of(vault_in(tmp_path, f"{NEW},{OLD}").rotate)

    assert before == (tmp_path / "store.json").read_bytes()


def test_a_write_that_fails_leaves_the_old_store_and_no_draft(tmp_path: Path, monkeypatch):
    vault = vault_in(tmp_path)
    vault.put("a", FIELDS)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "No space left on device" in error_of(lambda: vault.put("b", FIELDS))

    assert ("a",) == vault.names()
    assert {"store.json", ".store.json.lock"} == {path.name for path in tmp_path.iterdir()}


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from onward.adapters.host.vault import open_vault\n"
        f"vault = open_vault({{'ONWARD_KEY': {OLD!r}}}, store=Path(sys.argv[1]))\n"
        "for i in range(20): vault.put(f'{sys.argv[2]}{i}', {'token': 'abcd'})"
    )
    path = str(tmp_path / "store.json")
    writers = [
        subprocess.Popen([sys.executable, "-c", code, path, letter]) for letter in ("x", "y")
    ]

    assert [0, 0] == [writer.wait() for writer in writers]
    assert 40 == len(vault_in(tmp_path).names())


def test_without_the_package_the_remedy_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)

    assert "pip install '.[secrets]'" in error_of(lambda: vault_in(tmp_path).put("mail", FIELDS))


@pytest.mark.parametrize("fields", [{}, {"a": None}, {"a": {"b": "s3cret"}}, {"a": "\ud800"}])
def test_fields_that_are_no_texts_are_refused(fields: dict[str, object], tmp_path: Path):
    assert "credential 'mail'" in error_of(lambda: vault_in(tmp_path).put("mail", fields))


def test_a_bad_name_is_refused(tmp_path: Path):
    assert "is not a credential's name" in error_of(lambda: vault_in(tmp_path).put("a b", FIELDS))

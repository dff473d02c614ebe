"""Where credentials are found, and what is said when they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.adapters.host.secrets import HostSecrets, open_secrets
from onward.adapters.host.vault import open_vault
from onward.errors import CredentialError

KEY = {"ONWARD_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}


async def error_of(secrets: HostSecrets, name: str) -> str:
    with pytest.raises(CredentialError) as caught:
        await secrets.resolve(name)
    return str(caught.value)


async def test_a_json_variable_gives_all_fields_as_text():
    variable = '{"host": "mail.test", "port": 587, "verify_tls": false, "password": "pä ss"}'
    secrets = HostSecrets({"ONWARD_CREDENTIAL_MY_MAIL": variable})

    expected = {"host": "mail.test", "port": "587", "verify_tls": "false", "password": "pä ss"}
    assert expected == await secrets.resolve("my-mail")


async def test_single_variables_give_a_field_each():
    secrets = HostSecrets(
        {"ONWARD_CREDENTIAL_API_TOKEN": "abcd", "ONWARD_CREDENTIAL_API_BASE_URL": "u", "OTHER": "x"}
    )

    assert {"token": "abcd", "base_url": "u"} == await secrets.resolve("api")


async def test_the_environment_wins_over_the_file_and_the_file_over_the_store(tmp_path: Path):
    file, store = tmp_path / ".env", tmp_path / "store.json"
    file.write_text("ONWARD_CREDENTIAL_A_TOKEN=file\nONWARD_CREDENTIAL_B_TOKEN=file\n")
    vault = open_vault(KEY, store=store)
    for name in ("a", "b", "c"):
        vault.put(name, {"token": "store", "extra": "store"})
    secrets = open_secrets({**KEY, "ONWARD_CREDENTIAL_A_TOKEN": "env"}, file=file, store=store)

    assert {"token": "env"} == await secrets.resolve("a")
    assert {"token": "file"} == await secrets.resolve("b")
    assert {"token": "store", "extra": "store"} == await secrets.resolve("c")


async def test_a_changed_file_is_read_again(tmp_path: Path):
    file = tmp_path / ".env"
    file.write_text("ONWARD_CREDENTIAL_A_TOKEN=old\n")
    secrets = open_secrets({}, file=file)
    await secrets.resolve("a")

    file.write_text("ONWARD_CREDENTIAL_A_TOKEN=newer\n")

    assert {"token": "newer"} == await secrets.resolve("a")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=plain", "plain"),
        ("export A = spaced out  # comment", "spaced out"),
        ("A=with#hash", "with#hash"),
        ("A='single \"x\" # \\n'  # comment", 'single "x" # \\n'),
        (r'A="line\nbreak \"q\" \\ $HOME"', 'line\nbreak "q" \\ $HOME'),
        ("A=", ""),
        ("A=x=y==", "x=y=="),
        ("A=ünï", "ünï"),
    ],
)
async def test_the_file_knows_quotes_comments_and_escapes(line: str, value: str, tmp_path: Path):
    file = tmp_path / ".env"
    file.write_text(f"# head\n\nONWARD_CREDENTIAL_X_{line.removeprefix('export ')}\n")

    assert {"a": value} == await open_secrets({}, file=file).resolve("x")


@pytest.mark.parametrize("line", ["no equals s3cret", "A='s3cret", 'A="s3cret\\"', "1A=s3cret"])
async def test_a_bad_line_is_named_without_its_content(line: str, tmp_path: Path):
    file = tmp_path / ".env"
    file.write_text(f"B=1\n{line}\n")

    text = await error_of(open_secrets({}, file=file), "x")

    assert f"{file}:2: expected NAME=value, with quotes closed on the same line" == text


async def test_a_missing_credential_names_every_place_and_the_remedy(tmp_path: Path):
    file, store = tmp_path / ".env", tmp_path / "store.json"

    text = await error_of(open_secrets({}, file=file, store=store), "my-api")

    for part in ("'my-api'", "ONWARD_CREDENTIAL_MY_API", str(file), str(store), "credentials add"):
        assert part in text


@pytest.mark.parametrize("value", ["s3cret", '["s3cret"]', "{}", '{"a": "s3cret"', '{"a": null}'])
async def test_a_variable_that_is_no_object_of_texts_is_refused_without_its_content(value: str):
    text = await error_of(HostSecrets({"ONWARD_CREDENTIAL_X": value}), "x")

    assert "ONWARD_CREDENTIAL_X in the environment" in text
    assert "s3cret" not in text


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../x", "ä", "a\n", "x" * 101])
async def test_a_name_that_is_no_name_is_refused(name: str):
    assert "is not a credential's name" in await error_of(HostSecrets({}), name)


async def test_bytes_that_are_not_utf8_are_refused():
    secrets = HostSecrets({"ONWARD_CREDENTIAL_X_TOKEN": "a\udcff"})

    assert "ONWARD_CREDENTIAL_X_TOKEN in the environment is not valid UTF-8 text" == await error_of(
        secrets, "x"
    )


async def test_the_stores_own_setting_is_not_taken_for_a_credential():
    secrets = HostSecrets({"ONWARD_CREDENTIAL_STORE": "/some/path"})

    assert "was not found" in await error_of(secrets, "store")


async def test_a_directory_in_place_of_the_file_is_a_clear_error(tmp_path: Path):
    assert f"{tmp_path} cannot be read" in await error_of(open_secrets({}, file=tmp_path), "x")

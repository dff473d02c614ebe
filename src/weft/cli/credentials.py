"""`weft credentials`: keep secrets in the encrypted store. No command ever prints a value."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.bootstrap import Vault


@click.group()
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="WEFT_CREDENTIAL_STORE",
    default=Path(".weft/credentials.json"),
    show_default=True,
    show_envvar=True,
    help="The encrypted store.",
)
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="WEFT_KEY_FILE",
    default=Path(".weft/key"),
    show_default=True,
    show_envvar=True,
    help="The key file; WEFT_KEY, when set, is used instead.",
)
@click.pass_context
def credentials(context: click.Context, store: Path, key_file: Path) -> None:
    """Keep the secrets that workflows name."""
    from weft.bootstrap import open_vault

    context.obj = open_vault(os.environ, store=store, key_file=key_file)


@credentials.command()
@click.argument("name")
@click.option(
    "--field",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="One field. Other users can see a running command: for secrets leave this out.",
)
@click.pass_obj
def add(vault: Vault, name: str, pairs: tuple[str, ...]) -> None:
    """Add credential NAME, or replace it.

    Without --field the fields are asked for; when standard input is not a terminal they are read
    from it as one JSON object.
    """
    fields = _from_options(pairs) if pairs else _from_terminal() or _from_input()
    with _explained():
        made_key = vault.ensure_key()
        replaced = vault.put(name, fields)
    click.echo(f"{'replaced' if replaced else 'added'} {name} in {vault.path}", err=True)
    if made_key:
        click.echo(f"made the key {vault.key_place}: keep a copy in a safe place", err=True)


@credentials.command()
@click.pass_obj
def ls(vault: Vault) -> None:
    """List the names in the store."""
    with _explained():
        names = vault.names()
    for name in names:
        click.echo(name)


@credentials.command()
@click.argument("name")
@click.pass_obj
def rm(vault: Vault, name: str) -> None:
    """Remove credential NAME."""
    with _explained():
        removed = vault.remove(name)
    if not removed:
        raise click.ClickException(
            f"{vault.path} holds no credential {name!r}: `weft credentials ls` lists them"
        )
    click.echo(f"removed {name} from {vault.path}", err=True)


@credentials.command()
@click.pass_obj
def rotate(vault: Vault) -> None:
    """Seal every credential anew with the newest key.

    A key file gets a new key first. With WEFT_KEY, put the new key before the old one, with a
    comma between, and take the old one out afterwards.
    """
    with _explained():
        count = vault.rotate()
    click.echo(f"sealed {count} credentials anew, key in {vault.key_place}", err=True)


def _from_options(pairs: tuple[str, ...]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            # The text itself may be a secret that was given in the wrong form.
            raise click.UsageError("--field must be KEY=VALUE")
        fields[key] = value
    return fields


def _from_terminal() -> dict[str, object]:
    fields: dict[str, object] = {}
    while sys.stdin.isatty():
        key = click.prompt("Field (empty to finish)", default="", show_default=False, err=True)
        if not key:
            break
        fields[key] = click.prompt(f"Value of {key}", hide_input=True, err=True)
    return fields


def _from_input() -> dict[str, object]:
    if sys.stdin.isatty():
        raise click.UsageError("a credential needs at least one field")
    try:
        return msgspec.json.decode(sys.stdin.buffer.read(), type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise click.UsageError("standard input must hold one JSON object of fields") from None


@contextmanager
def _explained() -> Iterator[None]:
    """Turn weft's own errors into the command's message and exit code."""
    try:
        yield
    except WeftError as error:
        raise click.ClickException(str(error)) from None

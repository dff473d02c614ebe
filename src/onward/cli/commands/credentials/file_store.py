"""The group `onward credentials`, and its commands on the encrypted file.

There are two places for credentials. The encrypted file is for workflows that are run here. Those
of an engine are on a server (`--server`), or in the file of `onward dev` when it is named (`--db`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from onward.cli import exit_codes, options
from onward.cli.commands.credentials import server_store
from onward.cli.commands.credentials.fields import read_fields
from onward.cli.engines.engine import EngineAddress, engine_options, output
from onward.cli.options import DEFAULT_STORE, examples, option
from onward.errors import OnwardError

if TYPE_CHECKING:
    from onward.bootstrap.host import Vault


@dataclass(frozen=True, slots=True)
class CredentialFiles:
    """The encrypted file, and the key of all credentials."""

    store: Path
    key_file: Path


def _place_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of an engine: the command gets `engine`, None for the encrypted file."""

    @engine_options
    @wraps(command)
    def run(*, engine: EngineAddress, **given: Any) -> int:
        context = click.get_current_context()
        named = context.get_parameter_source("database") is ParameterSource.COMMANDLINE
        address = replace(engine, key_file=context.obj.key_file)
        return command(engine=address if engine.server or named else None, **given)

    return run


@contextmanager
def _vault() -> Iterator[Vault]:
    """Open the encrypted file; onward's own errors become the command's message."""
    from onward.bootstrap.host import open_vault

    files: CredentialFiles = click.get_current_context().obj
    try:
        yield open_vault(os.environ, store=files.store, key_file=files.key_file)
    except OnwardError as error:
        raise click.ClickException(str(error)) from None


@click.group(
    epilog=examples(
        "onward credentials add payments", "onward credentials ls --server http://onward:8700"
    )
)
@option(
    "--store",
    type=options.path(),
    envvar="ONWARD_CREDENTIAL_STORE",
    default=DEFAULT_STORE,
    show_default=True,
    help="The encrypted file.",
)
@options.key_file
@click.pass_context
def credentials(context: click.Context, store: Path, key_file: Path) -> None:
    """Store the secrets that workflows name.

    They are in an encrypted file, on a server (--server), or in the file of `onward dev` (--db).
    No command prints a value.
    """
    context.obj = CredentialFiles(store, key_file)


@credentials.command(
    epilog=examples(
        "onward credentials add payments < fields.json",
        "onward credentials add payments --type http_bearer --workflow charge"
        " --server http://onward:8700",
    )
)
@click.argument("name")
@click.option(
    "--field",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="One field. Other users can see it while the command runs: do not use it for secrets.",
)
@server_store.kind_option
@server_store.workflows_option
@output
@_place_options
def add(
    name: str,
    pairs: tuple[str, ...],
    kind: str | None,
    workflows: tuple[str, ...],
    form: str,
    engine: EngineAddress | None,
) -> int:
    """Add the credential NAME, or replace it.

    Without --field the fields are prompted for; when standard input is not a terminal they are read
    from it as one JSON object.
    """
    if engine is not None:
        fields = read_fields(pairs)
        engine = replace(engine, form=form)
        return server_store.add(engine, name, fields, kind=kind, workflows=workflows)
    if kind or workflows:
        raise click.UsageError("--type and --workflow need an engine: give --server or --db")
    fields = read_fields(pairs)
    with _vault() as vault:
        created_key = vault.ensure_key()
        replaced = vault.put(name, fields)
        click.echo(f"{'replaced' if replaced else 'added'} {name} in {vault.path}", err=True)
        if created_key:
            click.echo(f"created the key {vault.key_place}: store a copy safely", err=True)
    return exit_codes.OK


@credentials.command(
    epilog=examples(
        "onward credentials ls", "onward credentials ls --server http://onward:8700 -o ids"
    )
)
@output
@_place_options
def ls(form: str, engine: EngineAddress | None) -> int:
    """List the credentials by name."""
    if engine is not None:
        return server_store.ls(replace(engine, form=form))
    from onward.cli.output.tables import show_known

    with _vault() as vault:
        names = [{"name": name} for name in vault.names()]
    # For people too a name is a line: there is nothing else to tell about one.
    form = "ids" if form == "table" else form
    show_known(names, form, id_of="name", headings=(), row=lambda name: [name["name"]])
    return exit_codes.OK


@credentials.command(
    epilog=examples(
        "onward credentials rm payments",
        "onward credentials rm payments --server http://onward:8700",
    )
)
@click.argument("name")
@_place_options
def rm(name: str, engine: EngineAddress | None) -> int:
    """Remove the credential NAME. Nodes that name it fail from now on."""
    if engine is not None:
        return server_store.rm(engine, name)
    with _vault() as vault:
        if not vault.remove(name):
            raise click.ClickException(
                f"{vault.path} has no credential {name!r}: `onward credentials ls` lists them"
            )
        click.echo(f"removed {name} from {vault.path}", err=True)
    return exit_codes.OK


@credentials.command(
    epilog=examples(
        "onward credentials rotate", "onward credentials rotate --server http://onward:8700"
    )
)
@_place_options
def rotate(engine: EngineAddress | None) -> int:
    """Encrypt all credentials with the newest key.

    A key file gets a new key first. With ONWARD_KEY, put the new key before the old one, separated
    by a comma, and remove the old one afterwards.
    """
    if engine is not None:
        return server_store.rotate(engine)
    with _vault() as vault:
        count = vault.rotate()
        click.echo(f"re-encrypted {count} credentials, key in {vault.key_place}", err=True)
    return exit_codes.OK


for _command in (
    server_store.types,
    server_store.show,
    server_store.allow,
    server_store.usage,
    server_store.try_credential,
):
    credentials.add_command(_command)

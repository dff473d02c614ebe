"""`onward credentials`: keep secrets. No command ever prints a value.

There are two places for them. The encrypted store is a file of its own, for whoever runs
workflows here. What the API keeps is on a server (`--server`), or in the file of `onward dev` when
that is named (`--db`): those have types, can be tried, and may be for some workflows only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from onward.cli import options
from onward.cli.commands.credentials import server_store
from onward.cli.commands.credentials.fields import read_fields
from onward.cli.engines import server as remote
from onward.cli.engines.server import output
from onward.cli.options import DEFAULT_KEY, examples, option
from onward.errors import OnwardError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.bootstrap.host import Vault


@dataclass(frozen=True, slots=True)
class CredentialFiles:
    """The encrypted store, and the key of everything."""

    store: Path
    key_file: Path

    @property
    def vault(self) -> Vault:
        """Return the encrypted store."""
        from onward.bootstrap.host import open_vault

        return open_vault(os.environ, store=self.store, key_file=self.key_file)


def _either(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whether the store is meant, or what the API keeps."""
    added: Callable[..., Any] = click.pass_context(command)
    return remote.place(added)


def _kept(context: click.Context, given: dict[str, Any]) -> remote.ServerAddress | None:
    """Return where the API keeps what is meant; None: the encrypted store is meant."""
    server, token, database = (given.pop(name) for name in ("server", "token", "database"))
    named = context.get_parameter_source("database") is ParameterSource.COMMANDLINE
    if not server and not named:
        return None
    return remote.ServerAddress(server, token, database, context.obj.key_file)


@click.group(
    epilog=examples(
        "onward credentials add payments", "onward credentials ls --server http://onward:8700"
    )
)
@option(
    "--store",
    type=options.path(),
    envvar="ONWARD_CREDENTIAL_STORE",
    default=Path(".onward/credentials.json"),
    show_default=True,
    help="The encrypted store.",
)
@option(
    "--key-file",
    type=options.path(),
    default=DEFAULT_KEY,
    show_default=True,
    help="The key file; ONWARD_KEY, when set, is used instead.",
)
@click.pass_context
def credentials(context: click.Context, store: Path, key_file: Path) -> None:
    """Keep the secrets that workflows name: in the encrypted store, on a server with --server, or
    with --db in the file of `onward dev`.
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
    help="One field. Other users can see a running command: for secrets leave this out.",
)
@server_store.kind
@server_store.workflows
@output
@_either
def add(context: click.Context, /, name: str, pairs: tuple[str, ...], **given: Any) -> int:
    """Add credential NAME, or replace it.

    Without --field the fields are asked for; when standard input is not a terminal they are read
    from it as one JSON object.
    """
    at, form = _kept(context, given), given.pop("output")
    if at is not None:
        return server_store.add(at, name, read_fields(pairs), form, **given)
    if given["kind"] or given["workflows"]:
        raise click.UsageError("the encrypted store has no --type and no --workflow: give --server")
    vault: Vault = context.obj.vault
    fields = read_fields(pairs)
    with _explained():
        made_key = vault.ensure_key()
        replaced = vault.put(name, fields)
    click.echo(f"{'replaced' if replaced else 'added'} {name} in {vault.path}", err=True)
    if made_key:
        click.echo(f"made the key {vault.key_place}: keep a copy in a safe place", err=True)
    return 0


@credentials.command(
    epilog=examples(
        "onward credentials ls", "onward credentials ls --server http://onward:8700 -o ids"
    )
)
@output
@_either
def ls(context: click.Context, /, output: str, **given: Any) -> int:
    """List the names in the store, or what the API keeps."""
    at = _kept(context, given)
    if at is not None:
        return server_store.ls(at, output)
    from onward.cli.output.run_result import print_json

    with _explained():
        names = context.obj.vault.names()
    if output == "json":
        print_json([{"name": name} for name in names])
    for name in names if output != "json" else ():
        if output == "jsonl":
            print_json({"name": name})
        else:
            click.echo(name)
    return 0


@credentials.command(
    epilog=examples(
        "onward credentials rm payments",
        "onward credentials rm payments --server http://onward:8700",
    )
)
@click.argument("name")
@_either
def rm(context: click.Context, /, name: str, **given: Any) -> int:
    """Remove credential NAME. Nodes that name it fail from now on."""
    at = _kept(context, given)
    if at is not None:
        return server_store.rm(at, name)
    vault: Vault = context.obj.vault
    with _explained():
        removed = vault.remove(name)
    if not removed:
        raise click.ClickException(
            f"{vault.path} holds no credential {name!r}: `onward credentials ls` lists them"
        )
    click.echo(f"removed {name} from {vault.path}", err=True)
    return 0


@credentials.command(
    epilog=examples(
        "onward credentials rotate", "onward credentials rotate --server http://onward:8700"
    )
)
@_either
def rotate(context: click.Context, /, **given: Any) -> int:
    """Seal every credential anew with the newest key.

    A key file gets a new key first. With ONWARD_KEY, put the new key before the old one, with a
    comma between, and take the old one out afterwards.
    """
    at = _kept(context, given)
    if at is not None:
        return server_store.rotate(at)
    vault: Vault = context.obj.vault
    with _explained():
        count = vault.rotate()
    click.echo(f"sealed {count} credentials anew, key in {vault.key_place}", err=True)
    return 0


for _command in (
    server_store.types,
    server_store.show,
    server_store.allow,
    server_store.usage,
    server_store.try_out,
):
    credentials.add_command(_command)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn onward's own errors into the command's message and exit code."""
    try:
        yield
    except OnwardError as error:
        raise click.ClickException(str(error)) from None

"""`onward users`: who may log in. Passwords are prompted for, or read from standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes
from onward.cli.engines.accounts import AccountsAddress, account_options, with_accounts
from onward.cli.engines.engine import output
from onward.cli.options import as_json, examples, option

if TYPE_CHECKING:
    from onward.ports.security.accounts import Role

ROLES = ["viewer", "editor", "admin"]
ROLE_HELP = "viewer: read; editor: also change and run workflows; admin: everything."
_HEADINGS = ("name", "role", "enabled", "since")


@click.group(epilog=examples("onward users add ada --role admin", "onward users ls"))
def users() -> None:
    """Manage the users of the API and their roles."""


@users.command(
    epilog=examples("onward users add ada --role admin", "onward users add bo < password")
)
@click.argument("name")
@option("--role", type=click.Choice(ROLES), default="viewer", show_default=True, help=ROLE_HELP)
@account_options
def add(name: str, role: Role, place: AccountsAddress) -> int:
    """Add the user NAME. The password is prompted for, or read from standard input."""
    password = read_password()
    if not re.fullmatch(r"[a-zA-Z0-9._@+-]{1,100}", name):
        raise click.UsageError(f"{name!r} is not a valid name: use letters, digits and . _ @ + -")
    with_accounts(
        place, lambda accounts: accounts.add_user(name, role, password), action="create_user"
    )
    click.echo(f"{name} may log in, as {role}", err=True)
    return exit_codes.OK


@users.command(
    epilog=examples("onward users ls", "onward users ls --server http://onward:8700 -o ids")
)
@as_json
@output
@account_options
def ls(as_json: bool, form: str, place: AccountsAddress) -> int:
    """List the users."""
    from onward.cli.output.tables import show_known

    found = with_accounts(place, lambda accounts: accounts.users())
    form = "json" if as_json else form
    show_known(found, form, id_of="name", headings=_HEADINGS, row=_row)
    return exit_codes.OK


@users.command(epilog=examples("onward users show ada", "onward users show ada -o json"))
@click.argument("name")
@output
@account_options
def show(name: str, form: str, place: AccountsAddress) -> int:
    """Show the user NAME."""
    from onward.cli.output.tables import print_table, show_one

    user = with_accounts(place, lambda accounts: accounts.user(name))
    show_one(user, form, id_of="name", people=lambda: print_table(_HEADINGS, [_row(user)]))
    return exit_codes.OK


@users.command(
    epilog=examples("onward users change bo --role editor", "onward users change bo --disable")
)
@click.argument("name")
@option("--role", type=click.Choice(ROLES), default=None, help="The new role.")
@option(
    "--enable/--disable",
    "enabled",
    default=None,
    envvar="ONWARD_ENABLE",
    help="Whether the user may log in.",
)
@option("--new-password", "renew", is_flag=True, help="Prompt for a new password.")
@account_options
def change(
    name: str, role: Role | None, enabled: bool | None, renew: bool, place: AccountsAddress
) -> int:
    """Change the role or the password of NAME, or whether they may log in."""
    if role is None and enabled is None and not renew:
        raise click.UsageError("give --role, --enable, --disable or --new-password")
    password = read_password() if renew else None
    with_accounts(
        place,
        lambda accounts: accounts.change_user(name, role=role, enabled=enabled, password=password),
        action="change_user",
    )
    click.echo(f"changed {name}", err=True)
    return exit_codes.OK


@users.command(epilog=examples("onward users rm bo", "onward users rm bo --db /srv/onward.db"))
@click.argument("name")
@account_options
def rm(name: str, place: AccountsAddress) -> int:
    """Remove the user NAME."""
    with_accounts(place, lambda accounts: accounts.remove_user(name), action="delete_user")
    click.echo(f"removed {name}", err=True)
    return exit_codes.OK


def read_password() -> str:
    """Return a password: typed twice, or the first line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def _row(user: Mapping[str, Any]) -> list[str]:
    return [user["name"], user["role"], "yes" if user["enabled"] else "no", user["created_at"]]

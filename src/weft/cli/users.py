"""`weft users`: who may log in. Passwords are asked for, or read from standard input."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.office import at_office, place
from weft.cli.options import as_json, examples, option

if TYPE_CHECKING:
    from weft.bootstrap.access import Office
    from weft.ports.access import Role, User

_ROLES = ["viewer", "editor", "admin"]


@click.group(epilog=examples("weft users add ada --role admin", "weft users ls"))
def users() -> None:
    """Say who may log in to the API, and as what."""


@users.command(epilog=examples("weft users add ada --role admin", "weft users add bo < password"))
@click.argument("name")
@option(
    "--role",
    type=click.Choice(_ROLES),
    default="viewer",
    show_default=True,
    help="What they may do: look, change and run, or everything.",
)
@place
def add(name: str, role: Role, database: Path, postgres: str | None) -> int:
    """Let NAME log in. The password is asked for, or read from standard input."""
    password = read_password()

    async def work(office: Office) -> User:
        return await office.administration.add_user(name, role, password)

    _check_name(name)
    at_office(work, database, postgres, "create_user")
    click.echo(f"{name} may log in, as {role}", err=True)
    return 0


@users.command(epilog=examples("weft users ls", "weft users ls --json"))
@as_json
@place
def ls(as_json: bool, database: Path, postgres: str | None) -> int:
    """List everybody who may log in."""
    from weft.cli.answers import print_json
    from weft.cli.tables import print_table
    from weft.kernel.moment import to_iso

    async def work(office: Office) -> list[User]:
        return await office.accounts.users()

    found = at_office(work, database, postgres)
    if as_json:
        print_json([{"name": one.name, "role": one.role, "enabled": one.enabled} for one in found])
        return 0
    rows = [
        (one.name, one.role, "yes" if one.enabled else "no", to_iso(one.created_ms))
        for one in found
    ]
    print_table(("name", "role", "enabled", "since"), rows)
    return 0


@users.command(
    epilog=examples("weft users change bo --role editor", "weft users change bo --disable")
)
@click.argument("name")
@option("--role", type=click.Choice(_ROLES), default=None, help="What they may do from now on.")
@option(
    "--enable/--disable",
    "enabled",
    default=None,
    envvar="WEFT_ENABLE",
    help="Whether they may log in.",
)
@option("--new-password", "renew", is_flag=True, help="Ask for a new password.")
@place
def change(
    name: str,
    role: Role | None,
    enabled: bool | None,
    renew: bool,
    database: Path,
    postgres: str | None,
) -> int:
    """Change the role, the password or the right of NAME to log in."""
    if role is None and enabled is None and not renew:
        raise click.UsageError("give --role, --enable, --disable or --new-password")
    password = read_password() if renew else None

    async def work(office: Office) -> User:
        return await office.administration.change_user(
            name, role=role, enabled=enabled, password=password
        )

    at_office(work, database, postgres, "change_user")
    click.echo(f"changed {name}", err=True)
    return 0


@users.command(epilog=examples("weft users rm bo", "weft users rm bo --db /srv/weft.db"))
@click.argument("name")
@place
def rm(name: str, database: Path, postgres: str | None) -> int:
    """Let NAME log in no more."""

    async def work(office: Office) -> None:
        await office.administration.remove_user(name)

    at_office(work, database, postgres, "delete_user")
    click.echo(f"removed {name}", err=True)
    return 0


def read_password() -> str:
    """Return a password: typed twice, or the first line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-zA-Z0-9._@+-]{1,100}", name):
        raise click.UsageError(f"{name!r} is no name: use letters, digits and . _ @ + -")

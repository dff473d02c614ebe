"""`onward users`: who may log in. Passwords are asked for, or read from standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli.engines.accounts import at_office, place
from onward.cli.engines.server import output
from onward.cli.options import as_json, examples, option

if TYPE_CHECKING:
    from onward.bootstrap.accounts import AccountTools
    from onward.client import AsyncEngine
    from onward.ports.security.accounts import Role, User

_ROLES = ["viewer", "editor", "admin"]
_HEADINGS = ("name", "role", "enabled", "since")


@click.group(epilog=examples("onward users add ada --role admin", "onward users ls"))
def users() -> None:
    """Say who may log in to the API, and as what."""


@users.command(
    epilog=examples("onward users add ada --role admin", "onward users add bo < password")
)
@click.argument("name")
@option(
    "--role",
    type=click.Choice(_ROLES),
    default="viewer",
    show_default=True,
    help="What they may do: look, change and run, or everything.",
)
@place
def add(name: str, role: Role, **given: Any) -> int:
    """Let NAME log in. The password is asked for, or read from standard input."""
    password = read_password()
    _check_name(name)

    async def asked(engine: AsyncEngine) -> object:
        return await engine.add_user(name, role, password)

    async def work(office: AccountTools) -> object:
        return await office.administration.add_user(name, role, password)

    at_office(given, asked=asked, work=work, action="create_user")
    click.echo(f"{name} may log in, as {role}", err=True)
    return 0


@users.command(
    epilog=examples("onward users ls", "onward users ls --server http://onward:8700 -o ids")
)
@as_json
@output
@place
def ls(as_json: bool, output: str, **given: Any) -> int:
    """List everybody who may log in."""
    from onward.cli.output.tables import show_known

    async def asked(engine: AsyncEngine) -> list[dict[str, Any]]:
        return await engine.users()

    async def work(office: AccountTools) -> list[dict[str, Any]]:
        return [_told(user) for user in await office.accounts.users()]

    found = at_office(given, asked=asked, work=work)
    form = "json" if as_json else output
    show_known(found, form, id_of="name", headings=_HEADINGS, row=_row)
    return 0


@users.command(epilog=examples("onward users show ada", "onward users show ada -o json"))
@click.argument("name")
@output
@place
def show(name: str, output: str, **given: Any) -> int:
    """Show what is known of NAME."""
    from onward.cli.output.tables import print_table, show_one

    async def asked(engine: AsyncEngine) -> dict[str, Any]:
        return await engine.user(name)

    async def work(office: AccountTools) -> dict[str, Any]:
        return _told(await office.administration.user(name))

    found = at_office(given, asked=asked, work=work)
    show_one(found, output, id_of="name", people=lambda: print_table(_HEADINGS, [_row(found)]))
    return 0


@users.command(
    epilog=examples("onward users change bo --role editor", "onward users change bo --disable")
)
@click.argument("name")
@option("--role", type=click.Choice(_ROLES), default=None, help="What they may do from now on.")
@option(
    "--enable/--disable",
    "enabled",
    default=None,
    envvar="ONWARD_ENABLE",
    help="Whether they may log in.",
)
@option("--new-password", "renew", is_flag=True, help="Ask for a new password.")
@place
def change(name: str, role: Role | None, enabled: bool | None, renew: bool, **given: Any) -> int:
    """Change the role, the password or the right of NAME to log in."""
    if role is None and enabled is None and not renew:
        raise click.UsageError("give --role, --enable, --disable or --new-password")
    password = read_password() if renew else None

    async def asked(engine: AsyncEngine) -> object:
        return await engine.change_user(name, role=role, enabled=enabled, password=password)

    async def work(office: AccountTools) -> object:
        return await office.administration.change_user(
            name, role=role, enabled=enabled, password=password
        )

    at_office(given, asked=asked, work=work, action="change_user")
    click.echo(f"changed {name}", err=True)
    return 0


@users.command(epilog=examples("onward users rm bo", "onward users rm bo --db /srv/onward.db"))
@click.argument("name")
@place
def rm(name: str, **given: Any) -> int:
    """Let NAME log in no more."""

    async def asked(engine: AsyncEngine) -> None:
        await engine.remove_user(name)

    async def work(office: AccountTools) -> None:
        await office.administration.remove_user(name)

    at_office(given, asked=asked, work=work, action="delete_user")
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


def _told(user: User) -> dict[str, Any]:
    from onward.kernel.timestamps import to_iso

    return {
        "name": user.name,
        "role": user.role,
        "enabled": user.enabled,
        "created_at": to_iso(user.created_ms),
        "changed_at": to_iso(user.changed_ms),
    }


def _row(one: Mapping[str, Any]) -> list[str]:
    return [one["name"], one["role"], "yes" if one["enabled"] else "no", one["created_at"]]

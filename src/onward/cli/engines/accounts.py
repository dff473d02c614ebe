"""Where `onward users` and `tokens` find what they change: a server, a file, or PostgreSQL."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onward.cli import options
from onward.cli.engines import server
from onward.cli.options import F, option

if TYPE_CHECKING:
    from onward.bootstrap.accounts import AccountTools
    from onward.client import AsyncEngine

T = TypeVar("T")

_postgres = option(
    "--postgres",
    metavar="URL",
    envvar="ONWARD_POSTGRES_URL",
    default=None,
    help="The store of a cluster, used instead of the file.",
)


def place(command: F) -> F:
    """Add the options that say where users and tokens are kept."""
    added: F = server.server(server.token(options.database(_postgres(command))))
    return added


def at_office(
    given: dict[str, Any],
    *,
    asked: Callable[[AsyncEngine], Awaitable[T]],
    work: Callable[[AccountTools], Awaitable[T]],
    action: str = "",
) -> T:
    """Return what comes of asking the server, if one is named, or else of the work here.

    A server writes down by itself what was changed; here it is, when the work is an action. What
    a server refuses is told and ends the command.
    """
    at, postgres = server.where(given), given.pop("postgres")
    if at.server:
        return _at_server(at, asked)
    from onward.bootstrap.accounts import open_accounts_in_file, open_accounts_on_postgres
    from onward.bootstrap.host import configure_log
    from onward.runtime.security.audit import open_record

    configure_log(level="warning")

    async def go() -> T:
        opened = (
            open_accounts_on_postgres(postgres) if postgres else open_accounts_in_file(at.database)
        )
        async with opened as office:
            record = open_record()
            record.action = action
            done = await work(office)
            if action:
                await office.auditor.write(record, actor=whoami(), origin="", request_id="")
            return done

    return asyncio.run(go())


def _at_server(at: server.ServerAddress, asked: Callable[[AsyncEngine], Awaitable[T]]) -> T:
    found: list[T] = []

    async def ask(engine: AsyncEngine) -> int:
        found.append(await asked(engine))
        return 0

    code = server.talk(at, ask)
    if code:
        raise click.exceptions.Exit(code)
    return found[0]


def whoami() -> str:
    """Return who uses the command line, as the audit log tells it."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container may run as a user without a name
        return "cli"

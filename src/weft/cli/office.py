"""Where `weft users`, `tokens` and `audit` find what they change: a file, or PostgreSQL."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from weft.cli import options
from weft.cli.options import F, option

if TYPE_CHECKING:
    from weft.bootstrap.access import Office

T = TypeVar("T")

_postgres = option(
    "--postgres",
    metavar="URL",
    envvar="WEFT_POSTGRES_URL",
    default=None,
    help="The store of a cluster, used instead of the file.",
)


def place(command: F) -> F:
    """Add the options that say where users and tokens are kept."""
    added: F = options.database(_postgres(command))
    return added


def at_office(
    work: Callable[[Office], Awaitable[T]],
    database: Path,
    postgres: str | None,
    action: str = "",
) -> T:
    """Return what the work comes to; it is written down when it is an action."""
    from weft.bootstrap import configure_log
    from weft.bootstrap.access import office_in_file, office_on_postgres
    from weft.runtime.auditing import open_record

    configure_log(level="warning")

    async def go() -> T:
        opened = office_on_postgres(postgres) if postgres else office_in_file(database)
        async with opened as office:
            record = open_record()
            record.action = action
            done = await work(office)
            if action:
                await office.auditor.write(record, actor=whoami(), origin="", request_id="")
            return done

    return asyncio.run(go())


def whoami() -> str:
    """Return who uses the command line, as the audit log tells it."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container may run as a user without a name
        return "cli"

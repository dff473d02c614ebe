"""A PostgreSQL to test with, and a database of its own for each test."""

import asyncio
import os
import secrets
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from services.process import (
    Kept,
    MissingError,
    free_port,
    install,
    keep,
    listening,
    program,
    room,
    say,
    wait_until,
)

UNPRIVILEGED = "postgres"
INITIALLY = ("-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
UNSAFE_BUT_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def find_postgres(run_pid: int) -> dict[str, Any]:
    """Return a usable PostgreSQL as plain data: the named one, one that runs here, or our own."""
    if named := os.environ.get("ONWARD_TEST_POSTGRES_URL"):
        if not answers(named):
            raise RuntimeError(
                "ONWARD_TEST_POSTGRES_URL: no PostgreSQL answers there for a user who may create "
                "databases"
            )
        say(f"PostgreSQL: the one named by ONWARD_TEST_POSTGRES_URL, {urlsplit(named).hostname}")
        return {"url": named}
    standard = "postgresql://postgres:postgres@127.0.0.1:5432/postgres"
    if listening(5432) and answers(standard):
        say("PostgreSQL: the one that runs on 127.0.0.1:5432")
        return {"url": standard}
    return {"url": start_postgres(run_pid)[0]}


def start_postgres(run_pid: int | None = None, *, durable: bool = False) -> tuple[str, Kept]:
    """Start a PostgreSQL of our own; as root, in the name of the user `postgres`.

    A test's data need not survive a loss of power, and is written faster so; a benchmark's must.
    """
    if not _folders() and program("initdb") is None:
        install("postgresql")
    initdb, server = program("initdb", *_folders()), program("postgres", *_folders())
    if initdb is None or server is None:
        raise MissingError("initdb and postgres are not to be found: install PostgreSQL")
    root = os.geteuid() == 0
    directory, port = room("postgres", UNPRIVILEGED if root else None), free_port()
    data = directory / "data"
    meek = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--init-groups"]
    prefix = meek if root else []
    subprocess.run(
        [*prefix, initdb, "-D", str(data), *INITIALLY],
        check=True,
        capture_output=True,
        cwd=directory,
    )
    settings = ["listen_addresses=127.0.0.1", "max_connections=200"]
    settings += [] if durable else UNSAFE_BUT_FAST
    words = ["-p", str(port), "-k", str(directory), *(w for s in settings for w in ("-c", s))]
    # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client to leave.
    kept = keep(
        [*prefix, server, "-D", str(data), *words],
        directory,
        run_pid=run_pid,
        ending=signal.SIGINT,
    )
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    wait_until(lambda: listening(port) and answers(url), kept, "PostgreSQL")
    say(f"PostgreSQL: started a private one on 127.0.0.1:{port}")
    return url, kept


def answers(url: str) -> bool:
    """Whether its user may log in and create databases."""
    question = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
    try:
        return bool(_ask(url, question))
    except (OSError, asyncpg.PostgresError):
        return False


def new_database(url: str) -> str:
    """Make a database; return the URL to connect to it."""
    name = f"onward_test_{secrets.token_hex(6)}"
    _ask(url, f"CREATE DATABASE {name}")
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def drop_database(url: str, database: str) -> None:
    """Remove a database, whoever is still connected to it."""
    _ask(url, f"DROP DATABASE {urlsplit(database).path[1:]} WITH (FORCE)")


def _folders() -> list[str]:
    """Where the packages of Debian put the programs, newest version first."""
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    return [str(path) for path in sorted(folders, key=lambda p: -float(p.parent.name))]


def _ask(url: str, statement: str) -> object:
    async def ask() -> object:
        connection = await asyncpg.connect(url, timeout=60)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    # Not asyncio.run: it would take the test's own event loop off the thread.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(ask())
    finally:
        loop.close()

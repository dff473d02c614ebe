"""Where a command finds its engine: a server that is named, or a file; and what a refusal means.

4    not logged in, or not allowed
5    there is no such thing, or it cannot be done in the state it is in
6    the time to wait was over; the run goes on
7    the server cannot be reached
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from onward.cli import options
from onward.cli.options import F, option

if TYPE_CHECKING:
    from onward.client import ApiError, AsyncEngine
    from onward.errors import StorageError
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine


FAILED = 1
USAGE = 2
INVALID = 3
DENIED = 4
CONFLICT = 5
TIMED_OUT = 6
UNREACHABLE = 7
INTERRUPTED = 130

Need = Literal["look", "write", "run"]
"""What a command does with a file: look at it, write to it (also to a new one), or run it."""

server = option(
    "--server",
    metavar="URL",
    default=None,
    help="Ask the server at this address, instead of the file.",
)
token = option("--token", metavar="TOKEN", default=None, help="What to show to the server.")
output = option(
    "--output",
    "-o",
    type=click.Choice(["table", "json", "jsonl", "ids"]),
    default="table",
    show_default=True,
    help="A table for people, JSON, a line of JSON for each, or only ids.",
)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An engine: on a server, or in a file."""

    server: str | None
    token: str | None
    database: Path
    key_file: Path = field(default_factory=options.key_file_of_this_place)
    """What `onward dev` seals credentials and signs links with, unless ONWARD_KEY is set."""


Work = Callable[["AsyncEngine"], Awaitable[int]]
"""Ask, print the answer, and return the exit code."""


def place(command: F) -> F:
    """Add the options that say which engine is meant."""
    added: F = server(token(options.database(command)))
    return added


def where(given: dict[str, Any]) -> ServerAddress:
    """Return which engine the options of `place` mean, and take them out of what was given."""
    key_file = given.pop("key_file", None) or options.key_file_of_this_place()
    return ServerAddress(given.pop("server"), given.pop("token"), given.pop("database"), key_file)


def talk(at: ServerAddress, work: Work, *, need: Need = "look", run: str | None = None) -> int:
    """Return what the work ends with; a refusal is told and becomes its exit code."""
    from onward.bootstrap.host import configure_log
    from onward.cli.engines.embedded import new_loop
    from onward.cli.output.run_result import say
    from onward.client.errors import ApiError, RunFailedError
    from onward.errors import StorageError

    configure_log(level="warning")

    async def go() -> int:
        async with engine_at(at, need=need, run=run) as engine:
            return await work(engine)

    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(go())
    except ApiError as problem:
        return _told(problem)
    except RunFailedError as problem:
        say(f"Error: {problem}")
        return FAILED
    except StorageError as problem:
        say(f"Error: {problem}{_hint(problem)}")
        return USAGE


def engine_at(at: ServerAddress, *, need: Need = "look", run: str | None = None) -> AsyncEngine:
    """Return the engine, to be opened."""
    from onward.client import AsyncEngine

    if at.server:
        return AsyncEngine.connect(at.server, at.token)
    from onward.bootstrap.settings import EmbeddedSettings
    from onward.client.transports.in_process import open_file, open_run

    settings = EmbeddedSettings(database=at.database, key_file=at.key_file)
    if need == "run":
        return AsyncEngine(lambda: open_run(settings, run))
    return AsyncEngine(lambda: open_file(settings, create=need == "write"))


def _told(problem: ApiError) -> int:
    from onward.cli.output.run_result import say
    from onward.client.errors import (
        ApiError,
        ConflictError,
        DeniedError,
        InvalidError,
        MissingError,
        UnreachableError,
    )

    say(f"Error: {problem}")
    for place in problem.errors:
        if place.message not in problem.detail or place.hint:
            say(f"  {place.describe()}")
    match problem:
        case DeniedError(code="BAD_LINK"):
            return DENIED
        case DeniedError():
            say("  hint: give --token, or set ONWARD_TOKEN")
            return DENIED
        case MissingError() | ConflictError() | ApiError(status=410):
            return CONFLICT
        case InvalidError(code="INVALID_DEFINITION"):
            return INVALID
        case UnreachableError() | ApiError(status=429):
            return UNREACHABLE
        case _:
            return USAGE


def _hint(problem: StorageError) -> str:
    if "in use by another onward process" not in str(problem):
        return ""
    return "\n  hint: when that is `onward dev`, ask it: --server http://127.0.0.1:8700"


# -- A question to an engine and its answer: what most commands on a server or a file consist of.


Facts = Mapping[str, Any]
Found = AsyncGenerator[dict[str, Any], None]


def tell(
    given: dict[str, Any],
    form: str,
    work: Callable[[AsyncEngine], Awaitable[Any]],
    *,
    id_of: str,
    people: Callable[[Facts], None] | None = None,
    need: Need = "look",
    run: str | None = None,
) -> int:
    """Do one thing, and show what came of it in the form that was asked for.

    `given` has the options of `remote.place`; `people` says it in words.
    """

    async def ask(engine: AsyncEngine) -> int:
        import msgspec

        from onward.cli.output.tables import show_one

        facts = msgspec.to_builtins(await work(engine))
        words = None if people is None else lambda: people(facts)
        show_one(facts, form, id_of=id_of, people=words)
        return 0

    return talk(where(given), ask, need=need, run=run)


def tell_all(
    given: dict[str, Any],
    form: str,
    work: Callable[[AsyncEngine], Found],
    *,
    id_of: str,
    headings: Sequence[str],
    row: Callable[[Facts], Sequence[Cell]],
    limit: int | None = None,
) -> int:
    """Show a list in the form that was asked for, up to a number of lines."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_list

        found = work(engine)
        await show_list(found, form, id_of=id_of, headings=headings, row=row, limit=limit)
        return 0

    return talk(where(given), ask)


def do(
    given: dict[str, Any],
    said: str,
    work: Callable[[AsyncEngine], Awaitable[None]],
    *,
    need: Need = "look",
) -> int:
    """Do one thing that leaves nothing to show, and say so to people."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import say

        await work(engine)
        say(said)
        return 0

    return talk(where(given), ask, need=need)


async def one_by_one(listing: Awaitable[Sequence[Any]]) -> Found:
    """Yield the members of a list that comes whole."""
    for one in await listing:
        yield one


def table_of(
    headings: Sequence[str], row: Callable[[Facts], Sequence[Cell]]
) -> Callable[[Facts], None]:
    """Return what shows one thing to people as a table with one line."""

    def show(facts: Facts) -> None:
        from onward.cli.output.tables import print_table

        print_table(headings, [row(facts)])

    return show

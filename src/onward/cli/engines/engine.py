"""An engine on a server or in a file: the options that name it, asking it, and showing answers.

A command adds `engine_options` and gets an `EngineAddress`. `ask` opens the engine, does some work
with its client, and turns a refusal into an exit code; `show`, `show_all` and `confirm` do the same
for work whose answer is one object, a list, or nothing. `verb_command` makes a whole command of a
single call.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from onward.cli import exit_codes, options
from onward.cli.options import examples, option

if TYPE_CHECKING:
    import asyncio

    from onward.cli.output.tables import Cell
    from onward.client import ApiError, AsyncEngine
    from onward.errors import StorageError

Need = Literal["read", "write", "run"]
"""What a command does with a file: read it, write to it (also to a new one), or execute runs."""
Facts = Mapping[str, Any]
FactsStream = AsyncGenerator[dict[str, Any], None]
Work = Callable[["AsyncEngine"], Awaitable[int]]
"""Ask, print the answer, and return the exit code."""
Row = Callable[[Facts], "Sequence[Cell]"]

server_option = option(
    "--server", metavar="URL", default=None, help="Use the server at this URL, not the file."
)
token_option = option("--token", metavar="TOKEN", default=None, help="The API token for --server.")
output = option(
    "--output",
    "-o",
    "form",
    type=click.Choice(["table", "json", "jsonl", "ids"]),
    default="table",
    show_default=True,
    help="A table, a JSON array, one JSON object per line, or ids only.",
)


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Where an engine is: on a server, or in a file when no server is named."""

    server: str | None
    token: str | None
    database: Path
    form: str = "table"
    """How answers are printed: the value of `--output`."""
    key_file: Path = field(default_factory=options.default_key_file)
    """The key that seals credentials and signs links, unless ONWARD_KEY is set."""


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that name an engine: the command gets them as `engine`."""

    @wraps(command)
    def run(*, server: str | None, token: str | None, database: Path, **given: Any) -> int:
        return command(engine=EngineAddress(server, token, database), **given)

    return server_option(token_option(options.database(run)))


def answer_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--output` and the options that name an engine, for a command that prints answers."""

    @engine_options
    @wraps(command)
    def run(*, engine: EngineAddress, form: str, **given: Any) -> int:
        return command(engine=replace(engine, form=form), **given)

    return output(run)


# -- asking an engine ------------------------------------------------------------------------------


def ask(
    engine: EngineAddress, work: Work, *, need: Need = "read", run_id: str | None = None
) -> int:
    """Do the work with a client of the engine; a refusal is printed and becomes its exit code.

    On a file, `need="run"` executes what the work starts, and `run_id` if that is given.
    """
    import asyncio

    from onward.bootstrap.host import configure_log
    from onward.cli.output.console import say
    from onward.client.errors import ApiError, RunFailedError
    from onward.errors import StorageError

    configure_log(level="warning")

    async def answer() -> int:
        async with client_of(engine, need=need, run_id=run_id) as client:
            return await work(client)

    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(answer())
    except ApiError as problem:
        return _refused(problem)
    except RunFailedError as problem:
        say(f"Error: {problem}")
        return exit_codes.FAILED
    except StorageError as problem:
        say(f"Error: {problem}{_hint(problem)}")
        return exit_codes.USAGE


def client_of(
    engine: EngineAddress, *, need: Need = "read", run_id: str | None = None
) -> AsyncEngine:
    """Return a client of the engine, to be opened."""
    from onward.client import AsyncEngine

    if engine.server:
        return AsyncEngine.connect(engine.server, engine.token)
    from onward.bootstrap.embedded import EmbeddedSettings
    from onward.client.transports.in_process import open_file, open_run

    settings = EmbeddedSettings(engine.database, key_file=engine.key_file)
    if need == "run":
        return AsyncEngine(lambda: open_run(settings, run_id))
    return AsyncEngine(lambda: open_file(settings, create=need == "write"))


def new_loop() -> asyncio.AbstractEventLoop:
    """Return the fastest event loop that is installed."""
    import asyncio

    try:
        import uvloop
    except ImportError:  # an extra: everything works without it, only slower
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _refused(problem: ApiError) -> int:
    """Print a refusal and return its exit code."""
    from onward.cli.output.console import say
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
            return exit_codes.DENIED
        case DeniedError():
            say("  hint: give --token, or set ONWARD_TOKEN")
            return exit_codes.DENIED
        case MissingError() | ConflictError() | ApiError(status=410):
            return exit_codes.CONFLICT
        case InvalidError(code="INVALID_DEFINITION"):
            return exit_codes.INVALID
        case UnreachableError() | ApiError(status=429):
            return exit_codes.UNREACHABLE
        case _:
            return exit_codes.USAGE


def _hint(problem: StorageError) -> str:
    if "in use by another onward process" not in str(problem):
        return ""
    return "\n  hint: if that is `onward dev`, use its API: --server http://127.0.0.1:8700"


# -- answers ---------------------------------------------------------------------------------------


def show(
    engine: EngineAddress,
    work: Callable[[AsyncEngine], Awaitable[Any]],
    *,
    id_of: str,
    people: Callable[[Facts], None] | None = None,
    need: Need = "read",
    run_id: str | None = None,
) -> int:
    """Do one thing and print its result in the form of `--output`; `people` prints the table."""

    async def answer(client: AsyncEngine) -> int:
        import msgspec

        from onward.cli.output.tables import show_one

        facts = msgspec.to_builtins(await work(client))
        show_one(
            facts,
            engine.form,
            id_of=id_of,
            people=None if people is None else lambda: people(facts),
        )
        return exit_codes.OK

    return ask(engine, answer, need=need, run_id=run_id)


def show_all(
    engine: EngineAddress,
    work: Callable[[AsyncEngine], FactsStream],
    *,
    id_of: str,
    headings: Sequence[str],
    row: Row,
    limit: int | None = None,
) -> int:
    """Print a list in the form of `--output`, up to `limit` entries."""

    async def answer(client: AsyncEngine) -> int:
        from onward.cli.output.tables import show_list

        stream = work(client)
        await show_list(stream, engine.form, id_of=id_of, headings=headings, row=row, limit=limit)
        return exit_codes.OK

    return ask(engine, answer)


def confirm(
    engine: EngineAddress,
    message: str,
    work: Callable[[AsyncEngine], Awaitable[None]],
    *,
    need: Need = "read",
) -> int:
    """Do one thing that has no result, and print `message` to standard error."""

    async def answer(client: AsyncEngine) -> int:
        from onward.cli.output.console import say

        await work(client)
        say(message)
        return exit_codes.OK

    return ask(engine, answer, need=need)


async def stream_of(listing: Awaitable[Sequence[Any]]) -> FactsStream:
    """Yield the entries of a list that arrives whole."""
    for entry in await listing:
        yield entry


def table_of(headings: Sequence[str], row: Row) -> Callable[[Facts], None]:
    """Return a function that prints one object as a table of one line."""

    def print_row(facts: Facts) -> None:
        from onward.cli.output.tables import print_table

        print_table(headings, [row(facts)])

    return print_row


# -- commands that are one call --------------------------------------------------------------------


def verb_command(
    words: str,
    help_text: str,
    argument: Callable[[Any], Any],
    call: Callable[[AsyncEngine, str], Awaitable[Any]],
    *,
    sample: str,
    id_of: str,
    people: Callable[[Facts], None],
    need: Need = "read",
) -> click.Command:
    """Return the command that makes one call about one object and prints the object.

    `words` is the whole command (`triggers enable`), `sample` an id for its examples.
    """
    line = f"onward {words} {sample}"

    @click.command(
        name=words.rpartition(" ")[2], help=help_text, epilog=examples(line, f"{line} -o json")
    )
    @argument
    @answer_options
    def command(engine: EngineAddress, **named: str) -> int:
        (name,) = named.values()
        work = lambda client: call(client, name)  # noqa: E731  (one line, used once)
        return show(engine, work, id_of=id_of, people=people, need=need)

    return command


def remove_command(
    words: str,
    help_text: str,
    argument: Callable[[Any], Any],
    call: Callable[[AsyncEngine, str], Awaitable[None]],
    *,
    sample: str,
    message: str = "removed {}",
    need: Need = "read",
) -> click.Command:
    """Return the command that removes one object and prints `message` with its name."""
    line = f"onward {words} {sample}"

    @click.command(
        name=words.rpartition(" ")[2],
        help=help_text,
        epilog=examples(line, f"{line} --server http://onward:8700"),
    )
    @argument
    @engine_options
    def command(engine: EngineAddress, **named: str) -> int:
        (name,) = named.values()
        return confirm(engine, message.format(name), lambda client: call(client, name), need=need)

    return command

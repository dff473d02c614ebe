"""A question to an engine and its answer: what most commands on a server or a file consist of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onward.cli import remote
from onward.cli.remote import Need

if TYPE_CHECKING:
    from onward.api.client import AsyncEngine
    from onward.cli.tables import Cell

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

        from onward.cli.showing import show_one

        facts = msgspec.to_builtins(await work(engine))
        words = None if people is None else lambda: people(facts)
        show_one(facts, form, id_of=id_of, people=words)
        return 0

    return remote.talk(remote.where(given), ask, need=need, run=run)


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
        from onward.cli.showing import show_list

        found = work(engine)
        await show_list(found, form, id_of=id_of, headings=headings, row=row, limit=limit)
        return 0

    return remote.talk(remote.where(given), ask)


def do(
    given: dict[str, Any],
    said: str,
    work: Callable[[AsyncEngine], Awaitable[None]],
    *,
    need: Need = "look",
) -> int:
    """Do one thing that leaves nothing to show, and say so to people."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.answers import say

        await work(engine)
        say(said)
        return 0

    return remote.talk(remote.where(given), ask, need=need)


async def one_by_one(listing: Awaitable[Sequence[Any]]) -> Found:
    """Yield the members of a list that comes whole."""
    for one in await listing:
        yield one


def table_of(
    headings: Sequence[str], row: Callable[[Facts], Sequence[Cell]]
) -> Callable[[Facts], None]:
    """Return what shows one thing to people as a table with one line."""

    def show(facts: Facts) -> None:
        from onward.cli.tables import print_table

        print_table(headings, [row(facts)])

    return show

"""Answers on standard output, in the form that was asked for."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


# -- Tables and lines on standard output: aligned and coloured for people, whole for pipes.


Cell = str | tuple[str, str]
"""Text, or text and its colour."""


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows below their headings.

    A pipe gets tab-separated lines with nothing cut off, a terminal a table that fits it.
    """
    if not sys.stdout.isatty():
        for row in (headings, *rows):
            line = "\t".join(" ".join(_text(cell).split()) for cell in row)
            sys.stdout.write(line + "\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading != "error")
    for row in rows:
        table.add_row(*(Text(_text(cell), style=_colour(cell)) for cell in row))
    Console().print(table)


def print_line(text: str, colour: str) -> None:
    """Print one line, coloured on a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.write(text + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(text, style=colour))


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _colour(cell: Cell) -> str:
    return "" if isinstance(cell, str) else cell[1]


COLOURS = {
    "completed": "green",
    "success": "green",
    "running": "cyan",
    "waiting": "yellow",
    "paused": "yellow",
    "queued": "yellow",
    "failed": "red",
    "halted": "red",
    "cancelled": "yellow",
}
Row = Callable[[Mapping[str, Any]], Sequence["Cell"]]


async def show_list(
    found: AsyncGenerator[dict[str, Any], None],
    form: str,
    *,
    id_of: str,
    headings: Sequence[str],
    row: Row,
    limit: int | None = None,
) -> None:
    """Print a list as a table, JSON, lines of JSON, or ids; lines as soon as they are known."""
    from onward.cli.output.run_result import print_json

    kept: list[dict[str, Any]] = []
    count = 0
    async with aclosing(found):
        async for one in found:
            count += 1
            if form == "jsonl":
                print_json(one)
            elif form == "ids":
                sys.stdout.write(f"{one[id_of]}\n")
            else:
                kept.append(one)
            if limit is not None and count >= limit:
                break
    if form == "json":
        print_json(kept)
    elif form == "table":
        print_table(headings, [row(one) for one in kept])


def show_known(
    items: Sequence[Mapping[str, Any]],
    form: str,
    *,
    id_of: str,
    headings: Sequence[str],
    row: Row,
) -> None:
    """Print a list that is known whole."""
    from onward.cli.output.run_result import print_json

    match form:
        case "json":
            print_json(items)
        case "table":
            print_table(headings, [row(item) for item in items])
        case _:
            for item in items:
                if form == "jsonl":
                    print_json(item)
                else:
                    sys.stdout.write(f"{item[id_of]}\n")


def show_one(
    one: Mapping[str, Any], form: str, *, id_of: str, people: Callable[[], None] | None = None
) -> None:
    """Print one thing: for people in words if there are any, else as JSON."""
    from onward.cli.output.run_result import print_json, print_pretty

    match form:
        case "ids":
            sys.stdout.write(f"{one[id_of]}\n")
        case "table" if people is not None:
            people()
        case "table":
            print_pretty(one)
        case _:
            print_json(one)


def brief(value: Any) -> str:
    """Return a value as JSON that fits into a cell of a table."""
    import msgspec

    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:59]}…"


def moment(text: str | None) -> str:
    """Return a time as a table shows it."""
    return "" if text is None else text[:19].replace("T", " ")


def took(one: Mapping[str, Any], key: str = "duration_ms") -> str:
    """Return a duration as a table shows it; empty while it is not known."""
    from onward.cli.output.durations import seconds

    return "" if one.get(key) is None else seconds(one[key])


def status(one: Mapping[str, Any]) -> Cell:
    """Return a status in its colour."""
    return (str(one["status"]), COLOURS.get(str(one["status"]), ""))

"""Lists and objects on standard output, in the form of `--output`.

Tables are aligned and coloured on a terminal; a pipe gets whole, tab-separated lines.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

Cell = str | tuple[str, str]
"""Text, or text and its colour."""
Row = Callable[[Mapping[str, Any]], Sequence[Cell]]

LONGEST_CELL = 60
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


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows below their headings: a table that fits a terminal, tab-separated in a pipe."""
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


# -- the forms of `--output` -----------------------------------------------------------------------


async def show_list(
    stream: AsyncGenerator[dict[str, Any], None],
    form: str,
    *,
    id_of: str,
    headings: Sequence[str],
    row: Row,
    limit: int | None = None,
) -> None:
    """Print a list that arrives entry by entry; `jsonl` and `ids` are printed as they arrive."""
    entries: list[dict[str, Any]] = []
    count = 0
    async with aclosing(stream):
        async for entry in stream:
            count += 1
            if form in ("jsonl", "ids"):
                _show_entry(entry, form, id_of)
            else:
                entries.append(entry)
            if limit is not None and count >= limit:
                break
    if form in ("json", "table"):
        show_known(entries, form, id_of=id_of, headings=headings, row=row)


def show_known(
    entries: Sequence[Mapping[str, Any]],
    form: str,
    *,
    id_of: str,
    headings: Sequence[str],
    row: Row,
) -> None:
    """Print a list that is complete."""
    from onward.cli.output.console import print_json

    match form:
        case "json":
            print_json(entries)
        case "table":
            print_table(headings, [row(entry) for entry in entries])
        case _:
            for entry in entries:
                _show_entry(entry, form, id_of)


def show_one(
    facts: Mapping[str, Any], form: str, *, id_of: str, people: Callable[[], None] | None = None
) -> None:
    """Print one object; `people` prints it for people, otherwise they get indented JSON."""
    from onward.cli.output.console import print_pretty

    if form == "table" and people is not None:
        people()
    elif form == "table":
        print_pretty(facts)
    else:
        _show_entry(facts, form, id_of)


def _show_entry(facts: Mapping[str, Any], form: str, id_of: str) -> None:
    from onward.cli.output.console import print_json

    if form == "ids":
        sys.stdout.write(f"{facts[id_of]}\n")
    else:
        print_json(facts)


# -- cells -----------------------------------------------------------------------------------------


def json_cell(value: Any) -> str:
    """Return a value as JSON, shortened to fit into a cell."""
    import msgspec

    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def time_cell(text: str | None) -> str:
    """Return a time without its fraction and zone."""
    return "" if text is None else text[:19].replace("T", " ")


def duration_cell(facts: Mapping[str, Any], key: str = "duration_ms") -> str:
    """Return a duration; empty while it is not known."""
    from onward.cli.output.durations import seconds

    return "" if facts.get(key) is None else seconds(facts[key])


def status_cell(facts: Mapping[str, Any]) -> Cell:
    """Return a status in its colour."""
    return (str(facts["status"]), COLOURS.get(str(facts["status"]), ""))


def error_cell(error: Mapping[str, Any] | None) -> Cell:
    """Return an error with its code, in red."""
    return (f"{error['message']} [{error['code']}]" if error else "", "red")

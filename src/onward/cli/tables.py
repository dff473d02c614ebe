"""Tables and lines on standard output: aligned and coloured for people, whole for pipes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

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

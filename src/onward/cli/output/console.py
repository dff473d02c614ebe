"""Printing: JSON to standard output, lines for people to standard error."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec


def print_json(value: Any) -> None:
    """Write `value` to standard output as one line of JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def print_pretty(value: Any) -> None:
    """Write `value` to standard output as indented JSON."""
    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """Write a line for people to standard error."""
    click.echo(text, err=True)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: `1 run`, `2 runs`."""
    return f"{number} {noun}{'s' * (number != 1)}"

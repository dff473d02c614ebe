"""The fields of a credential: from options, from prompts, or from standard input."""

from __future__ import annotations

import sys

import click


def read_fields(pairs: tuple[str, ...]) -> dict[str, object]:
    """Return the fields; UsageError when there are none."""
    return _from_options(pairs) if pairs else _from_terminal() or _from_input()


def _from_options(pairs: tuple[str, ...]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            # The text itself may be a secret that was given in the wrong form.
            raise click.UsageError("--field must be KEY=VALUE")
        fields[key] = value
    return fields


def _from_terminal() -> dict[str, object]:
    fields: dict[str, object] = {}
    while sys.stdin.isatty():
        key = click.prompt("Field (empty to finish)", default="", show_default=False, err=True)
        if not key:
            break
        fields[key] = click.prompt(f"Value of {key}", hide_input=True, err=True)
    return fields


def _from_input() -> dict[str, object]:
    import msgspec

    if sys.stdin.isatty():
        raise click.UsageError("a credential needs at least one field")
    try:
        return msgspec.json.decode(sys.stdin.buffer.read(), type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise click.UsageError("standard input must hold one JSON object of fields") from None

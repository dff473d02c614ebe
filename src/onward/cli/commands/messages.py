"""`onward messages`: the wire format, for programs that produce or consume messages."""

from __future__ import annotations

import click

from onward.cli import exit_codes
from onward.cli.options import examples


@click.group(
    epilog=examples(
        "onward messages schema", "onward messages schema CompletionMessage > schema.json"
    )
)
def messages() -> None:
    """Print the JSON Schemas of the messages on the queues."""


@messages.command(
    epilog=examples("onward messages schema", "onward messages schema NodeStatusMessage | jq .")
)
@click.argument("name", required=False)
def schema(name: str | None) -> int:
    """Print the JSON Schema of the message NAME, or an object with all of them."""
    from onward.cli.output.console import print_pretty
    from onward.kernel.messages import message_schemas

    known = message_schemas()
    if name is not None and name not in known:
        raise click.UsageError(f"there is no message {name!r}: there are {', '.join(known)}")
    print_pretty(known if name is None else known[name])
    return exit_codes.OK

"""`onward messages`: the wire format, for whoever produces or consumes it."""

from __future__ import annotations

import click

from onward.cli.options import examples


@click.group(
    epilog=examples(
        "onward messages schema", "onward messages schema CompletionMessage > schema.json"
    )
)
def messages() -> None:
    """Learn about the messages that runs are made of."""


@messages.command(
    epilog=examples("onward messages schema", "onward messages schema NodeStatusMessage | jq .")
)
@click.argument("name", required=False)
def schema(name: str | None) -> int:
    """Print the JSON Schema of message NAME, or of all messages in one object by name."""
    from onward.cli.output.run_result import print_pretty
    from onward.kernel.messages import message_schemas

    known = message_schemas()
    if name is not None and name not in known:
        raise click.UsageError(f"there is no message {name!r}: known are {', '.join(known)}")
    print_pretty(known if name is None else known[name])
    return 0

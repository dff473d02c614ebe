"""`onward quarantine`: inspect messages that could not be handled, release or discard them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.engines.cluster import ClusterAddress, anywhere_options
from onward.cli.engines.engine import EngineAddress, output
from onward.cli.engines.quarantine import ask_quarantine
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.engines.quarantine import Quarantine
    from onward.cli.output.tables import Cell

_HEADINGS = ("number", "since", "run", "node", "error")
_every = option("--all", "every", is_flag=True, help="All messages in quarantine.")
_numbers = click.argument("numbers", type=click.IntRange(1), nargs=-1, metavar="[NUMBER]...")


@click.group(epilog=examples("onward quarantine ls", "onward quarantine show 1"))
def quarantine() -> None:
    """Inspect, release or discard messages that could not be handled.

    A message has a number: its position. The messages are those of a server (--server), of a
    cluster whose services are given, or of the database file.
    """


@quarantine.command(
    name="ls",
    epilog=examples(
        "onward quarantine ls", "onward quarantine ls --json | jq '.[] | .execution_id'"
    ),
)
@options.as_json
@output
@anywhere_options
def list_messages(as_json: bool, form: str, place: EngineAddress | ClusterAddress) -> int:
    """List the messages, oldest first."""

    async def work(quarantine: Quarantine) -> int:
        _print_messages(await quarantine.messages(), "json" if as_json else form)
        return exit_codes.OK

    return ask_quarantine(place, work)


@quarantine.command(epilog=examples("onward quarantine show 1", "onward quarantine show 1 --json"))
@click.argument("number", type=click.IntRange(1))
@options.as_json
@anywhere_options
def show(number: int, as_json: bool, place: EngineAddress | ClusterAddress) -> int:
    """Show a message, its content, and when and why it was quarantined."""
    from onward.cli.output.console import print_json, print_pretty

    async def work(quarantine: Quarantine) -> int:
        (print_json if as_json else print_pretty)(await quarantine.message(number))
        return exit_codes.OK

    return ask_quarantine(place, work)


@quarantine.command(
    epilog=examples("onward quarantine release 1 2", "onward quarantine release --all")
)
@_numbers
@_every
@option("--force", is_flag=True, help="Also release messages of runs that have ended.")
@anywhere_options
def release(
    numbers: tuple[int, ...], every: bool, force: bool, place: EngineAddress | ClusterAddress
) -> int:
    """Send messages to the workers again, as if for the first time.

    A run fails when one of its messages is quarantined, and ignores the message afterwards: it is
    released only with --force. Start the run again instead.
    """
    from onward.cli.output.console import count_of, say

    chosen = _chosen(numbers, every=every)

    async def work(quarantine: Quarantine) -> int:
        count = await quarantine.release(chosen, force=force)
        say(f"released {count_of(count, 'message')}")
        return exit_codes.OK

    return ask_quarantine(place, work)


@quarantine.command(
    epilog=examples("onward quarantine discard 1", "onward quarantine discard --all --dry-run")
)
@_numbers
@_every
@option("--dry-run", is_flag=True, help="Only list the messages.")
@option("--yes", is_flag=True, help="Do not ask for confirmation.")
@anywhere_options
def discard(
    numbers: tuple[int, ...],
    every: bool,
    dry_run: bool,
    yes: bool,
    place: EngineAddress | ClusterAddress,
) -> int:
    """Delete messages for good."""
    from onward.cli.output.console import count_of, say

    chosen = _chosen(numbers, every=every)
    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise click.UsageError("discarded messages are lost: add --yes")
        what = "all messages in quarantine" if every else count_of(len(set(numbers)), "message")
        click.confirm(f"Discard {what} for good?", abort=True, err=True)

    async def work(quarantine: Quarantine) -> int:
        if not dry_run:
            count = await quarantine.discard(chosen)
            say(f"discarded {count_of(count, 'message')}")
            return exit_codes.OK
        messages = [
            message
            for message in await quarantine.messages()
            if chosen is None or message["number"] in chosen
        ]
        _print_messages(messages, "table")
        say(f"would discard {count_of(len(messages), 'message')}")
        return exit_codes.OK

    return ask_quarantine(place, work)


def _chosen(numbers: tuple[int, ...], *, every: bool) -> tuple[int, ...] | None:
    """Return the numbers, or None for all; UsageError unless one of them is given."""
    if every == bool(numbers):
        raise click.UsageError(
            "give the numbers of messages or --all; `onward quarantine ls` lists them"
        )
    return None if every else numbers


def _print_messages(messages: list[dict[str, Any]], form: str) -> None:
    from onward.cli.output.tables import show_known

    show_known(messages, form, id_of="number", headings=_HEADINGS, row=_row)


def _row(message: Mapping[str, Any]) -> list[Cell]:
    return [
        str(message["number"]),
        message["at"],
        message["execution_id"],
        message["node"],
        (message["reason"], "red"),
    ]

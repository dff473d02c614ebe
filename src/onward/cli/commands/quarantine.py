"""
`onward quarantine`: look at messages that were put aside, send them once more, or discard them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.engines import cluster
from onward.cli.engines.quarantine import at_desk
from onward.cli.engines.server import output, place
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.engines.quarantine import QuarantineAccess
    from onward.cli.output.tables import Cell

_HEADINGS = ("number", "since", "run", "node", "error")
_every = option("--all", "every", is_flag=True, help="Every message in quarantine.")
_numbers = click.argument("numbers", type=click.IntRange(1), nargs=-1, metavar="[NUMBER]...")


def _anywhere(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say where the quarantine is: on a server, a cluster, or in a file."""
    return place(cluster.optional_services(click.pass_context(command)))


@click.group(epilog=examples("onward quarantine ls", "onward quarantine show 1"))
def quarantine() -> None:
    """Decide about messages that could not be handled. Each has a number: its position.

    The messages are those of a server (--server), of a cluster whose services are given, or else
    of the file.
    """


@quarantine.command(
    name="ls",
    epilog=examples(
        "onward quarantine ls", "onward quarantine ls --json | jq '.[] | .execution_id'"
    ),
)
@options.as_json
@output
@_anywhere
def list_all(context: click.Context, as_json: bool, output: str, **given: Any) -> int:
    """List the messages, oldest first."""

    async def ask(desk: QuarantineAccess) -> int:
        from onward.cli.output.tables import show_known

        found = await desk.everything()
        form = "json" if as_json else output
        show_known(found, form, id_of="number", headings=_HEADINGS, row=_row)
        return 0

    return at_desk(ask, context, given)


@quarantine.command(epilog=examples("onward quarantine show 1", "onward quarantine show 1 --json"))
@click.argument("number", type=click.IntRange(1))
@options.as_json
@_anywhere
def show(context: click.Context, number: int, as_json: bool, **given: Any) -> int:
    """Show a message: when and why it was put aside, and what it says."""
    from onward.cli.output.run_result import print_json, print_pretty

    async def ask(desk: QuarantineAccess) -> int:
        (print_json if as_json else print_pretty)(await desk.one(number))
        return 0

    return at_desk(ask, context, given)


@quarantine.command(
    epilog=examples("onward quarantine release 1 2", "onward quarantine release --all")
)
@_numbers
@_every
@option("--force", is_flag=True, help="Also messages of runs that have ended.")
@_anywhere
def release(
    context: click.Context, numbers: tuple[int, ...], every: bool, force: bool, **given: Any
) -> int:
    """Send messages to the workers once more, as if for the first time.

    A run has ended as failed when a message of it was quarantined, and then drops it: such a
    message is not released unless --force is given. Start the run again instead.
    """
    from onward.cli.output.run_result import say

    chosen = _chosen(numbers, every=every)

    async def ask(desk: QuarantineAccess) -> int:
        say(f"released {_messages(await desk.release(chosen, force=force))}")
        return 0

    return at_desk(ask, context, given)


@quarantine.command(
    epilog=examples("onward quarantine discard 1", "onward quarantine discard --all --dry-run")
)
@_numbers
@_every
@option("--dry-run", is_flag=True, help="Only list the messages that are meant.")
@option("--yes", is_flag=True, help="Do not ask.")
@_anywhere
def discard(
    context: click.Context,
    numbers: tuple[int, ...],
    every: bool,
    dry_run: bool,
    yes: bool,
    **given: Any,
) -> int:
    """Throw messages away for good."""
    from onward.cli.output.run_result import say

    chosen = _chosen(numbers, every=every)
    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise click.UsageError("what is discarded is gone: add --yes")
        what = "every message in quarantine" if every else _messages(len(set(numbers)))
        click.confirm(f"Discard {what} for good?", abort=True, err=True)

    async def ask(desk: QuarantineAccess) -> int:
        from onward.cli.output.tables import show_known

        if not dry_run:
            say(f"discarded {_messages(await desk.discard(chosen))}")
            return 0
        found = [
            one for one in await desk.everything() if chosen is None or one["number"] in chosen
        ]
        headings = ("number", "since", "run", "node", "error")
        show_known(found, "table", id_of="number", headings=headings, row=_row)
        say(f"would discard {_messages(len(found))}")
        return 0

    return at_desk(ask, context, given)


def _chosen(numbers: tuple[int, ...], *, every: bool) -> tuple[int, ...] | None:
    """Return the numbers, or None for all; UsageError unless it is one or the other."""
    if every == bool(numbers):
        raise click.UsageError(
            "give the numbers of messages or --all; `onward quarantine ls` shows them"
        )
    return None if every else numbers


def _messages(count: int) -> str:
    return f"{count} message{'s' * (count != 1)}"


def _row(one: Mapping[str, Any]) -> list[Cell]:
    return [str(one["number"]), one["at"], one["execution_id"], one["node"], (one["reason"], "red")]

"""`weft quarantine`: look at messages that were put aside, send them once more, or discard them."""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING, Any

import click

from weft.cli import cluster, options
from weft.cli.options import examples, option

if TYPE_CHECKING:
    from weft.bootstrap.distributed import Cluster
    from weft.runtime.releasing import Held

_every = option("--all", "every", is_flag=True, help="Every message in quarantine.")


@click.group(epilog=examples("weft quarantine ls", "weft quarantine show 1"))
def quarantine() -> None:
    """Decide about messages that could not be handled. Each has a number: its position."""


@quarantine.command(
    name="ls",
    epilog=examples("weft quarantine ls", "weft quarantine ls --json | jq '.[] | .execution_id'"),
)
@options.as_json
@cluster.services
def list_all(as_json: bool, **places: Any) -> int:
    """List the messages, oldest first."""
    from weft.cli.answers import print_json
    from weft.cli.asking import ask_cluster
    from weft.cli.tables import print_table

    async def ask(at: Cluster) -> int:
        async with at.quarantine() as desk:
            found = await desk.everything()
        if as_json:
            print_json([_facts(one) for one in found])
        else:
            rows = [
                (str(one.number), one.at, one.execution_id, one.node, (one.reason, "red"))
                for one in found
            ]
            print_table(("number", "since", "run", "node", "error"), rows)
        return 0

    return ask_cluster(ask, **places)


@quarantine.command(epilog=examples("weft quarantine show 1", "weft quarantine show 1 --json"))
@click.argument("number", type=click.IntRange(1))
@options.as_json
@cluster.services
def show(number: int, as_json: bool, **places: Any) -> int:
    """Show a message: when and why it was put aside, and what it says."""
    from weft.cli.answers import print_json, print_pretty
    from weft.cli.asking import ask_cluster
    from weft.errors import InputError

    async def ask(at: Cluster) -> int:
        async with at.quarantine() as desk:
            found = await desk.everything()
        if number > len(found):
            there = f"it holds {len(found)}" if found else "it is empty"
            raise InputError(f"there is no message {number} in quarantine: {there}")
        whole = {**_facts(found[number - 1]), **_message(found[number - 1])}
        (print_json if as_json else print_pretty)(whole)
        return 0

    return ask_cluster(ask, **places)


@quarantine.command(epilog=examples("weft quarantine release 1 2", "weft quarantine release --all"))
@click.argument("numbers", type=click.IntRange(1), nargs=-1, metavar="[NUMBER]...")
@_every
@option("--force", is_flag=True, help="Also messages of runs that have ended.")
@cluster.services
def release(numbers: tuple[int, ...], every: bool, force: bool, **places: Any) -> int:
    """Send messages to the workers once more, as if for the first time.

    A run has ended as failed when a message of it was quarantined, and then drops it: such a
    message is not released unless --force is given. Start the run again instead.
    """
    from weft.cli.answers import say
    from weft.cli.asking import ask_cluster

    chosen = _chosen(numbers, every=every)

    async def ask(at: Cluster) -> int:
        async with at.quarantine() as desk:
            done = await desk.release(chosen, force=force)
        say(f"released {_messages(len(done))}")
        return 0

    return ask_cluster(ask, **places)


@quarantine.command(epilog=examples("weft quarantine discard 1", "weft quarantine discard --all"))
@click.argument("numbers", type=click.IntRange(1), nargs=-1, metavar="[NUMBER]...")
@_every
@option("--yes", is_flag=True, help="Do not ask.")
@cluster.services
def discard(numbers: tuple[int, ...], every: bool, yes: bool, **places: Any) -> int:
    """Throw messages away for good."""
    from weft.cli.answers import say
    from weft.cli.asking import ask_cluster

    chosen = _chosen(numbers, every=every)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("what is discarded is gone: add --yes")
        what = "every message in quarantine" if every else _messages(len(set(numbers)))
        click.confirm(f"Discard {what} for good?", abort=True, err=True)

    async def ask(at: Cluster) -> int:
        async with at.quarantine() as desk:
            done = await desk.discard(chosen)
        say(f"discarded {_messages(len(done))}")
        return 0

    return ask_cluster(ask, **places)


def _chosen(numbers: tuple[int, ...], *, every: bool) -> tuple[int, ...] | None:
    """Return the numbers, or None for all; UsageError unless it is one or the other."""
    if every == bool(numbers):
        raise click.UsageError(
            "give the numbers of messages or --all; `weft quarantine ls` shows them"
        )
    return None if every else numbers


def _messages(count: int) -> str:
    return f"{count} message{'s' * (count != 1)}"


def _facts(one: Held) -> dict[str, Any]:
    return {
        "number": one.number,
        "at": one.at,
        "execution_id": one.execution_id,
        "node": one.node,
        "reason": one.reason,
        "bytes": len(one.body),
    }


def _message(one: Held) -> dict[str, Any]:
    """Return the message as JSON, or in base64 when it is none."""
    import msgspec

    try:
        return {"message": msgspec.json.decode(one.body)}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {"base64": base64.b64encode(one.body).decode()}

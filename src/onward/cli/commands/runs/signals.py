"""`onward runs signal`, `signals`, `waits` and `callback`: what reaches a run from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.runs.selection import SAMPLE_RUN, run_argument
from onward.cli.engines.engine import (
    EngineAddress,
    answer_options,
    show,
    show_all,
    stream_of,
    table_of,
)
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell

_SIGNALS = ("signal", "key", "sent", "from", "payload")
_WAITS = ("node", "item", "for", "decided", "until", "link")
_LINK = re.compile(r"(?P<server>https?://[^/?#]+)(?P<path>/[^?#]*)")
_payload = options.value("The payload: the output of the waiting node.  [default: null]")


@click.command(
    epilog=examples(
        f"onward runs signal {SAMPLE_RUN} paid -i amount:=120 --once invoice-17",
        f"onward runs signal {SAMPLE_RUN} shipped --key 'orders[3]' --server http://onward:8700",
    )
)
@run_argument
@click.argument("name", metavar="SIGNAL")
@_payload
@option(
    "--key",
    envvar="ONWARD_SIGNAL_KEY",
    metavar="TEXT",
    default="",
    help="Which wait for the signal; inside a split the item, such as users[5].",
)
@option("--once", metavar="TEXT", default=None, help="Send the signal only once for this text.")
@answer_options
def signal(
    execution_id: str,
    name: str,
    value: Any,
    key: str,
    once: str | None,
    engine: EngineAddress,
) -> int:
    """Send SIGNAL to a run. It is stored until a node waits for it."""
    return show(
        engine,
        lambda client: client.run(execution_id).signal(name, value, key=key, signal_id=once),
        id_of="signal_id",
        people=table_of(_SIGNALS, _signal_row),
        need="run",
        run_id=execution_id,
    )


@click.command(
    epilog=examples(
        f"onward runs signals {SAMPLE_RUN}",
        f"onward runs signals {SAMPLE_RUN} -o jsonl | jq .payload",
    )
)
@run_argument
@answer_options
def signals(execution_id: str, engine: EngineAddress) -> int:
    """List the signals that were sent to a run, in order."""
    return show_all(
        engine,
        lambda client: client.run(execution_id).signals(),
        id_of="signal_id",
        headings=_SIGNALS,
        row=_signal_row,
    )


@click.command(
    epilog=examples(
        f"onward runs waits {SAMPLE_RUN}",
        f"onward runs waits {SAMPLE_RUN} -o json | jq '.[].links'",
    )
)
@run_argument
@answer_options
def waits(execution_id: str, engine: EngineAddress) -> int:
    """List the signals and approvals that a run waits for, with the signed links that give them.

    A link works for everyone who has it: share it only with the person it is for.
    """
    return show_all(
        engine,
        lambda client: stream_of(client.run(execution_id).waits()),
        id_of="node_id",
        headings=_WAITS,
        row=_wait_row,
    )


@click.command(
    epilog=examples(
        "onward runs callback http://onward:8700/api/v1/callbacks/eyJ... -i amount:=120",
        "onward runs callback http://onward:8700/api/v1/callbacks/eyJ... --input @paid.json",
    )
)
@click.argument("link")
@_payload
@answer_options
def callback(link: str, value: Any, engine: EngineAddress) -> int:
    """Complete a wait by its signed LINK, which `waits` lists. Repeating it has no effect."""

    def people(sent: Mapping[str, Any]) -> None:
        click.echo(f"signal {sent['signal']} was sent to {sent['execution_id']}")

    return show(
        engine_of_link(link, engine),
        lambda client: client.call_back(link, value),
        id_of="execution_id",
        people=people,
    )


def _signal_row(signal: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import json_cell, time_cell

    payload = json_cell(signal["payload"]) if signal["payload_carried"] else "(large)"
    sent_at = time_cell(signal["sent_at"])
    return [signal["signal"], signal["key"], sent_at, signal["sender"], payload]


def _wait_row(wait: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import time_cell

    what = {
        "signal": f"signal {wait['signal']}{' ' + wait['key'] if wait['key'] else ''}",
        "approval": wait["message"] or "a decision",
        "run": f"run {wait['execution_id']}",
        "event": "an event",
    }[wait["kind"]]
    decided = f"{len(wait['decisions'])} of {wait['required']}" if wait["required"] else ""
    links = [f"{link['approver']}: {link['url']}" for link in wait["links"]]
    link = wait["callback_url"] or "\n".join(links) or wait["no_links"] or ""
    return [wait["node_id"], wait["item"], what, decided, time_cell(wait["expires_at"]), link]


# -- signed links ----------------------------------------------------------------------------------


def is_link(text: str) -> bool:
    """Return whether a text is a link, and not the id of a run."""
    return _LINK.fullmatch(text) is not None


def engine_of_link(link: str, engine: EngineAddress) -> EngineAddress:
    """Return the server of a link, unless another one is named.

    A link needs no token: one is sent only to a server that is named.
    """
    if engine.server:
        return engine
    found = _LINK.fullmatch(link)
    if found is None:
        raise click.UsageError(f"{link[:80]!r} is not a link: it begins with http:// or https://")
    prefix = found["path"].partition("/api/v1/")[0]
    return replace(engine, server=found["server"] + prefix, token=None)

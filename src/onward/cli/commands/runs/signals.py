"""`onward runs signal`, `signals`, `waits` and `callback`: what reaches a run from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.runs.selection import RUN, execution
from onward.cli.engines import server
from onward.cli.engines.server import one_by_one, output, place, table_of, tell, tell_all
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
import re

_SIGNALS = ("signal", "key", "sent", "from", "payload")
_WAITS = ("node", "item", "for", "decided", "until", "link")


@click.command(
    epilog=examples(
        f"onward runs signal {RUN} paid -i amount:=120 --once invoice-17",
        f"onward runs signal {RUN} shipped --key 'orders[3]' --server http://onward:8700",
    )
)
@execution
@click.argument("name", metavar="SIGNAL")
@options.value("What it brings: the output of the node that waits.  [default: null]")
@option(
    "--key",
    envvar="ONWARD_SIGNAL_KEY",
    metavar="TEXT",
    default="",
    help="Which of the waits for it; inside a split the item, such as users[5].",
)
@option("--once", metavar="TEXT", default=None, help="Sending again with the same text is once.")
@output
@place
def signal(
    execution_id: str, name: str, key: str, once: str | None, output: str, **given: Any
) -> int:
    """Send SIGNAL to a run. A signal that nobody waits for yet is kept."""
    from onward.cli.input.run_input import read_if_given

    value = read_if_given(given.pop("whole"), given.pop("pairs"))
    return tell(
        given,
        output,
        lambda engine: engine.run(execution_id).signal(name, value, key=key, signal_id=once),
        id_of="signal_id",
        people=table_of(_SIGNALS, _sent),
        need="run",
        run=execution_id,
    )


@click.command(
    epilog=examples(
        f"onward runs signals {RUN}", f"onward runs signals {RUN} -o jsonl | jq .payload"
    )
)
@execution
@output
@place
def signals(execution_id: str, output: str, **given: Any) -> int:
    """List the signals that were sent to a run, in their order."""
    return tell_all(
        given,
        output,
        lambda engine: engine.run(execution_id).signals(),
        id_of="signal_id",
        headings=_SIGNALS,
        row=_sent,
    )


@click.command(
    epilog=examples(f"onward runs waits {RUN}", f"onward runs waits {RUN} -o json | jq '.[].links'")
)
@execution
@output
@place
def waits(execution_id: str, output: str, **given: Any) -> int:
    """List what a run waits for from outside, with the signed links that end each wait.

    Whoever has a link may use it: hand it only to whom it is for. `onward approvals` decides here.
    """
    return tell_all(
        given,
        output,
        lambda engine: one_by_one(engine.run(execution_id).waits()),
        id_of="node_id",
        headings=_WAITS,
        row=_waited,
    )


@click.command(
    epilog=examples(
        "onward runs callback http://onward:8700/api/v1/callbacks/eyJ... -i amount:=120",
        "onward runs callback http://onward:8700/api/v1/callbacks/eyJ... --input @paid.json",
    )
)
@click.argument("link")
@options.value("What it brings: the output of the node that waits.  [default: null]")
@output
@place
def callback(link: str, output: str, **given: Any) -> int:
    """Resume a wait by the signed LINK that `waits` tells; again is the same as once."""
    from onward.cli.input.run_input import read_if_given
    from onward.cli.output.tables import show_one

    value = read_if_given(given.pop("whole"), given.pop("pairs"))

    async def ask(engine: Any) -> int:
        taken = await engine.call_back(link, value)
        said = f"signal {taken['signal']} was sent to {taken['execution_id']}"
        show_one(taken, output, id_of="execution_id", people=lambda: click.echo(said))
        return 0

    return server.talk(where_of(link, given), ask)


def _sent(one: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import brief, moment

    payload = brief(one["payload"]) if one["payload_carried"] else "(large)"
    return [one["signal"], one["key"], moment(one["sent_at"]), one["sender"], payload]


def _waited(one: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import moment

    what = {
        "signal": f"signal {one['signal']}{' ' + one['key'] if one['key'] else ''}",
        "approval": one["message"] or "a decision",
        "run": f"run {one['execution_id']}",
        "event": "an event",
    }[one["kind"]]
    decided = f"{len(one['decisions'])} of {one['required']}" if one["required"] else ""
    links = [f"{each['approver']}: {each['url']}" for each in one["links"]]
    link = one["callback_url"] or "\n".join(links) or one["no_links"] or ""
    return [one["node_id"], one["item"], what, decided, moment(one["expires_at"]), link]


# -- Signed links, and the server that they are for.


_LINK = re.compile(r"(?P<server>https?://[^/?#]+)(?P<path>/[^?#]*)")


def is_link(text: str) -> bool:
    """Return whether something is a link, and not the id of a run."""
    return _LINK.fullmatch(text) is not None


def where_of(link: str, given: dict[str, Any]) -> server.ServerAddress:
    """Return the server that a link is for, unless another one is named.

    Whoever has a link needs nothing else: a token is shown only to a server that is named.
    """
    at = server.where(given)
    found = _LINK.fullmatch(link)
    if at.server:
        return at
    if found is None:
        raise click.UsageError(f"{link[:80]!r} is no link: it begins with http:// or https://")
    before = found["path"].partition("/api/v1/")[0]
    return server.ServerAddress(found["server"] + before, None, at.database)

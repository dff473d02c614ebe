"""`onward audit`: who changed what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from onward.cli.engines.server import output, place, tell_all
from onward.cli.options import examples, option

_HEADINGS = ("at", "who", "did", "to", "from")


@click.command(
    epilog=examples(
        "onward audit --target 'workflow order'",
        "onward audit --actor user:ada --limit 500 --server http://onward:8700 -o jsonl",
    )
)
@option("--actor", metavar="TEXT", default="", help="Only by them: user:ada, token:ci, cli:ada.")
@option("--action", metavar="TEXT", default="", help="Only this: cancel_run, create_token.")
@option("--target", metavar="TEXT", default="", help="Only to this: 'run ID', 'workflow ID'.")
@option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The most to list.")
@output
@place
def audit(actor: str, action: str, target: str, limit: int, output: str, **given: Any) -> int:
    """List changes, newest first: who did what to which thing, when and from where."""
    return tell_all(
        given,
        output,
        lambda engine: engine.audit(actor=actor, action=action, target=target),
        id_of="seq",
        headings=_HEADINGS,
        row=_row,
        limit=limit,
    )


def _row(one: Mapping[str, Any]) -> list[str]:
    from onward.cli.output.tables import moment

    return [moment(one["at"]), one["actor"], one["action"], one["target"], one["origin"]]

"""`onward audit`: who changed what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from onward.cli import options
from onward.cli.engines.engine import (
    EngineAddress,
    answer_options,
    show_all,
)
from onward.cli.options import examples, option

_HEADINGS = ("at", "who", "did", "to", "from")


@click.command(
    epilog=examples(
        "onward audit --target 'workflow order'",
        "onward audit --actor user:ada --limit 500 --server http://onward:8700 -o jsonl",
    )
)
@option("--actor", metavar="TEXT", default="", help="Only by user:ada, token:ci or cli:ada.")
@option("--action", metavar="TEXT", default="", help="Only this action, such as cancel_run.")
@option("--target", metavar="TEXT", default="", help="Only on 'run ID', 'workflow ID' or the like.")
@options.limit
@answer_options
def audit(actor: str, action: str, target: str, limit: int, engine: EngineAddress) -> int:
    """List changes, newest first: who did what to which object, when and from where."""
    return show_all(
        engine,
        lambda client: client.audit(actor=actor, action=action, target=target),
        id_of="seq",
        headings=_HEADINGS,
        row=_row,
        limit=limit,
    )


def _row(entry: Mapping[str, Any]) -> list[str]:
    from onward.cli.output.tables import time_cell

    at = time_cell(entry["at"])
    return [at, entry["actor"], entry["action"], entry["target"], entry["origin"]]

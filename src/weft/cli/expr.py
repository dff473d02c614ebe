"""`weft expr`: what an expression comes to, on given data or on that of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from weft.cli import options, remote
from weft.cli.choosing import RUN
from weft.cli.completing import run_ids
from weft.cli.options import examples, option
from weft.cli.remote import place

if TYPE_CHECKING:
    from weft.api.client import AsyncEngine


@click.command(
    epilog=examples(
        f"weft expr '$charge.amount' --run {RUN}",
        "weft expr '{{ .lines | map(.price) | add }}' --input @order.json",
    )
)
@click.argument("template")
@options.value("What `.` and `$input` are.  [default: null]")
@option(
    "--run",
    "execution_id",
    metavar="EXECUTION",
    default=None,
    shell_complete=run_ids,
    help="The run whose data `$node` and `$trigger` are.",
)
@option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=TEXT|NAME:=JSON",
    help="What $NAME is; may be repeated.",
)
@place
def expr(template: str, execution_id: str | None, variables: tuple[str, ...], **given: Any) -> int:
    """Evaluate TEMPLATE: text with $references or {{ jq }}, as a node's parameter has it."""
    from weft.cli.given import read_given, read_if_given

    value = read_if_given(given.pop("whole"), given.pop("pairs"))
    named = read_given(None, variables)

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.answers import print_pretty

        more = {"input": value, "variables": named, "execution_id": execution_id}
        print_pretty(await engine.evaluate(template, **more))
        return 0

    need: remote.Need = "look" if execution_id else "write"
    return remote.talk(remote.where(given), ask, need=need)

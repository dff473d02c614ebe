"""`onward expr`: what an expression comes to, on given data or on that of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.completion import run_ids
from onward.cli.commands.runs.selection import RUN
from onward.cli.engines import server
from onward.cli.engines.server import place
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine


@click.command(
    epilog=examples(
        f"onward expr '$charge.amount' --run {RUN}",
        "onward expr '{{ .lines | map(.price) | add }}' --input @order.json",
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
    from onward.cli.input.run_input import read_if_given, read_run_input

    value = read_if_given(given.pop("whole"), given.pop("pairs"))
    named = read_run_input(None, variables)

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_pretty

        more = {"input": value, "variables": named, "execution_id": execution_id}
        print_pretty(await engine.evaluate(template, **more))
        return 0

    need: server.Need = "look" if execution_id else "write"
    return server.talk(server.where(given), ask, need=need)

"""`onward expr`: evaluate an expression, on given data or on the data of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.commands.completion import run_ids
from onward.cli.commands.runs.selection import SAMPLE_RUN
from onward.cli.engines.engine import EngineAddress, ask, engine_options
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine


@click.command(
    epilog=examples(
        f"onward expr '$charge.amount' --run {SAMPLE_RUN}",
        "onward expr '{{ .lines | map(.price) | add }}' --input @order.json",
    )
)
@click.argument("template")
@options.value("The value of `.` and `$input`.  [default: null]")
@option(
    "--run",
    "execution_id",
    metavar="RUN",
    default=None,
    shell_complete=run_ids,
    help="The run whose data `$node` and `$trigger` refer to.",
)
@option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=TEXT|NAME:=JSON",
    help="The value of $NAME; may be repeated.",
)
@engine_options
def expr(
    template: str,
    value: Any,
    execution_id: str | None,
    variables: tuple[str, ...],
    engine: EngineAddress,
) -> int:
    """Evaluate TEMPLATE: text with $references or {{ jq }}, as in the parameters of a node."""
    from onward.cli.input.run_input import read_run_input
    from onward.cli.output.console import print_pretty

    named = read_run_input(None, variables)
    if not engine.server and execution_id is None:
        print_pretty(_evaluate(template, value, named))
        return exit_codes.OK

    async def work(client: AsyncEngine) -> int:
        data = {"input": value, "variables": named, "execution_id": execution_id}
        print_pretty(await client.evaluate(template, **data))
        return exit_codes.OK

    return ask(engine, work)


def _evaluate(template: str, value: Any, variables: dict[str, Any]) -> Any:
    """Evaluate a template without an engine: nothing but the given data is needed."""
    from onward.bootstrap.host import now_ms
    from onward.expressions import compile_template

    data = {"input": value, **variables}
    return compile_template(template).render(value, data, now_ms=now_ms())

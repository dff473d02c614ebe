"""`weft run`: run one workflow to its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli import options
from weft.cli.options import examples

if TYPE_CHECKING:
    from weft.runtime.engine import Engine


@click.command(
    epilog=examples(
        "weft run order.yaml -i customer=Ada -i items:='[1, 2]'",
        "weft run order.yaml --input @order.json --json | jq .output",
    )
)
@options.starting
@options.serving
def run(
    file: Path, whole: str | None, pairs: tuple[str, ...], execution_id: str | None, **served: Any
) -> int:
    """Run the workflow in FILE and print its output.

    On a terminal the run is drawn as it goes. Stop it with Ctrl-C whenever you like:
    `weft resume` continues it.
    """
    from weft.cli.given import read_given
    from weft.cli.invocation import Invocation
    from weft.cli.sources import open_source

    invocation = Invocation.of(**served)
    opened = open_source(file)
    given = read_given(whole, pairs)
    invocation.warn(opened.warnings, str(file))
    program = opened.program

    async def begin(engine: Engine) -> list[str]:
        return [await engine.start(program, program.document.source, given, execution_id)]

    results = invocation.serve(begin, [program.document])
    return invocation.answer_one(results[0], program.document, str(file))

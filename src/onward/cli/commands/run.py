"""`onward run`: run one workflow to its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.runtime.embedded.engine import EmbeddedEngine


@click.command(
    epilog=examples(
        "onward run order.yaml -i customer=Ada -i items:='[1, 2]'",
        "onward run order.yaml --input @order.json --json | jq .output",
    )
)
@options.file_argument
@options.new_run
@options.serving
def run(file: Path, value: Any, execution_id: str | None, **served: Any) -> int:
    """Run the workflow in FILE and print its output.

    On a terminal the run is drawn while it executes. Stop it with Ctrl-C at any time:
    `onward continue` continues it.
    """
    from onward.cli.engines.embedded import Invocation
    from onward.cli.input.documents import open_source

    invocation = Invocation.of(**served)
    opened = open_source(file)
    invocation.warn(opened.warnings, str(file))
    program = opened.program

    async def begin(engine: EmbeddedEngine) -> list[str]:
        return [await engine.start(program, program.document.source, value, execution_id)]

    results = invocation.serve(begin, [program.document])
    return invocation.answer_one(results[0], program.document, str(file))

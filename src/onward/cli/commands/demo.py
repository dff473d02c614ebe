"""`onward demo`: a fan-out to watch, with nothing to install, configure or clean up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.runtime.embedded.engine import EmbeddedEngine

_NEXT_STEPS = """
That was 200 items, each its own small message, every step of it committed before the next.
Try next:
  onward nodes                      list what a workflow can be made of
  onward graph workflow.yaml        draw a workflow of your own
  onward run workflow.yaml          stop it with Ctrl-C, then: onward continue
The workflow you just saw is {file}
"""


@click.command(epilog=examples("onward demo", "onward demo 2> /dev/null"))
def demo() -> int:
    """Run a small workflow of 200 items, some of which fail, and draw it while it executes.

    It takes about ten seconds and leaves no files behind.
    """
    from tempfile import TemporaryDirectory

    from onward.bootstrap.embedded import EmbeddedSettings
    from onward.cli.engines.embedded import Invocation, StoppedError, serve
    from onward.cli.input.documents import open_source
    from onward.cli.output.console import say

    file = Path(__file__).with_name("demo.yaml")
    program = open_source(file).program

    async def begin(engine: EmbeddedEngine) -> list[str]:
        return [await engine.start(program, program.document.source, {})]

    with TemporaryDirectory(prefix="onward-demo-") as directory:
        settings = EmbeddedSettings(Path(directory) / "onward.db")
        invocation = Invocation(settings=settings, verbose=not sys.stderr.isatty())
        screen = invocation.screen([program.document])
        try:
            (result,) = serve(settings, begin, screen, None)
        except StoppedError as stopped:
            say("stopped; this was only a demo, so nothing is stored")
            return stopped.code
        code = invocation.answer_one(result, program.document, str(file))
    say(_NEXT_STEPS.format(file=file))
    return code

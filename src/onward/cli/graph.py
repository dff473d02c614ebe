"""`onward graph`: a workflow as a drawing."""

from __future__ import annotations

from pathlib import Path

import click

from onward.cli import options
from onward.cli.options import examples, option


@click.command(
    epilog=examples("onward graph order.yaml", "onward graph order.yaml --format svg -o order.svg")
)
@click.argument("file", type=click.Path(path_type=Path))
@option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "svg"]),
    default=None,
    help="What to draw.  [default: svg for an output file called *.svg, else mermaid]",
)
@option("--output", "-o", type=options.path(), help="Write here, not to the standard output.")
def graph(file: Path, form: str | None, output: Path | None) -> int:
    """Draw the workflow in FILE.

    A document with problems is drawn as far as it goes, as long as its shape can be read.
    """
    from onward.cli.drawing import draw

    draw(file, form, output)
    return 0

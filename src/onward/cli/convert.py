"""`onward convert`: a document of one language in another form."""

from __future__ import annotations

from pathlib import Path

import click

from onward.cli import options
from onward.cli.options import examples, option


@click.command(
    epilog=examples("onward convert order.yaml", "onward convert order.yaml --to svg -o order.svg")
)
@click.argument("file", type=click.Path(path_type=Path))
@option(
    "--to",
    "form",
    type=click.Choice(["mermaid", "svg"]),
    default=None,
    help="The form.  [default: svg for an output file called *.svg, else mermaid]",
)
@option("--output", "-o", type=options.path(), help="Write here, not to the standard output.")
def convert(file: Path, form: str | None, output: Path | None) -> int:
    """Show the Serverless Workflow document in FILE as a graph picture.

    Tasks are nodes and what follows what are edges: the branches of a fork side by side, the
    handler of a try behind an error edge. A graph is drawn as `onward graph` draws it.
    """
    from onward.cli.drawing import draw

    draw(file, form, output)
    return 0

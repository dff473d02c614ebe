"""`weft graph`: a workflow as a drawing."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from weft.cli import options
from weft.cli.options import examples, option


@click.command(
    epilog=examples("weft graph order.yaml", "weft graph order.yaml --format svg -o order.svg")
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
    from weft.bootstrap.languages import picture
    from weft.cli.answers import say
    from weft.cli.sources import read_text
    from weft.errors import InputError
    from weft.languages.graph import draw

    document = picture(read_text(file), str(file))
    if form is None:
        form = "svg" if output is not None and output.suffix == ".svg" else "mermaid"
    text = draw.svg(document) if form == "svg" else draw.mermaid(document)
    text = text.rstrip("\n") + "\n"
    if output is None:
        sys.stdout.buffer.write(text.encode())
        return 0
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{output}: it cannot be written: {problem.strerror}") from None
    say(f"wrote {output}")
    return 0

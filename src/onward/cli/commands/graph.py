"""`onward graph`: a workflow as a drawing."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from onward.bootstrap.languages import picture
from onward.cli import options
from onward.cli.input.documents import read_text
from onward.cli.options import examples, option
from onward.cli.output.run_result import say
from onward.errors import InputError
from onward.languages.graph.draw import mermaid, svg


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

    draw(file, form, output)
    return 0


# -- `onward convert`: a document of one language in another form.


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

    draw(file, form, output)
    return 0


# -- A document as a picture, on the standard output or in a file.


def draw(file: Path, form: str | None, output: Path | None) -> None:
    """Draw the workflow in `file` as "mermaid" or "svg"; None: as the name of `output` says."""
    document = picture(read_text(file), str(file))
    if form is None:
        form = "svg" if output is not None and output.suffix == ".svg" else "mermaid"
    text = svg(document) if form == "svg" else mermaid(document)
    text = text.rstrip("\n") + "\n"
    if output is None:
        sys.stdout.buffer.write(text.encode())
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{output}: it cannot be written: {problem.strerror}") from None
    say(f"wrote {output}")

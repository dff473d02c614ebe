"""`onward graph` and `onward convert`: a workflow as a drawing."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from onward.cli import exit_codes, options
from onward.cli.options import examples, file_argument, option

_FORMS = click.Choice(["mermaid", "svg"])
_FORM_HELP = "The form.  [default: svg for an output file called *.svg, else mermaid]"
_output = option("--output", "-o", type=options.path(), help="Write to this file.")


@click.command(
    epilog=examples("onward graph order.yaml", "onward graph order.yaml --format svg -o order.svg")
)
@file_argument
@option("--format", "form", type=_FORMS, default=None, help=_FORM_HELP)
@_output
def graph(file: Path, form: str | None, output: Path | None) -> int:
    """Draw the workflow in FILE.

    A document with problems is drawn too, as long as its structure can be read.
    """
    return _draw(file, form, output)


@click.command(
    epilog=examples("onward convert order.yaml", "onward convert order.yaml --to svg -o order.svg")
)
@file_argument
@option("--to", "form", type=_FORMS, default=None, help=_FORM_HELP)
@_output
def convert(file: Path, form: str | None, output: Path | None) -> int:
    """Draw the Serverless Workflow document in FILE as a graph.

    Tasks become nodes and their order becomes edges: the branches of a fork are side by side, the
    handler of a try is behind an error edge. A graph is drawn as `onward graph` draws it.
    """
    return _draw(file, form, output)


def _draw(file: Path, form: str | None, output: Path | None) -> int:
    """Draw the workflow as "mermaid" or "svg"; None: by the name of the output file."""
    from onward.bootstrap.languages import picture
    from onward.cli.input.documents import read_text
    from onward.cli.output.console import say
    from onward.errors import InputError
    from onward.languages.graph.draw import mermaid, svg

    document = picture(read_text(file), str(file))
    if form is None:
        form = "svg" if output is not None and output.suffix == ".svg" else "mermaid"
    text = svg(document) if form == "svg" else mermaid(document)
    text = text.rstrip("\n") + "\n"
    if output is None:
        sys.stdout.buffer.write(text.encode())
        return exit_codes.OK
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{output}: it cannot be written: {problem.strerror}") from None
    say(f"wrote {output}")
    return exit_codes.OK

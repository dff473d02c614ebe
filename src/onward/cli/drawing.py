"""A document as a picture, on the standard output or in a file."""

from __future__ import annotations

import sys
from pathlib import Path

from onward.bootstrap.languages import picture
from onward.cli.answers import say
from onward.cli.sources import read_text
from onward.errors import InputError
from onward.languages.graph.draw import mermaid, svg


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

"""Workflow documents in files: reading, checking and compiling them.

An unreadable file ends here as an InputError, an invalid document as a DefinitionError.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onward.bootstrap import languages
from onward.bootstrap.languages import AnyProgram
from onward.errors import DocumentProblem, InputError
from onward.languages.document.problems import find_place
from onward.languages.graph.model import Document
from onward.languages.graph.program import GraphProgram


@dataclass(frozen=True, slots=True)
class RunnableDocument:
    """A document that can run, with its warnings."""

    program: AnyProgram
    warnings: tuple[DocumentProblem, ...]


def read_text(file: Path) -> bytes:
    """Return the bytes of a text file; InputError says why they cannot be read."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{file}: this is a directory, not a workflow document") from None
    except OSError as problem:
        raise InputError(f"{file}: it cannot be read: {problem.strerror}") from None
    try:
        binary = "\0" in data.decode()
    except UnicodeDecodeError:
        binary = True
    if binary:
        raise InputError(f"{file}: this is not text; a workflow document is YAML or JSON in UTF-8")
    return data


def examine(file: Path) -> tuple[Document | None, tuple[DocumentProblem, ...]]:
    """Return the document in `file`, if its shape is sound, and everything wrong with it."""
    return languages.examine(read_text(file), str(file))


def open_source(file: Path) -> RunnableDocument:
    """Return the program of `file`; DefinitionError lists every problem when it cannot run."""
    program, warnings = languages.open_document(read_text(file), file=str(file))
    return RunnableDocument(program, (*warnings, *_schedule_warning(program)))


def _schedule_warning(program: AnyProgram) -> tuple[DocumentProblem, ...]:
    """Return the warning for a document with a schedule, which only a server follows."""
    if isinstance(program, GraphProgram) or program.workflow.schedule is None:
        return ()
    line, column = find_place(program.workflow.places, "/schedule") or (None, None)
    return (
        DocumentProblem(
            "SCHEDULE",
            "it runs once, now: only a server follows a schedule",
            "publish it there: onward workflows push FILE",
            "/schedule",
            line,
            column,
            "warning",
        ),
    )


def line_of(document: Document, node_id: str) -> int | None:
    """Return the line of a node, or None when the document was not read from text."""
    indices = (index for index, node in enumerate(document.nodes) if node.id == node_id)
    index = next(indices, None)
    place = None if index is None else find_place(document.places, f"/nodes/{index}")
    return place[0] if place else None

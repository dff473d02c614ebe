"""Documents of the Serverless Workflow DSL: what they take from outside, and the programs they are.

Only `onward.bootstrap.languages` imports this, when it meets such a document.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from onward.adapters.host.document_files import FetchError, fetch
from onward.errors import DefinitionError, DocumentProblem
from onward.languages.document.limits import Source
from onward.languages.document.source import read
from onward.languages.graph.model import Document
from onward.languages.serverless.model import ServerlessWorkflow
from onward.languages.serverless.picture import picture_of
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.read.bundle import (
    MOST_RESOURCES,
    Fetched,
    MissingResource,
    missing_uris,
)
from onward.languages.serverless.read.document import parse_source
from onward.nodes.serverless.catalogue import calls


def open_document(
    source: Source, file: str
) -> tuple[ServerlessProgram, tuple[DocumentProblem, ...]]:
    """Return the program of a document and its warnings, or raise DefinitionError."""
    workflow = _parse(source, file)
    return ServerlessProgram(workflow, calls), tuple(workflow.warnings)


def examine(source: Source, file: str) -> tuple[Document, tuple[DocumentProblem, ...]]:
    """Return a document as a graph to be drawn, and its warnings, or raise DefinitionError."""
    workflow = _parse(source, file)
    return picture_of(workflow), tuple(workflow.warnings)


def _parse(source: Source, file: str) -> ServerlessWorkflow:
    """Return a document; one from a file may take parts of itself from elsewhere."""
    fetched = gather(source.value, file) if file else None
    return parse_source(source, file=file, fetched=fetched)


def gather(value: Any, file: str, fetch: Callable[[str], str] = fetch) -> Fetched:
    """Return everything that the document in `file` needs, and what that needs, by its URI."""
    base = Path(file).absolute().as_uri()
    found: dict[str, Any] = {}
    while wanted := missing_uris(value, found)[: MOST_RESOURCES - len(found)]:
        for uri in wanted:
            found[uri] = _resource(urljoin(base, uri), fetch)
    return found


def _resource(uri: str, fetch: Callable[[str], str]) -> Any:
    try:
        return read(fetch(uri), file=uri).value
    except FetchError as problem:
        return MissingResource(str(problem))
    except DefinitionError as problem:
        return MissingResource(problem.problems[0].message)

"""The one place that knows every definition language, and tells which one a document is in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import msgspec

from onward.adapters.host.document_files import FetchError, fetch
from onward.bootstrap.catalogue import builtin
from onward.errors import DefinitionError, DocumentProblem
from onward.kernel.ids import fingerprint
from onward.kernel.records import Definition
from onward.languages.document.limits import Source
from onward.languages.document.source import read
from onward.languages.graph import document as graph
from onward.languages.graph.check.document import check
from onward.languages.graph.model import Document
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.languages.serverless.model import ServerlessWorkflow
from onward.languages.serverless.picture import picture_of
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.read import document as serverless
from onward.languages.serverless.read.bundle import (
    MOST_RESOURCES,
    Fetched,
    MissingResource,
    missing_uris,
)
from onward.nodes.serverless.catalogue import calls
from onward.ports.nodes.node import Catalogue
from onward.ports.storage.triggers import Settings
from onward.runtime.backend import CheckedDocument

# -- Fetching what a document of the Serverless Workflow DSL takes from outside.


def gather(value: Any, file: str, fetch: Callable[[str], str] = fetch) -> Fetched:
    """Return everything that the document in `file` needs, and what that needs, by its URI."""
    base = Path(file).absolute().as_uri()
    found: dict[str, Any] = {}
    while wanted := missing_uris(value, found)[: MOST_RESOURCES - len(found)]:
        for uri in wanted:
            found[uri] = _one(urljoin(base, uri), fetch)
    return found


def _one(uri: str, fetch: Callable[[str], str]) -> Any:
    try:
        return read(fetch(uri), file=uri).value
    except FetchError as problem:
        return MissingResource(str(problem))
    except DefinitionError as problem:
        return MissingResource(problem.problems[0].message)


AnyProgram = GraphProgram | ServerlessProgram


def compile_source(source: bytes, catalogue: Catalogue = builtin, *, file: str = "") -> AnyProgram:
    """Return the program of a document; DefinitionError lists its problems if it has any.

    `file` names the document in errors. What tasks of the Serverless Workflow DSL call is no part
    of the catalogue of nodes.
    """
    found = _serverless(source, file)
    if found is not None:
        return ServerlessProgram(_parse(found, file), calls)
    return compile_graph(graph.parse(source, file=file), catalogue)


def _parse(source: Source, file: str) -> ServerlessWorkflow:
    """Return a document; one from a file may take parts of itself from elsewhere."""
    fetched = gather(source.value, file) if file else None
    return serverless.parse_source(source, file=file, fetched=fetched)


def is_serverless(source: bytes, file: str = "") -> bool:
    """Return whether a document is one of the Serverless Workflow DSL."""
    return _serverless(source, file) is not None


def _serverless(source: bytes, file: str) -> Source | None:
    """Return what a document of the Serverless Workflow DSL says, which is slow to read twice."""
    if b"dsl" not in source:
        return None
    try:
        found = read(source, file=file)
    except DefinitionError:
        return None  # it cannot be read in any language
    return found if serverless.is_serverless(found.value) else None


def examine(
    source: bytes, file: str = "", catalogue: Catalogue = builtin
) -> tuple[Document | None, tuple[DocumentProblem, ...]]:
    """Return the document as a graph, if its shape is sound, and everything wrong with it."""
    try:
        found = _serverless(source, file)
        if found is not None:
            workflow = _parse(found, file)
            return picture_of(workflow), workflow.warnings
        document = graph.parse(source, file=file)
    except DefinitionError as error:
        return None, error.problems
    return document, tuple(check(document, catalogue))


def picture(source: bytes, file: str) -> Document:
    """Return a document as a graph to be drawn; DefinitionError if its shape cannot be read."""
    found = _serverless(source, file)
    if found is not None:
        return picture_of(_parse(found, file))
    return graph.parse(source, file=file)


def schedule_in(definition: Definition) -> Settings | None:
    """Return what starts runs of a definition by itself, as its document says."""
    if b'"schedule"' not in definition.source or not is_serverless(definition.source):
        return None
    return serverless.parse(definition.source).schedule


def read_definition(data: bytes, workflow_id: str) -> Definition:
    """Return the definition inside a message as it is stored; DefinitionError if it is none."""
    value: Any = msgspec.json.decode(data)
    if serverless.is_serverless(value):
        workflow = serverless.parse_definition(value)
        return Definition(fingerprint(workflow.source), workflow.id, workflow.source)
    document = graph.parse_definition(value, default_id=workflow_id)
    return Definition(fingerprint(document.source), document.id, document.source)


# -- Looking at documents that come from outside: what is wrong with them, and what they define.


def examine_document(source: Any, catalogue: Catalogue) -> CheckedDocument:
    """Return every problem of a document, and its definition unless one of them is an error.

    A text is JSON or YAML, and its problems have lines; anything else is a decoded value.
    """
    try:
        if isinstance(source, str):
            text = source.encode()
            if is_serverless(text):
                return _sound(serverless.parse(text))
            return _graph(graph.parse(text), catalogue)
        if serverless.is_serverless(source):
            return _sound(serverless.parse_definition(source))
        return _graph(graph.parse_definition(source), catalogue)
    except DefinitionError as error:
        return CheckedDocument(definition=None, problems=error.problems)


def _graph(document: Document, catalogue: Catalogue) -> CheckedDocument:
    problems = tuple(check(document, catalogue))
    if any(problem.severity == "error" for problem in problems):
        return CheckedDocument(definition=None, problems=problems)
    definition = Definition(fingerprint(document.source), document.id, document.source)
    return CheckedDocument(definition=definition, problems=problems)


def _sound(workflow: ServerlessWorkflow) -> CheckedDocument:
    definition = Definition(fingerprint(workflow.source), workflow.id, workflow.source)
    return CheckedDocument(definition=definition, problems=tuple(workflow.warnings))

"""The one place that knows every definition language, and tells which one a document is in.

The Serverless Workflow DSL is imported when a document is written in it: it is half of the code
that a command would load otherwise, and most commands meet no such document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

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
from onward.languages.serverless.recognition import is_serverless as is_dsl
from onward.ports.nodes.node import Catalogue

if TYPE_CHECKING:
    from onward.languages.serverless.model import ServerlessWorkflow
    from onward.languages.serverless.program import ServerlessProgram
    from onward.ports.storage.triggers import Settings
    from onward.runtime.backend import CheckedDocument

AnyProgram: TypeAlias = "GraphProgram | ServerlessProgram"


def compile_source(source: bytes, catalogue: Catalogue = builtin, *, file: str = "") -> AnyProgram:
    """Return the program of a document; DefinitionError lists its problems if it has any.

    `file` names the document in errors. What tasks of the Serverless Workflow DSL call is no part
    of the catalogue of nodes.
    """
    found = _serverless(source, file)
    if found is not None:
        from onward.bootstrap import serverless_documents

        return serverless_documents.open_document(found, file)[0]
    return compile_graph(graph.parse(source, file=file), catalogue)


def open_document(
    source: bytes, catalogue: Catalogue = builtin, *, file: str = ""
) -> tuple[AnyProgram, tuple[DocumentProblem, ...]]:
    """Return the program of a document and its warnings, or raise DefinitionError."""
    found = _serverless(source, file)
    if found is not None:
        from onward.bootstrap import serverless_documents

        return serverless_documents.open_document(found, file)
    document = graph.parse(source, file=file)
    problems = tuple(check(document, catalogue))
    if any(problem.severity == "error" for problem in problems):
        raise DefinitionError(problems, file)
    return compile_graph(document, catalogue, problems=problems), problems


def is_serverless(source: bytes, file: str = "") -> bool:
    """Return whether a document is one of the Serverless Workflow DSL."""
    return _serverless(source, file) is not None


def _serverless(source: bytes, file: str) -> Source | None:
    """Return the content of a Serverless Workflow document: reading it twice would be slow."""
    if b"dsl" not in source:
        return None
    try:
        found = read(source, file=file)
    except DefinitionError:
        return None  # it cannot be read in any language
    return found if is_dsl(found.value) else None


def examine(
    source: bytes, file: str = "", catalogue: Catalogue = builtin
) -> tuple[Document | None, tuple[DocumentProblem, ...]]:
    """Return the document as a graph, if its shape is sound, and everything wrong with it."""
    try:
        found = _serverless(source, file)
        if found is not None:
            from onward.bootstrap import serverless_documents

            return serverless_documents.examine(found, file)
        document = graph.parse(source, file=file)
    except DefinitionError as error:
        return None, error.problems
    return document, tuple(check(document, catalogue))


def picture(source: bytes, file: str) -> Document:
    """Return a document as a graph to be drawn; DefinitionError if its shape cannot be read."""
    found = _serverless(source, file)
    if found is not None:
        from onward.bootstrap import serverless_documents

        return serverless_documents.examine(found, file)[0]
    return graph.parse(source, file=file)


def schedule_in(definition: Definition) -> Settings | None:
    """Return what starts runs of a definition by itself, as its document says."""
    if b'"schedule"' not in definition.source or not is_serverless(definition.source):
        return None
    from onward.languages.serverless.read.document import parse

    return parse(definition.source).schedule


def read_definition(data: bytes, workflow_id: str) -> Definition:
    """Return the definition inside a message as it is stored; DefinitionError if it is none."""
    value: Any = msgspec.json.decode(data)
    if is_dsl(value):
        from onward.languages.serverless.read.document import parse_definition

        return _definition_of(parse_definition(value))
    return _definition_of(graph.parse_definition(value, default_id=workflow_id))


# -- documents from outside: their problems, and what they define ----------------------------------


def examine_document(source: Any, catalogue: Catalogue) -> CheckedDocument:
    """Return every problem of a document, and its definition unless one of them is an error.

    A text is JSON or YAML, and its problems have lines; anything else is a decoded value.
    """
    from onward.runtime.backend import CheckedDocument

    problems: tuple[DocumentProblem, ...]
    try:
        document = _parse(source.encode() if isinstance(source, str) else source)
    except DefinitionError as error:
        return CheckedDocument(definition=None, problems=error.problems)
    if isinstance(document, Document):
        problems = tuple(check(document, catalogue))
        if any(problem.severity == "error" for problem in problems):
            return CheckedDocument(definition=None, problems=problems)
    else:
        problems = tuple(document.warnings)
    return CheckedDocument(definition=_definition_of(document), problems=problems)


def _parse(source: Any) -> Document | ServerlessWorkflow:
    """Return the document in a text, given as bytes, or in a decoded value."""
    text = isinstance(source, bytes)
    if is_serverless(source) if text else is_dsl(source):
        from onward.languages.serverless.read import document as serverless

        return serverless.parse(source) if text else serverless.parse_definition(source)
    return graph.parse(source) if text else graph.parse_definition(source)


def _definition_of(document: Document | ServerlessWorkflow) -> Definition:
    return Definition(fingerprint(document.source), document.id, document.source)

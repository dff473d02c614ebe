"""The one place that knows every definition language, and tells which one a document is in."""

from __future__ import annotations

from typing import Any

import msgspec

from weft.bootstrap.bundles import gather
from weft.errors import DefinitionError, Problem
from weft.kernel.ids import fingerprint
from weft.languages.graph import document as graph
from weft.languages.graph.check import check
from weft.languages.graph.model import Document
from weft.languages.graph.program import GraphProgram, compile_graph
from weft.languages.graph.source import read
from weft.languages.serverless import document as serverless
from weft.languages.serverless.model import Workflow
from weft.languages.serverless.picture import picture_of
from weft.languages.serverless.program import ServerlessProgram
from weft.nodes.calls import calls
from weft.nodes.catalogue import builtin
from weft.ports.journal import Definition
from weft.ports.node import Catalogue
from weft.ports.triggers import Settings

AnyProgram = GraphProgram | ServerlessProgram


def compile_source(source: bytes, catalogue: Catalogue = builtin, *, file: str = "") -> AnyProgram:
    """Return the program of a document; DefinitionError lists its problems if it has any.

    `file` names the document in errors. What tasks of the Serverless Workflow DSL call is no part
    of the catalogue of nodes.
    """
    if is_serverless(source, file):
        return ServerlessProgram(_parse(source, file), calls)
    return compile_graph(graph.parse(source, file=file), catalogue)


def _parse(source: bytes, file: str) -> Workflow:
    """Return a document; one from a file may take parts of itself from elsewhere."""
    if not file:
        return serverless.parse(source)
    return serverless.parse(source, file=file, fetched=gather(read(source, file=file).value, file))


def is_serverless(source: bytes, file: str = "") -> bool:
    """Return whether a document is one of the Serverless Workflow DSL."""
    if b"dsl" not in source:
        return False
    try:
        return serverless.is_serverless(read(source, file=file).value)
    except DefinitionError:
        return False  # it cannot be read in any language


def examine(
    source: bytes, file: str = "", catalogue: Catalogue = builtin
) -> tuple[Document | None, tuple[Problem, ...]]:
    """Return the document as a graph, if its shape is sound, and everything wrong with it."""
    try:
        if is_serverless(source, file):
            workflow = _parse(source, file)
            return picture_of(workflow), workflow.warnings
        document = graph.parse(source, file=file)
    except DefinitionError as error:
        return None, error.problems
    return document, tuple(check(document, catalogue))


def picture(source: bytes, file: str) -> Document:
    """Return a document as a graph to be drawn; DefinitionError if its shape cannot be read."""
    if is_serverless(source, file):
        return picture_of(_parse(source, file))
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

"""The one place that knows every definition language, and tells which one a document is in."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.bootstrap.bundles import gather
from onward.errors import DefinitionError, Problem
from onward.kernel.ids import fingerprint
from onward.languages.graph import document as graph
from onward.languages.graph.check import check
from onward.languages.graph.model import Document
from onward.languages.graph.plain import Source
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.languages.graph.source import read
from onward.languages.serverless import document as serverless
from onward.languages.serverless.model import Workflow
from onward.languages.serverless.picture import picture_of
from onward.languages.serverless.program import ServerlessProgram
from onward.nodes.calls import calls
from onward.nodes.catalogue import builtin
from onward.ports.journal import Definition
from onward.ports.node import Catalogue
from onward.ports.triggers import Settings

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


def _parse(source: Source, file: str) -> Workflow:
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
) -> tuple[Document | None, tuple[Problem, ...]]:
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

"""The definition languages over one catalogue: which one a document is in, and its program.

A document is read, checked and compiled once: `open_document` does all three, and `Languages` keeps
the programs used last, so that what was checked a moment ago is not compiled again to run it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urljoin

import msgspec

from onward.adapters.host.document_files import FetchError, fetch
from onward.bootstrap.catalogue import builtin
from onward.errors import DefinitionError, DocumentProblem
from onward.kernel.ids import fingerprint
from onward.kernel.lru import Lru
from onward.kernel.records import Definition
from onward.languages.document.problems import CheckedDocument
from onward.languages.document.source import read
from onward.languages.graph import document as graph
from onward.languages.graph.check.document import check
from onward.languages.graph.model import Document
from onward.languages.graph.program import GraphProgram, compile_graph, link_graph
from onward.languages.serverless.model import ServerlessWorkflow
from onward.languages.serverless.picture import picture_of
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.read import document as serverless
from onward.languages.serverless.read.bundle import MOST, Fetched, MissingResource, needed
from onward.nodes.serverless.catalogue import calls
from onward.ports.nodes.node import Catalogue
from onward.ports.storage.triggers import Settings

AnyProgram = GraphProgram | ServerlessProgram

MOST_PROGRAMS = 256
"""Programs that one process keeps."""


@dataclass(frozen=True, slots=True)
class CompiledDocument:
    """A document with everything wrong with it, and its program unless that includes an error."""

    document: Document | None
    """The document as a graph, if its shape is sound."""
    problems: tuple[DocumentProblem, ...]
    program: AnyProgram | None


def open_document(
    source: Any, catalogue: Catalogue = builtin, *, file: str = ""
) -> CompiledDocument:
    """Read, check and compile a document.

    A text is JSON or YAML, and its problems have lines; anything else is a decoded value. `file`
    names the document in errors.
    """
    try:
        parsed = _parse(source, file)
    except DefinitionError as error:
        return CompiledDocument(None, error.problems, None)
    if isinstance(parsed, ServerlessWorkflow):
        program = ServerlessProgram(parsed, calls)
        return CompiledDocument(program.document, parsed.warnings, program)
    problems = tuple(check(parsed, catalogue))
    runs = all(problem.severity != "error" for problem in problems)
    return CompiledDocument(parsed, problems, link_graph(parsed, catalogue) if runs else None)


def compile_source(source: bytes, catalogue: Catalogue = builtin, *, file: str = "") -> AnyProgram:
    """Return the program of a document; DefinitionError lists its problems if it has any.

    What tasks of the Serverless Workflow DSL call is no part of the catalogue of nodes.
    """
    parsed = _parse(source, file)
    if isinstance(parsed, ServerlessWorkflow):
        return ServerlessProgram(parsed, calls)
    return compile_graph(parsed, catalogue)


def picture(source: bytes, file: str) -> Document:
    """Return a document as a graph to be drawn; DefinitionError if its shape cannot be read."""
    parsed = _parse(source, file)
    return picture_of(parsed) if isinstance(parsed, ServerlessWorkflow) else parsed


def read_definition(data: bytes, workflow_id: str) -> Definition:
    """Return the definition inside a message as it is stored; DefinitionError if it is none."""
    parsed = _parse_value(msgspec.json.decode(data), workflow_id)
    return Definition(fingerprint(parsed.source), parsed.id, parsed.source)


class Languages:
    """Checks and compiles definitions, and keeps the programs used last. Threads may share it."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._programs: Lru[str, AnyProgram] = Lru(MOST_PROGRAMS)
        self._lock = Lock()

    def check_document(self, source: Any) -> CheckedDocument:
        """Return every problem of a document, and its definition unless one is an error."""
        found = open_document(source, self.catalogue)
        program = found.program
        if program is None:
            return CheckedDocument(definition=None, problems=found.problems)
        self._keep(program)
        definition = Definition(program.ref, program.workflow_id, program.document.source)
        return CheckedDocument(definition=definition, problems=found.problems)

    def compile(self, definition: Definition) -> AnyProgram:
        """Return the program of a definition; DefinitionError when it can no longer run."""
        with self._lock:
            program = self._programs.get(definition.ref)
        if program is None:
            program = compile_source(definition.source, self.catalogue)
            self._keep(program)
        return program

    def schedule_in(self, definition: Definition) -> Settings | None:
        """Return the schedule that a document asks for itself."""
        if b'"schedule"' not in definition.source or not is_serverless(definition.source):
            return None
        program = self.compile(definition)
        return program.workflow.schedule if isinstance(program, ServerlessProgram) else None

    def _keep(self, program: AnyProgram) -> None:
        with self._lock:
            self._programs.put(program.ref, program)


# -- which language a document is in ---------------------------------------------------------------


def is_serverless(source: bytes) -> bool:
    """Return whether a stored definition is of the Serverless Workflow DSL."""
    return b'"dsl"' in source and serverless.is_serverless(msgspec.json.decode(source))


def _parse(source: Any, file: str) -> Document | ServerlessWorkflow:
    if not isinstance(source, str | bytes):
        return _parse_value(source)
    found = read(source, file=file)
    if not serverless.is_serverless(found.value):
        return graph.parse_source(found, file=file)
    # A document from a file may take parts of itself from elsewhere.
    fetched = gather(found.value, file) if file else None
    return serverless.parse_source(found, file=file, fetched=fetched)


def _parse_value(value: Any, default_id: str = "workflow") -> Document | ServerlessWorkflow:
    if serverless.is_serverless(value):
        return serverless.parse_definition(value)
    return graph.parse_definition(value, default_id=default_id)


# -- what a document of the Serverless Workflow DSL takes from elsewhere ---------------------------


def gather(value: Any, file: str, fetch: Callable[[str], str] = fetch) -> Fetched:
    """Return everything that the document in `file` needs, and what that needs, by its URI."""
    base = Path(file).absolute().as_uri()
    found: dict[str, Any] = {}
    while wanted := needed(value, found)[: MOST - len(found)]:
        for uri in wanted:
            found[uri] = _fetch_resource(urljoin(base, uri), fetch)
    return found


def _fetch_resource(uri: str, fetch: Callable[[str], str]) -> Any:
    try:
        return read(fetch(uri), file=uri).value
    except FetchError as problem:
        return MissingResource(str(problem))
    except DefinitionError as problem:
        return MissingResource(problem.problems[0].message)

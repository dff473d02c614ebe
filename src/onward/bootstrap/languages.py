"""The definition languages over one catalogue: which one a document is in, and its program.

A document is read, checked and compiled once: `open_document` does all three, and `Languages` keeps
the programs used last, so that what was checked a moment ago is not compiled again to run it.

The Serverless Workflow DSL is imported when a document is written in it: it is half of the code
that a command would load otherwise, and most commands meet no such document.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

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
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.languages.serverless import recognition
from onward.ports.nodes.node import Catalogue

if TYPE_CHECKING:
    from onward.languages.serverless.model import ServerlessWorkflow
    from onward.languages.serverless.program import ServerlessProgram
    from onward.ports.storage.triggers import Settings

AnyProgram: TypeAlias = "GraphProgram | ServerlessProgram"
Problems = tuple[DocumentProblem, ...]

MOST_PROGRAMS = 256
"""Programs that one process keeps."""


def open_document(
    source: Any, catalogue: Catalogue = builtin, *, file: str = ""
) -> tuple[AnyProgram, Problems]:
    """Return the program of a document and its warnings; DefinitionError lists every problem.

    A text is JSON or YAML, and its problems have lines; anything else is a decoded value. `file`
    names the document in errors.
    """
    parsed = _parse(source, file)
    if not isinstance(parsed, Document):
        return _serverless_program(parsed), parsed.warnings
    problems = tuple(check(parsed, catalogue))
    if any(problem.severity == "error" for problem in problems):
        raise DefinitionError(problems, file)
    return compile_graph(parsed, catalogue, problems=problems), problems


def compile_source(source: bytes, catalogue: Catalogue = builtin, *, file: str = "") -> AnyProgram:
    """Return the program of a document; DefinitionError lists its errors if it has any."""
    parsed = _parse(source, file)
    if isinstance(parsed, Document):
        return compile_graph(parsed, catalogue)
    return _serverless_program(parsed)


def examine(
    source: bytes, file: str = "", catalogue: Catalogue = builtin
) -> tuple[Document | None, Problems]:
    """Return the document as a graph, if its shape is sound, and everything wrong with it."""
    try:
        parsed = _parse(source, file)
    except DefinitionError as error:
        return None, error.problems
    if isinstance(parsed, Document):
        return parsed, tuple(check(parsed, catalogue))
    return _picture(parsed), parsed.warnings


def picture(source: bytes, file: str) -> Document:
    """Return a document as a graph to be drawn; DefinitionError if its shape cannot be read."""
    parsed = _parse(source, file)
    return parsed if isinstance(parsed, Document) else _picture(parsed)


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
        try:
            program, problems = open_document(source, self.catalogue)
        except DefinitionError as error:
            return CheckedDocument(definition=None, problems=error.problems)
        self._keep(program)
        definition = Definition(program.ref, program.workflow_id, program.document.source)
        return CheckedDocument(definition=definition, problems=problems)

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
        source = definition.source
        if b'"schedule"' not in source or not recognition.is_serverless(
            msgspec.json.decode(source)
        ):
            return None
        program = self.compile(definition)
        return None if isinstance(program, GraphProgram) else program.workflow.schedule

    def _keep(self, program: AnyProgram) -> None:
        with self._lock:
            self._programs.put(program.ref, program)


# -- which language a document is in ---------------------------------------------------------------


def _parse(source: Any, file: str) -> Document | ServerlessWorkflow:
    if not isinstance(source, str | bytes):
        return _parse_value(source)
    found = read(source, file=file)
    if not recognition.is_serverless(found.value):
        return graph.parse_source(found, file=file)
    from onward.bootstrap.serverless_documents import parse

    return parse(found, file)


def _parse_value(value: Any, default_id: str = "workflow") -> Document | ServerlessWorkflow:
    if not recognition.is_serverless(value):
        return graph.parse_definition(value, default_id=default_id)
    from onward.languages.serverless.read.document import parse_definition

    return parse_definition(value)


def _serverless_program(workflow: ServerlessWorkflow) -> ServerlessProgram:
    from onward.bootstrap.serverless_documents import program_of

    return program_of(workflow)


def _picture(workflow: ServerlessWorkflow) -> Document:
    from onward.languages.serverless.picture import picture_of

    return picture_of(workflow)

"""Looking at documents that come from outside: what is wrong with them, and what they define."""

from __future__ import annotations

from typing import Any

from weft.bootstrap.languages import is_serverless
from weft.errors import DefinitionError
from weft.kernel.ids import fingerprint
from weft.languages.graph import document as graph
from weft.languages.graph.check import check
from weft.languages.graph.model import Document
from weft.languages.serverless import document as serverless
from weft.languages.serverless.model import Workflow
from weft.ports.journal import Definition
from weft.ports.node import Catalogue
from weft.runtime.backend import Examined


def examine_document(source: Any, catalogue: Catalogue) -> Examined:
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
        return Examined(definition=None, problems=error.problems)


def _graph(document: Document, catalogue: Catalogue) -> Examined:
    problems = tuple(check(document, catalogue))
    if any(one.severity == "error" for one in problems):
        return Examined(definition=None, problems=problems)
    definition = Definition(fingerprint(document.source), document.id, document.source)
    return Examined(definition=definition, problems=problems)


def _sound(workflow: Workflow) -> Examined:
    definition = Definition(fingerprint(workflow.source), workflow.id, workflow.source)
    return Examined(definition=definition, problems=tuple(workflow.warnings))

"""Looking at documents that come from outside: what is wrong with them, and what they define."""

from __future__ import annotations

from typing import Any

from onward.bootstrap.languages import is_serverless
from onward.errors import DefinitionError
from onward.kernel.ids import fingerprint
from onward.languages.graph import document as graph
from onward.languages.graph.check import check
from onward.languages.graph.model import Document
from onward.languages.serverless import document as serverless
from onward.languages.serverless.model import Workflow
from onward.ports.journal import Definition
from onward.ports.node import Catalogue
from onward.runtime.backend import Examined


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

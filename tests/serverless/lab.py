"""A laboratory for workflows of the Serverless Workflow DSL: no network, stand-ins for services."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from support.harness import Ended, Lab
from weft.languages.serverless.document import parse, parse_definition
from weft.languages.serverless.program import ServerlessProgram
from weft.nodes.calls import calls
from weft.ports.journal import Definition
from weft.ports.outside import HttpAnswer, HttpRequest, OutsideError
from weft.runtime.result import RunError, error_of

HEAD = {"dsl": "1.0.3", "namespace": "test", "name": "case", "version": "1.0.0"}


def workflow(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a document with these tasks."""
    return {"document": HEAD, "do": list(tasks), **more}


@dataclass(slots=True)
class Services:
    """Stand-ins for services: each URL has answers, one after another; the last one stays."""

    answers: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    requests: list[HttpRequest] = field(default_factory=list)
    parked: Callable[[int], None] = lambda change: None

    def answer(self, method: str, url: str, *answers: Any) -> None:
        """Say what a service answers: a value, `{status, headers, body}`, or "never"."""
        self.answers[method.upper(), url] = list(answers)

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        self.requests.append(request)
        answers = self.answers.get((request.method, request.url))
        if answers is None:
            raise OutsideError("nobody is there", "HTTP_CONNECT")
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        if given == "never":
            self.parked(1)
            try:
                await asyncio.Event().wait()
            finally:
                self.parked(-1)
        whole = {"status", "body", "headers"} & given.keys() if isinstance(given, dict) else set()
        given = given if whole else {"body": given}
        headers = {"content-type": "application/json", **given.get("headers", {})}
        body = given.get("body")
        data = body.encode() if isinstance(body, str) and whole else msgspec.json.encode(body)
        return HttpAnswer(status=given.get("status", 200), headers=headers, body=data)


class TreeLab(Lab):
    """A laboratory whose documents are of the DSL."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.services = Services(parked=self._parked)
        self.http = self.services

    def _parked(self, change: int) -> None:
        self.book.parked += change
        self.clock.stir()

    def program(self, document: dict[str, Any] | str) -> ServerlessProgram:
        """Return a compiled document (a value, or YAML text)."""
        parsed = parse(document) if isinstance(document, str) else parse_definition(document)
        return ServerlessProgram(parsed, calls)

    def _compiled(self, definition: Definition) -> ServerlessProgram:
        return ServerlessProgram(parse(definition.source), calls)


def output_of(ended: Ended) -> Any:
    """Return the output of a run that completed."""
    assert ended.message.error is None
    assert "completed" == ended.status
    return ended.context["$output"]


def error_in(ended: Ended) -> RunError:
    """Return the error of a run that did not complete."""
    error = error_of(ended.message)
    assert error is not None
    return error

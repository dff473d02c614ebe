"""Making what does the work of an activity: a node of the catalogue, with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from weft.errors import ExpressionError
from weft.kernel.messages import Token
from weft.kernel.outcome import Failed
from weft.languages.serverless import events
from weft.languages.serverless.faults import FaultError, standard, to_error
from weft.languages.serverless.model import Call, Emit, Workflow
from weft.languages.serverless.sight import Run
from weft.languages.serverless.stops import Act
from weft.ports.node import Catalogue, Runnable


class Late(msgspec.Struct, frozen=True):
    """An activity whose arguments are only made where the secrets are known."""

    make: Callable[[Mapping[str, Mapping[str, str]]], Any]

    def made(self, secrets: Mapping[str, Mapping[str, str]]) -> Runnable | Failed:
        """Return the node with its arguments, or why there is none."""
        try:
            node: Runnable = self.make(secrets)
            return node
        except FaultError as error:
            return Failed(to_error(error.fault))


class Maker:
    """Makes the nodes of one workflow."""

    def __init__(self, workflow: Workflow, catalogue: Catalogue) -> None:
        self._workflow = workflow
        self._catalogue = catalogue

    def subscribing(self, token: Token) -> Any:
        """Return what says what a run listens to; `token` is the one it began with."""
        found = self._catalogue.get("subscribe")
        if found is None:
            raise TypeError("a catalogue of calls has no subscribe")
        return found.parameters(subscriptions=events.subscriptions(self._workflow, token))

    def node(self, stop: Act, run: Run) -> Any:
        """Return what does the work of a stop. Raises FaultError for arguments that do not fit."""
        if isinstance(stop.task, Emit):
            return self._made(stop.task, events.filled_in(stop.arguments, run))
        if not stop.task.secrets:
            return self._made(stop.task, stop.arguments)

        def make(secrets: Mapping[str, Mapping[str, str]]) -> Any:
            try:
                return self._made(stop.task, stop.arguments(secrets))
            except ExpressionError as problem:
                raise FaultError(standard("expression", str(problem), stop.task.at)) from None

        return Late(make)

    def _made(self, task: Call, arguments: Any) -> Any:
        found = self._catalogue.get(task.function)
        if found is None:
            detail = f"this worker cannot call {task.function!r}"
            raise FaultError(standard("configuration", detail, task.at))
        try:
            return msgspec.convert(arguments, found.parameters)
        except msgspec.ValidationError as problem:
            text, _, path = str(problem).partition(" - at ")
            where = path.strip("`").removeprefix("$").replace(".", "/") or "/"
            detail = f"with{where}: {text[0].lower()}{text[1:]}"
            raise FaultError(standard("configuration", detail, task.at)) from None

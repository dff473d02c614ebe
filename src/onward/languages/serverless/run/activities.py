"""The node of an activity: an entry of the catalogue, with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from onward.errors import ExpressionError
from onward.kernel.messages import Token
from onward.kernel.outcome import Awaits, Failed, Succeeded
from onward.kernel.redaction import Redactor
from onward.languages.serverless.errors import FaultError, standard_fault, to_error
from onward.languages.serverless.model import CallTask, EmitTask, ServerlessWorkflow
from onward.languages.serverless.run import subscriptions
from onward.languages.serverless.run.stops import Act
from onward.languages.serverless.run.variables import WalkContext
from onward.languages.serverless.templates import JsonTemplate
from onward.ports.nodes.node import Catalogue, Runnable, Tools


class LateArguments(msgspec.Struct, frozen=True):
    """An activity whose arguments are only built where the secrets are known.

    `authorize`, if there is one, first finds the call's authorization, which the arguments read.
    """

    build: Callable[[Mapping[str, Any]], Any]
    authorize: Callable[[Mapping[str, Any]], Any] | None = None

    def resolve(self, secrets: Mapping[str, Mapping[str, str]]) -> Runnable | Failed:
        """Return the node with its arguments, or the failure to build them."""
        known = {"secrets": secrets}
        try:
            if self.authorize is not None:
                return AuthorizedActivity(self.authorize(known), self.build, known)
            node: Runnable = self.build(known)
            return node
        except FaultError as error:
            return Failed(to_error(error.fault))


class AuthorizedActivity(msgspec.Struct, frozen=True):
    """A call whose arguments read its own authorization, which is found first."""

    authorize: Any
    build: Callable[[Mapping[str, Any]], Any]
    known: Mapping[str, Any]

    async def run(self, tools: Tools) -> Succeeded | Failed | Awaits:
        """Find the authorization, build the arguments, and do the work."""
        found: Succeeded | Failed = await self.authorize.run(tools)
        if isinstance(found, Failed):
            return found
        try:
            node = self.build({**self.known, "authorization": found.output})
        except FaultError as error:
            return Failed(to_error(error.fault))
        return _redact(await node.run(tools), found.output["parameter"])


def _redact(outcome: Succeeded | Failed | Awaits, parameter: str) -> Succeeded | Failed | Awaits:
    """Return an outcome without the parameter of the call's authorization."""
    if not isinstance(outcome, Succeeded | Failed):
        return outcome
    plain = msgspec.to_builtins(outcome)
    redacted = Redactor([{"parameter": parameter}]).redact(plain)
    return outcome if redacted is plain else msgspec.convert(redacted, type(outcome))


class ActivityBuilder:
    """Builds the nodes of one workflow."""

    def __init__(self, workflow: ServerlessWorkflow, catalogue: Catalogue) -> None:
        self._workflow = workflow
        self._catalogue = catalogue

    def build_subscription(self, token: Token) -> Any:
        """Return the node that subscribes a run to its events; `token` is its first."""
        found = self._catalogue.get("subscribe")
        if found is None:
            raise TypeError("a catalogue of calls has no subscribe")
        return found.parameters(subscriptions=subscriptions.subscriptions_of(self._workflow, token))

    def build(self, stop: Act, context: WalkContext) -> Any:
        """Return the node of a stop. Raises FaultError for arguments that do not fit."""
        if isinstance(stop.task, EmitTask):
            return self._build(stop.task, subscriptions.add_event_defaults(stop.arguments, context))
        if not stop.task.late:
            return self._build(stop.task, stop.arguments)

        def build_late(function: str, template: JsonTemplate, known: Mapping[str, Any]) -> Any:
            try:
                return self._build(stop.task, stop.arguments(template, known), function)
            except ExpressionError as problem:
                raise FaultError(standard_fault("expression", str(problem), stop.task.at)) from None

        task = stop.task
        return LateArguments(
            partial(build_late, task.function, task.arguments),
            None if task.policy is None else partial(build_late, "authorize", task.policy),
        )

    def _build(self, task: CallTask, arguments: Any, function: str = "") -> Any:
        found = self._catalogue.get(function or task.function)
        if found is None:
            detail = f"this worker cannot call {task.function!r}"
            raise FaultError(standard_fault("configuration", detail, task.at))
        try:
            return msgspec.convert(arguments, found.parameters)
        except msgspec.ValidationError as problem:
            text, _, path = str(problem).partition(" - at ")
            where = path.strip("`").removeprefix("$").replace(".", "/") or "/"
            detail = f"with{where}: {text[0].lower()}{text[1:]}"
            raise FaultError(standard_fault("configuration", detail, task.at)) from None

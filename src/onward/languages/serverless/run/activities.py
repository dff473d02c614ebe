"""Making what does the work of an activity: a node of the catalogue, with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from onward.errors import ExpressionError
from onward.kernel.messages import Token
from onward.kernel.outcome import Awaits, Failed, Succeeded
from onward.kernel.redaction import Redactor
from onward.languages.serverless.errors import FaultError, standard, to_error
from onward.languages.serverless.model import CallTask, EmitTask, ServerlessWorkflow
from onward.languages.serverless.run import subscriptions
from onward.languages.serverless.run.stops import Act
from onward.languages.serverless.run.variables import WalkContext
from onward.languages.serverless.templates import JsonTemplate
from onward.ports.nodes.node import Catalogue, Runnable, Tools


class LateArguments(msgspec.Struct, frozen=True):
    """An activity whose arguments are only made where the secrets are known.

    `authorize`, if there is one, is asked first what the call will show of who calls.
    """

    make: Callable[[Mapping[str, Any]], Any]
    authorize: Callable[[Mapping[str, Any]], Any] | None = None

    def build(self, secrets: Mapping[str, Mapping[str, str]]) -> Runnable | Failed:
        """Return the node with its arguments, or why there is none."""
        known = {"secrets": secrets}
        try:
            if self.authorize is not None:
                return AuthorizedActivity(self.authorize(known), self.make, known)
            node: Runnable = self.make(known)
            return node
        except FaultError as error:
            return Failed(to_error(error.fault))


class AuthorizedActivity(msgspec.Struct, frozen=True):
    """A call whose arguments hold what it shows of who calls, which is asked for first."""

    authorize: Any
    make: Callable[[Mapping[str, Any]], Any]
    known: Mapping[str, Any]

    async def run(self, tools: Tools) -> Succeeded | Failed | Awaits:
        """Find out who calls, make the arguments, and do the work."""
        who: Succeeded | Failed = await self.authorize.run(tools)
        if isinstance(who, Failed):
            return who
        try:
            node = self.make({**self.known, "authorization": who.output})
        except FaultError as error:
            return Failed(to_error(error.fault))
        return _without(await node.run(tools), who.output["parameter"])


def _without(outcome: Succeeded | Failed | Awaits, shown: str) -> Succeeded | Failed | Awaits:
    """Return an outcome that does not hold what the call has shown."""
    if not isinstance(outcome, Succeeded | Failed):
        return outcome
    plain = msgspec.to_builtins(outcome)
    redacted = Redactor([{"parameter": shown}]).redact(plain)
    return outcome if redacted is plain else msgspec.convert(redacted, type(outcome))


class ActivityBuilder:
    """Makes the nodes of one workflow."""

    def __init__(self, workflow: ServerlessWorkflow, catalogue: Catalogue) -> None:
        self._workflow = workflow
        self._catalogue = catalogue

    def subscribing(self, token: Token) -> Any:
        """Return what says what a run listens to; `token` is the one it began with."""
        found = self._catalogue.get("subscribe")
        if found is None:
            raise TypeError("a catalogue of calls has no subscribe")
        return found.parameters(subscriptions=subscriptions.subscriptions(self._workflow, token))

    def node(self, stop: Act, run: WalkContext) -> Any:
        """Return what does the work of a stop. Raises FaultError for arguments that do not fit."""
        if isinstance(stop.task, EmitTask):
            return self._made(stop.task, subscriptions.filled_in(stop.arguments, run))
        if not stop.task.late:
            return self._made(stop.task, stop.arguments)

        def made(function: str, template: JsonTemplate, known: Mapping[str, Any]) -> Any:
            try:
                return self._made(stop.task, stop.arguments(template, known), function)
            except ExpressionError as problem:
                raise FaultError(standard("expression", str(problem), stop.task.at)) from None

        task = stop.task
        make = partial(made, task.function, task.arguments)
        return LateArguments(
            make, None if task.policy is None else partial(made, "authorize", task.policy)
        )

    def _made(self, task: CallTask, arguments: Any, function: str = "") -> Any:
        found = self._catalogue.get(function or task.function)
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

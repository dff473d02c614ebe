"""Running an activity: credentials in, outcome out, whatever the node does.

An exception inside a node is a failed node, never a dead worker; a node that takes too long is
cancelled; a secret that comes back in an output or an error is redacted before anyone sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from weft.errors import CredentialError
from weft.kernel.lineage import describe
from weft.kernel.messages import Token
from weft.kernel.outcome import Failed, NodeError, Succeeded
from weft.kernel.program import Activity
from weft.ports.node import Tools
from weft.ports.outside import Http, Log, Mail
from weft.ports.secrets import Secrets
from weft.runtime.handling import sound
from weft.runtime.redaction import Redactor


@dataclass(frozen=True, slots=True)
class Activities:
    """Runs nodes that touch the world, with what they may touch."""

    http: Http
    mail: Mail
    log: Log
    secrets: Secrets

    async def run(self, token: Token, activity: Activity) -> Succeeded | Failed:
        """Return what came of the activity. Only cancellation ever leaves this as an exception."""
        try:
            fields = await self._fields(activity.credential)
        except CredentialError as problem:
            return Failed(NodeError(str(problem), "CREDENTIAL"))
        redactor = Redactor([fields])
        outcome = await self._attempt(token, activity, fields, redactor)
        return _redacted(outcome, redactor)

    async def _fields(self, credential: str | None) -> Mapping[str, str]:
        return await self.secrets.resolve(credential) if credential else {}

    async def _attempt(
        self, token: Token, activity: Activity, fields: Mapping[str, str], redactor: Redactor
    ) -> Any:
        tools = Tools(
            http=self.http,
            mail=self.mail,
            log=RedactingLog(self.log, redactor, token),
            credentials=fields,
            idempotency_key=idempotency_key(token),
            attempt=token.attempt,
        )
        limit = asyncio.timeout(activity.timeout_s)
        try:
            async with limit:
                return await activity.node.run(tools)
        except TimeoutError as problem:
            if not limit.expired():
                return _crashed(problem)
            message = f"the node did not finish within {activity.timeout_s:g} s"
            return Failed(NodeError(message, "NODE_TIMEOUT"))
        except asyncio.CancelledError as problem:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the run has ended, or the engine stops: nobody waits for an outcome
            return _crashed(problem)
        except (Exception, SystemExit) as problem:
            return _crashed(problem)


def idempotency_key(token: Token) -> str:
    """Return the key of the work a token stands for: the same for every delivery and attempt."""
    return f"{token.execution_id}-{token.visit or token.token_id}"


def _crashed(problem: BaseException) -> Failed:
    text = str(problem) or "no message"
    return Failed(NodeError(f"{type(problem).__name__}: {text}", "NODE_CRASHED"))


def _redacted(outcome: Any, redactor: Redactor) -> Succeeded | Failed:
    match outcome:
        case Succeeded(output):
            kept = sound(Succeeded(redactor.redact(output)))
        case Failed(NodeError()):
            kept = sound(outcome)
        case _:
            kept = outcome
    match kept:
        case Succeeded():
            return kept
        case Failed(NodeError() as error):
            return Failed(msgspec.convert(redactor.redact(msgspec.to_builtins(error)), NodeError))
        case _:
            kind = type(outcome).__name__
            message = f"the node returned {kind}, not Succeeded or Failed with a NodeError"
            return Failed(NodeError(message, "NODE_CRASHED"))


class RedactingLog:
    """The log as a node sees it: its lines carry where they come from, and no secret."""

    def __init__(self, log: Log, redactor: Redactor, token: Token) -> None:
        self._log = log
        self._redactor = redactor
        self._token = token

    def write(self, level: str, message: str, **fields: object) -> None:
        """Write one line."""
        self._log.write(
            level,
            str(self._redactor.redact(message)),
            **{
                **self._redactor.redact(fields),
                "run": self._token.execution_id,
                "node": self._token.current_node,
                "item": describe(self._token.lineage_stack),
            },
        )


_conforms: type[Log] = RedactingLog

"""Sending signals to runs: noted first, then sent; the same one may be sent any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from onward.errors import NotThereError, StateConflictError
from onward.kernel.context import Payload, Ref
from onward.kernel.json import encode
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.kernel.signal_waits import SignalContent, content_of, signal_token
from onward.ports.clock import Clock
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import SignalLog, StoredSignal

PAGE = 500
_sent = msgspec.json.Decoder(SignalContent)


class SignalTarget(Protocol):
    """A place where runs can be sent tokens."""

    archive: RunQueries
    signals: SignalLog
    clock: Clock

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition."""
        ...

    async def send(self, run: RunRecord, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run, with what it refers to; False when it is known to have ended."""
        ...


class SignalSender:
    """Sends signals."""

    def __init__(self, at: SignalTarget) -> None:
        self._at = at

    async def signal(
        self, run: RunRecord, address: str, signal_id: str, value: Any, sender: str
    ) -> bool:
        """Send a signal with a value; False when one of that id was sent before.

        That one is then sent once more, because whoever sent it may have died half-way.
        ConflictError: the run has ended.
        """
        now_ms = self._at.clock.now_ms()
        sent, payload = content_of(encode(value), now_ms)
        kept = StoredSignal(
            execution_id=run.execution_id,
            address=address,
            signal_id=signal_id,
            content=msgspec.json.encode(sent),
            sender=sender,
            sent_ms=now_ms,
        )
        if run.ended_ms is not None:
            raise _ended(run)
        fresh = await self._at.signals.keep(kept)
        if not fresh:
            before = await self._at.signals.signal(run.execution_id, address, signal_id)
            if before is None:
                raise NotThereError(f"signal {signal_id} of {run.execution_id} is gone")
            sent = _sent.decode(before.content)
            if sent.ref is not None and (payload is None or payload.ref != sent.ref):
                return False  # another value, under the same id: the first stands
        payloads = [] if payload is None else [payload]
        if not await self.tell(run, address, signal_id, sent, payloads):
            raise _ended(run)
        return fresh

    async def tell(
        self,
        run: RunRecord,
        address: str,
        signal_id: str,
        sent: SignalContent,
        payloads: Sequence[Payload] = (),
    ) -> bool:
        """Send a signal that need not be noted; False when the run is known to have ended."""
        definition = await self._at.archive.definition(run.definition_ref)
        if definition is None:
            raise NotThereError(f"the definition of {run.execution_id} is not known here")
        token = _addressed(self._at.compile(definition), run, address, signal_id, sent)
        return await self._at.send(run, token, payloads)


async def signals_of(log: SignalLog, first: Token) -> list[Token]:
    """Return every signal that was sent to the run that `first` is of, in the order they came."""
    return [token_of(signal, first) for signal in await all_signals(log, first.execution_id)]


def token_of(signal: StoredSignal, first: Token) -> Token:
    """Return a signal that was noted on its way to the run that `first` is of."""
    sent = _sent.decode(signal.content)
    return signal_token(first, signal.address, signal.signal_id, sent)


def payload_of(signal: StoredSignal) -> Ref | None:
    """Return where what a signal brings is stored; None when it brings it itself."""
    return _sent.decode(signal.content).ref


async def all_signals(log: SignalLog, execution_id: str) -> list[StoredSignal]:
    """Return every signal that was sent to a run, in the order they came."""
    found: list[StoredSignal] = []
    after = 0
    while page := await log.signals(execution_id, after=after, limit=PAGE):
        after = page[-1].place
        found += [one.signal for one in page]
    return found


def _addressed(
    program: Program, run: RunRecord, address: str, signal_id: str, sent: SignalContent
) -> Token:
    tokens, _ = program.start(run.execution_id, Raw(b"null"), now_ms=run.started_ms)
    token = signal_token(tokens[0], address, signal_id, sent)
    return msgspec.structs.replace(token, generation=run.generation)


def _ended(run: RunRecord) -> StateConflictError:
    return StateConflictError(
        f"run {run.execution_id} has ended already: it is {run.status}", "RUN_ENDED"
    )

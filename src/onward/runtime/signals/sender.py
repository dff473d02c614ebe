"""Sending signals to runs: stored first, then sent; one may be sent any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import NotThereError, StateConflictError
from onward.kernel.context import Payload, Ref
from onward.kernel.json import encode
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import RunRecord
from onward.kernel.signal_waits import SignalContent, content_of, signal_token
from onward.ports.storage.signals import SignalLog, StoredSignal
from onward.runtime.signals.run_host import RunHost

SIGNALS_PAGE = 500
_contents = msgspec.json.Decoder(SignalContent)


class SignalSender:
    """Sends signals to the runs of a host."""

    def __init__(self, host: RunHost) -> None:
        self._host = host

    async def signal(
        self, run: RunRecord, address: str, signal_id: str, value: Any, sender: str
    ) -> bool:
        """Send a signal with a value; False when one of that id was sent before.

        That one is then sent once more: its sender may have died before it was published.
        StateConflictError: the run has ended.
        """
        now_ms = self._host.clock.now_ms()
        sent, payload = content_of(encode(value), now_ms)
        stored = StoredSignal(
            execution_id=run.execution_id,
            address=address,
            signal_id=signal_id,
            content=msgspec.json.encode(sent),
            sender=sender,
            sent_ms=now_ms,
        )
        if run.ended_ms is not None:
            raise _ended(run)
        fresh = await self._host.signals.keep(stored)
        if not fresh:
            before = await self._host.signals.signal(run.execution_id, address, signal_id)
            if before is None:
                raise NotThereError(f"signal {signal_id} of {run.execution_id} is gone")
            sent = _contents.decode(before.content)
            if sent.ref is not None and (payload is None or payload.ref != sent.ref):
                return False  # another value, under the same id: the first stands
        payloads = [] if payload is None else [payload]
        if not await self.send(run, address, signal_id, sent, payloads):
            raise _ended(run)
        return fresh

    async def send(
        self,
        run: RunRecord,
        address: str,
        signal_id: str,
        sent: SignalContent,
        payloads: Sequence[Payload] = (),
    ) -> bool:
        """Send a signal without storing it; False when the run is known to have ended."""
        definition = await self._host.archive.definition(run.definition_ref)
        if definition is None:
            raise NotThereError(f"the definition of {run.execution_id} is not known here")
        token = _addressed(self._host.compile(definition), run, address, signal_id, sent)
        return await self._host.send(token, payloads)


async def signals_of(log: SignalLog, first: Token) -> list[Token]:
    """Return a token for every signal that the run of `first` was sent, in their order."""
    return [token_of(signal, first) for signal in await all_signals(log, first.execution_id)]


def token_of(signal: StoredSignal, first: Token) -> Token:
    """Return the token that carries a stored signal to the run of `first`."""
    sent = _contents.decode(signal.content)
    return signal_token(first, signal.address, signal.signal_id, sent)


def payload_of(signal: StoredSignal) -> Ref | None:
    """Return where the value of a signal is stored; None when the signal carries it itself."""
    return _contents.decode(signal.content).ref


async def all_signals(log: SignalLog, execution_id: str) -> list[StoredSignal]:
    """Return every signal that a run was sent, in their order."""
    found: list[StoredSignal] = []
    after = 0
    while page := await log.signals(execution_id, after=after, limit=SIGNALS_PAGE):
        after = page[-1].place
        found += [entry.signal for entry in page]
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

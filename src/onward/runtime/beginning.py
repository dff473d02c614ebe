"""How a run begins: its first tokens, and what it has from the attempt before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from onward.kernel.context import Payload, Ref
from onward.kernel.lineage import ROOT
from onward.kernel.messages import Token, encode_tokens
from onward.kernel.program import Program
from onward.ports.journal import Journal
from onward.runtime.keeping import renamed
from onward.runtime.repair import restorations
from onward.runtime.run import Run
from onward.runtime.signalling import payload_of, token_of
from onward.runtime.steering import How
from onward.runtime.turn import Turns

START = "start"
"""Under this name an engine that keeps an event log stores the tokens a run began with."""


def first_tokens(
    program: Program, execution_id: str, given: Raw, now_ms: int, how: How
) -> tuple[list[Token], list[Payload]]:
    """Return the tokens a run begins with, and what to store before them.

    A new attempt has the ids of the first one, so that it finds what it keeps.
    """
    tokens, payloads = program.start(how.root or execution_id, given, now_ms=now_ms)
    named = [
        msgspec.structs.replace(
            one, execution_id=execution_id, root=how.root, priority=how.priority
        )
        for one in tokens
    ]
    return named, payloads


def remember(run: Run, turns: Turns, tokens: Sequence[Token]) -> None:
    """Keep the tokens a run begins with, for whoever wants to try it again."""
    body = Raw(encode_tokens(tokens))
    turns.keep(run, [Payload(Ref(START, len(body)), body)])


def inherit(run: Run, turns: Turns, journal: Journal, first: Token, how: How) -> None:
    """Let a run of the embedded engine have what it keeps, in the commit that begins it."""
    run.priority = how.priority
    for signal in how.signals:
        ref = payload_of(signal)
        if ref is not None:
            turns.keep(run, [Payload(ref, Raw(journal.payload(signal.execution_id, ref)))])
        turns.send(run, token_of(signal, first))
    if not how.kept:
        return
    found: list[tuple[Any, Raw | None]] = []
    for one in how.kept:
        output = one.output
        if one.output_ref is not None:
            output = Raw(journal.payload(one.execution_id, one.output_ref))
            turns.keep(run, [Payload(one.output_ref, output)])
        found.append((one, output))
    ended = frozenset(one.token_id for one in how.kept if one.status == "success")
    for restored in restorations(run.program, first, found, ended):
        turns.ask(run, restored)
    run.cells.put(ROOT, "kept", "", 1)
    run.kept = frozenset((one.token_id, one.node_id) for one in how.kept)
    turns.turn.batch.node_runs += renamed(how.kept, run.execution_id)


def recall(run: Run, turns: Turns, journal: Journal) -> None:
    """Let a run that is taken up again know what it was given when it began."""
    if run.cells.get(ROOT, "kept", "") is not None:
        known = journal.node_runs(run.execution_id)
        run.kept = frozenset((one.token_id, one.node_id) for one in known)
    if run.ready:
        waiting = turns.peek(run)
        run.priority = waiting.priority if waiting else 0

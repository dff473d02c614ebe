"""How a run begins: its first tokens, and what it has from the attempt before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from onward.kernel.context import Payload, Ref
from onward.kernel.lineage import ROOT
from onward.kernel.messages import Token, encode_tokens
from onward.ports.storage.journal import Journal
from onward.runtime.embedded.active_run import ActiveRun
from onward.runtime.embedded.turn import TokenHandler
from onward.runtime.signals.sender import payload_of, token_of
from onward.runtime.token.restore import restorations_of
from onward.runtime.token.start import StartOptions, copy_visits

START = "start"
"""Under this name an engine that keeps an event log stores the tokens a run began with."""


def remember(run: ActiveRun, turns: TokenHandler, tokens: Sequence[Token]) -> None:
    """Keep the tokens a run begins with, for whoever wants to try it again."""
    body = Raw(encode_tokens(tokens))
    turns.keep(run, [Payload(Ref(START, len(body)), body)])


def inherit(
    run: ActiveRun, turns: TokenHandler, journal: Journal, first: Token, how: StartOptions
) -> None:
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
    for restored in restorations_of(run.program, first, found, ended):
        turns.ask(run, restored)
    run.cells.put(ROOT, "kept", "", 1)
    run.kept = frozenset((one.token_id, one.node_id) for one in how.kept)
    turns.turn.batch.node_runs += copy_visits(how.kept, run.execution_id)


def recall(run: ActiveRun, turns: TokenHandler, journal: Journal) -> None:
    """Let a run that is taken up again know what it was given when it began."""
    if run.cells.get(ROOT, "kept", "") is not None:
        known = journal.node_runs(run.execution_id)
        run.kept = frozenset((one.token_id, one.node_id) for one in known)
    if run.ready:
        waiting = turns.peek(run)
        run.priority = waiting.priority if waiting else 0

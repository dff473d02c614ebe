"""What a run of the embedded engine has from the attempt before it, and keeps of its start."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from onward.kernel.context import Payload, Ref
from onward.kernel.lineage import ROOT
from onward.kernel.messages import Token, encode_tokens
from onward.kernel.records import VisitRecord
from onward.ports.storage.journal import Journal
from onward.runtime.embedded.active_run import ActiveRun
from onward.runtime.embedded.turn import TokenHandler
from onward.runtime.signals.sender import payload_of, token_of
from onward.runtime.token.restore import restorations_of
from onward.runtime.token.start import StartOptions, copy_visits

START = "start"
"""Under this name an engine with an event log stores the tokens that a run started with."""


def store_first_tokens(run: ActiveRun, handler: TokenHandler, tokens: Sequence[Token]) -> None:
    """Store the tokens a run starts with, so that it can be retried."""
    body = Raw(encode_tokens(tokens))
    handler.store(run, [Payload(Ref(START, len(body)), body)])


def apply_options(
    run: ActiveRun, handler: TokenHandler, journal: Journal, first: Token, how: StartOptions
) -> None:
    """Give a run its priority, signals and inherited visits, in the commit that starts it."""
    run.priority = how.priority
    for signal in how.signals:
        ref = payload_of(signal)
        if ref is not None:
            handler.store(run, [Payload(ref, Raw(journal.payload(signal.execution_id, ref)))])
        handler.send(run, token_of(signal, first))
    if not how.kept:
        return
    inherited: list[tuple[VisitRecord, Raw | None]] = []
    for visit in how.kept:
        output = visit.output
        if visit.output_ref is not None:
            output = Raw(journal.payload(visit.execution_id, visit.output_ref))
            handler.store(run, [Payload(visit.output_ref, output)])
        inherited.append((visit, output))
    ended = frozenset(visit.token_id for visit in how.kept if visit.status == "success")
    for restored in restorations_of(run.program, first, inherited, ended):
        handler.ask(run, restored)
    run.cells.put(ROOT, "kept", "", 1)
    run.inherited = frozenset((visit.token_id, visit.node_id) for visit in how.kept)
    handler.turn.commit.node_runs += copy_visits(how.kept, run.execution_id)


def recover_options(run: ActiveRun, handler: TokenHandler, journal: Journal) -> None:
    """Give a run that is resumed the priority and the inherited visits that it started with."""
    if run.cells.get(ROOT, "kept", "") is not None:
        visits = journal.node_runs(run.execution_id)
        run.inherited = frozenset((visit.token_id, visit.node_id) for visit in visits)
    if run.ready:
        waiting = handler.peek(run)
        run.priority = waiting.priority if waiting else 0

"""What an engine can be asked about its journal: unfinished runs, and what runs came to."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.messages import CompletionMessage
from onward.ports.journal import Execution, Journal, NodeRun


class Looking:
    """Looks into a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def unfinished(self) -> list[Execution]:
        """Return the runs of the journal that have not ended."""
        return self._journal.unfinished()

    def context_of(self, message: CompletionMessage) -> dict[str, Any]:
        """Return the whole final context of a run, with what it refers to."""
        context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
        for name, ref in message.context_refs.items():
            context[name] = msgspec.json.decode(self._journal.payload(message.execution_id, ref))
        return context

    def history(self, execution_id: str) -> list[NodeRun]:
        """Return what every visited node of a run came to."""
        return list(self._journal.node_runs(execution_id))

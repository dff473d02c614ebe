"""What one turn of the embedded engine gathers for its commit, and for the time after it."""

from __future__ import annotations

from dataclasses import dataclass, field

from onward.kernel.effects import Log
from onward.kernel.messages import CompletionMessage, NodeStatusMessage, Token
from onward.kernel.program import Activity
from onward.ports.events import Drafts
from onward.ports.journal import Batch
from onward.runtime.run import Run

News = NodeStatusMessage | CompletionMessage


@dataclass(slots=True)
class Turn:
    """What a turn has gathered: the batch, and what is to be done once it is committed."""

    batch: Batch = field(default_factory=Batch)
    news: list[News | None] = field(default_factory=list)
    activities: list[tuple[Run, int, Token, Activity]] = field(default_factory=list)
    lines: list[Log] = field(default_factory=list)
    ended: list[tuple[Run, CompletionMessage]] = field(default_factory=list)
    touched: dict[str, Run] = field(default_factory=dict)
    progress: dict[str, int] = field(default_factory=dict)
    events: Drafts = field(default_factory=Drafts)
    handled: int = 0
    waiters: list[str] = field(default_factory=list)
    """What somebody waits for to be committed."""

"""What can be set about a process that runs nodes; a cluster's own settings are in `cluster`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onward.ports.nodes.commands import CommandKind


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """What can be set about any process that runs nodes."""

    slots: int
    """How many activities may run at once."""
    env_file: Path | None = None
    """A `.env`-like file with credentials."""
    credential_store: Path | None = None
    key_file: Path | None = None
    events_sink: str = ""
    """Where every event that runs emit is posted; "": nowhere."""
    allowed: tuple[CommandKind, ...] = ()
    """What kinds of processes tasks may start."""
    public_url: str = ""
    """Where people reach the API; "": nodes can hand out no links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings(HostSettings):
    """What can be set about an embedded engine."""

    database: Path = Path(".onward/onward.db")
    slots: int = 64
    lifecycle_events: str = ""
    """Where a server publishes the lifecycle of runs; "": nowhere."""

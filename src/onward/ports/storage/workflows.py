"""Workflows by name: which versions there are, which one is published, whether it may start runs.

A workflow is a value with a revision. A change names the revision it was made from, and is refused
when that is no longer the current one.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from onward.kernel.records import Definition


class WorkflowRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow, as it is at one revision."""

    workflow_id: str
    revision: int
    """Grows by one with every change."""
    latest: int
    """The number of the newest version."""
    published: int | None
    """The version that new runs use; None: none is published."""
    enabled: bool
    created_ms: int
    changed_ms: int


class WorkflowVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a workflow. It never changes."""

    workflow_id: str
    number: int
    definition_ref: str
    created_ms: int
    note: str = ""


class WorkflowRegistry(Protocol):
    """Stores workflows and their versions."""

    async def save(
        self,
        workflow: WorkflowRecord,
        version: WorkflowVersion | None = None,
        definition: Definition | None = None,
    ) -> bool:
        """Write a workflow, with a new version and its definition, all or nothing.

        It is written when the one before it is there: revision 1 when there is none, any other
        when the current revision is one less. False: it is not, and nothing was written.
        """
        ...

    async def workflow(self, workflow_id: str) -> WorkflowRecord | None:
        """Return a workflow as it is now."""
        ...

    async def workflows(self, *, after: str, containing: str, limit: int) -> list[WorkflowRecord]:
        """Return workflows by id, those after `after` whose id contains a text."""
        ...

    async def version(self, workflow_id: str, number: int) -> WorkflowVersion | None:
        """Return one version."""
        ...

    async def versions(self, workflow_id: str, *, before: int, limit: int) -> list[WorkflowVersion]:
        """Return versions with numbers below `before`, newest first."""
        ...

"""Changes of workflows: what each one means, worked out once for every store.

Every change is made from a revision that the caller names. A caller that names none changes what is
there now, and gets StaleError when another change came first.
"""

from __future__ import annotations

from typing import Any

import msgspec

from onward.errors import DefinitionError, NotThereError, StaleError, StateConflictError
from onward.kernel.messages import check_identifier
from onward.kernel.records import Definition
from onward.ports.storage.workflows import WorkflowRecord, WorkflowVersion
from onward.runtime.backend import Backend
from onward.runtime.security import audit
from onward.runtime.workflows.document_schedules import DocumentSchedules


class WorkflowService:
    """Creates workflows, adds versions, publishes, rolls back, enables."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._schedules = DocumentSchedules(backend)

    async def read(self, source: Any) -> Definition:
        """Return the definition in a document; DefinitionError lists every problem."""
        examined = await self._backend.examine(source)
        if examined.definition is None:
            raise DefinitionError(examined.problems)
        check_identifier("workflow_id", examined.definition.workflow_id)
        return examined.definition

    async def create(
        self, definition: Definition, *, note: str = "", publish: bool = True
    ) -> WorkflowRecord:
        """Create the workflow that a definition names, with it as version 1."""
        now_ms = self._backend.clock.now_ms()
        workflow = WorkflowRecord(
            workflow_id=definition.workflow_id,
            revision=1,
            latest=1,
            published=1 if publish else None,
            enabled=True,
            created_ms=now_ms,
            changed_ms=now_ms,
        )
        version = _version(workflow, definition, note)
        if not await self._backend.registry.save(workflow, version, definition):
            raise StateConflictError(
                f"there is a workflow called {definition.workflow_id} already:"
                " add a version to it, or change the document's id",
                "WORKFLOW_EXISTS",
            )
        audit.note(f"workflow {workflow.workflow_id}", None, workflow)
        await self._schedules.follow(workflow.workflow_id)
        return workflow

    async def add_version(
        self,
        workflow_id: str,
        definition: Definition,
        expected: int | None,
        *,
        note: str = "",
        publish: bool = False,
    ) -> WorkflowRecord:
        """Add a version. One that equals the newest is not added again."""
        if definition.workflow_id != workflow_id:
            raise StateConflictError(
                f"the document is called {definition.workflow_id}, the workflow {workflow_id}:"
                " give both the same id",
                "ID_MISMATCH",
            )
        before = await self._current(workflow_id, expected)
        newest = await self._backend.registry.version(workflow_id, before.latest)
        if newest is not None and newest.definition_ref == definition.ref:
            wanted = before.latest if publish else before.published
            return await self._change(before, published=wanted)
        number = before.latest + 1
        after = self._next(before, latest=number, published=number if publish else before.published)
        await self._save(after, _version(after, definition, note), definition, before=before)
        return after

    async def publish(
        self, workflow_id: str, number: int | None, expected: int | None
    ) -> WorkflowRecord:
        """Publish a version, which new runs then use; None: the newest one."""
        before = await self._current(workflow_id, expected)
        wanted = before.latest if number is None else number
        if await self._backend.registry.version(workflow_id, wanted) is None:
            raise NotThereError(
                f"workflow {workflow_id} has no version {wanted}: it has 1 to {before.latest}"
            )
        return await self._change(before, published=wanted)

    async def roll_back(self, workflow_id: str, expected: int | None) -> WorkflowRecord:
        """Publish the version before the published one."""
        before = await self._current(workflow_id, expected)
        if before.published is None or before.published == 1:
            raise StateConflictError(
                f"workflow {workflow_id} has no version before the published one:"
                " publish a version by its number",
                "NOTHING_BEFORE",
            )
        return await self._change(before, published=before.published - 1)

    async def enable(self, workflow_id: str, enabled: bool, expected: int | None) -> WorkflowRecord:
        """Allow new runs, or no longer; running ones are not affected."""
        return await self._change(await self._current(workflow_id, expected), enabled=enabled)

    async def definition_of(self, workflow_id: str, number: int | None) -> Definition:
        """Return a version's definition; None: the published one, if runs may start at all."""
        workflow = await self.known(workflow_id)
        if number is None and not workflow.enabled:
            raise StateConflictError(
                f"workflow {workflow_id} is disabled: enable it, or name a version",
                "WORKFLOW_DISABLED",
            )
        wanted = workflow.published if number is None else number
        if wanted is None:
            raise StateConflictError(
                f"workflow {workflow_id} has no published version: publish one, or name a version",
                "NOT_PUBLISHED",
            )
        version = await self.version(workflow_id, wanted)
        definition = await self._backend.archive.definition(version.definition_ref)
        if definition is None:
            raise NotThereError(f"the definition of {workflow_id} version {wanted} is gone")
        return definition

    async def known(self, workflow_id: str) -> WorkflowRecord:
        """Return a workflow that must exist."""
        workflow = await self._backend.registry.workflow(workflow_id)
        if workflow is None:
            raise NotThereError(f"there is no workflow called {workflow_id}")
        return workflow

    async def version(self, workflow_id: str, number: int) -> WorkflowVersion:
        """Return a version that must exist."""
        version = await self._backend.registry.version(workflow_id, number)
        if version is None:
            raise NotThereError(f"workflow {workflow_id} has no version {number}")
        return version

    async def _current(self, workflow_id: str, expected: int | None) -> WorkflowRecord:
        workflow = await self.known(workflow_id)
        if expected is not None and expected != workflow.revision:
            raise _stale(workflow_id, expected, workflow.revision)
        return workflow

    def _next(self, before: WorkflowRecord, **changes: Any) -> WorkflowRecord:
        return msgspec.structs.replace(
            before, revision=before.revision + 1, changed_ms=self._backend.clock.now_ms(), **changes
        )

    async def _change(self, before: WorkflowRecord, **changes: Any) -> WorkflowRecord:
        """Save the changes; when there are none, the workflow stays at its revision."""
        if all(getattr(before, name) == value for name, value in changes.items()):
            await self._schedules.follow(before.workflow_id)
            return before
        after = self._next(before, **changes)
        await self._save(after, before=before)
        return after

    async def _save(
        self,
        after: WorkflowRecord,
        version: WorkflowVersion | None = None,
        definition: Definition | None = None,
        *,
        before: WorkflowRecord,
    ) -> None:
        if not await self._backend.registry.save(after, version, definition):
            raise _stale(after.workflow_id, after.revision - 1, None)
        audit.note(f"workflow {after.workflow_id}", before, after)
        await self._schedules.follow(after.workflow_id)


def _version(workflow: WorkflowRecord, definition: Definition, note: str) -> WorkflowVersion:
    return WorkflowVersion(
        workflow_id=workflow.workflow_id,
        number=workflow.latest,
        definition_ref=definition.ref,
        created_ms=workflow.changed_ms,
        note=note,
    )


def _stale(workflow_id: str, expected: int, now: int | None) -> StaleError:
    current = f", it is at {now} now" if now is not None else ""
    return StaleError(
        f"workflow {workflow_id} was changed since revision {expected}{current}:"
        " get it again and repeat the change"
    )

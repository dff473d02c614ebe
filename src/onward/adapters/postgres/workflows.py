"""Workflows and their versions in PostgreSQL."""

from __future__ import annotations

from onward.adapters.postgres import statements
from onward.adapters.postgres.connection import PostgresConnections
from onward.kernel.records import Definition
from onward.ports.storage.workflows import WorkflowRecord, WorkflowRegistry, WorkflowVersion

_CREATE = """
INSERT INTO workflow (workflow_id, revision, latest, published, enabled, created_ms, changed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (workflow_id) DO NOTHING
RETURNING workflow_id
"""
_CHANGE = """
UPDATE workflow SET revision = $2, latest = $3, published = $4, enabled = $5, changed_ms = $7
WHERE workflow_id = $1 AND revision = $2 - 1 AND created_ms = $6
RETURNING workflow_id
"""
_ADD_VERSION = "INSERT INTO workflow_version VALUES ($1, $2, $3, $4, $5)"
_WORKFLOW = "SELECT * FROM workflow WHERE workflow_id = $1"
_WORKFLOWS = """
SELECT * FROM workflow WHERE workflow_id > $1 AND strpos(workflow_id, $2) > 0
ORDER BY workflow_id LIMIT $3
"""
_VERSION = "SELECT * FROM workflow_version WHERE workflow_id = $1 AND number = $2"
_VERSIONS = """
SELECT * FROM workflow_version WHERE workflow_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3
"""


class PostgresRegistry(PostgresConnections):
    """A `Registry` that any number of masters share."""

    async def save(
        self,
        workflow: WorkflowRecord,
        version: WorkflowVersion | None = None,
        definition: Definition | None = None,
    ) -> bool:
        """Write a workflow if the one before it is there, with what is new, all or nothing."""
        values = (
            workflow.workflow_id,
            workflow.revision,
            workflow.latest,
            workflow.published,
            workflow.enabled,
            workflow.created_ms,
            workflow.changed_ms,
        )
        statement = _CREATE if workflow.revision == 1 else _CHANGE
        async with self.connection() as db, db.transaction():
            if await db.fetchval(statement, *values) is None:
                return False
            if definition is not None:
                await db.execute(statements.SAVE_DEFINITION, *definition)
            if version is not None:
                await db.execute(
                    _ADD_VERSION,
                    version.workflow_id,
                    version.number,
                    version.definition_ref,
                    version.created_ms,
                    version.note,
                )
        return True

    async def workflow(self, workflow_id: str) -> WorkflowRecord | None:
        """Return a workflow as it is now."""
        async with self.connection() as db:
            row = await db.fetchrow(_WORKFLOW, workflow_id)
        return WorkflowRecord(**row) if row else None

    async def workflows(self, *, after: str, containing: str, limit: int) -> list[WorkflowRecord]:
        """Return a page of workflows by id."""
        async with self.connection() as db:
            rows = await db.fetch(_WORKFLOWS, after, containing, limit)
        return [WorkflowRecord(**row) for row in rows]

    async def version(self, workflow_id: str, number: int) -> WorkflowVersion | None:
        """Return one version."""
        async with self.connection() as db:
            row = await db.fetchrow(_VERSION, workflow_id, number)
        return WorkflowVersion(**row) if row else None

    async def versions(self, workflow_id: str, *, before: int, limit: int) -> list[WorkflowVersion]:
        """Return a page of versions, newest first."""
        async with self.connection() as db:
            rows = await db.fetch(_VERSIONS, workflow_id, before, limit)
        return [WorkflowVersion(**row) for row in rows]


_conforms: type[WorkflowRegistry] = PostgresRegistry

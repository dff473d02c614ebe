"""Workflows and their versions, in two tables."""

from __future__ import annotations

from msgspec.structs import astuple

from onward.adapters.sql.database import Row, SqlDatabase, Step
from onward.adapters.sql.rows import read_struct
from onward.kernel.records import Definition
from onward.ports.storage.workflows import WorkflowRecord, WorkflowRegistry, WorkflowVersion

SAVE_DEFINITION = """
INSERT INTO definition (ref, workflow_id, source) VALUES ($1, $2, $3)
ON CONFLICT (ref) DO NOTHING
"""
_CREATE = """
INSERT INTO workflow (workflow_id, revision, latest, published, enabled, created_ms, changed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (workflow_id) DO NOTHING
"""
_CHANGE = """
UPDATE workflow SET revision = $2, latest = $3, published = $4, enabled = $5, changed_ms = $7
WHERE workflow_id = $1 AND revision = $2 - 1 AND created_ms = $6
"""
_ADD_VERSION = """
INSERT INTO workflow_version (workflow_id, number, definition_ref, created_ms, note)
VALUES ($1, $2, $3, $4, $5)
"""
_WORKFLOW = """
SELECT workflow_id, revision, latest, published, enabled, created_ms, changed_ms
FROM workflow WHERE workflow_id = $1
"""
_WORKFLOWS = """
SELECT workflow_id, revision, latest, published, enabled, created_ms, changed_ms
FROM workflow WHERE workflow_id > $1 AND strpos(workflow_id, $2) > 0
ORDER BY workflow_id LIMIT $3
"""
_VERSION = """
SELECT workflow_id, number, definition_ref, created_ms, note
FROM workflow_version WHERE workflow_id = $1 AND number = $2
"""
_VERSIONS = """
SELECT workflow_id, number, definition_ref, created_ms, note
FROM workflow_version WHERE workflow_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3
"""


class TableWorkflows:
    """A `WorkflowRegistry` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def save(
        self,
        workflow: WorkflowRecord,
        version: WorkflowVersion | None = None,
        definition: Definition | None = None,
    ) -> bool:
        more: list[Step] = []
        if definition is not None:
            more.append((SAVE_DEFINITION, tuple(definition)))
        if version is not None:
            more.append((_ADD_VERSION, astuple(version)))
        statement = _CREATE if workflow.revision == 1 else _CHANGE
        return await self._tables.change((statement, astuple(workflow)), *more) == 1

    async def workflow(self, workflow_id: str) -> WorkflowRecord | None:
        rows = await self._tables.rows(_WORKFLOW, workflow_id)
        return _workflow(rows[0]) if rows else None

    async def workflows(self, *, after: str, containing: str, limit: int) -> list[WorkflowRecord]:
        rows = await self._tables.rows(_WORKFLOWS, after, containing, limit)
        return [_workflow(row) for row in rows]

    async def version(self, workflow_id: str, number: int) -> WorkflowVersion | None:
        rows = await self._tables.rows(_VERSION, workflow_id, number)
        return read_struct(WorkflowVersion, rows[0]) if rows else None

    async def versions(self, workflow_id: str, *, before: int, limit: int) -> list[WorkflowVersion]:
        rows = await self._tables.rows(_VERSIONS, workflow_id, before, limit)
        return [read_struct(WorkflowVersion, row) for row in rows]


def _workflow(row: Row) -> WorkflowRecord:
    workflow_id, revision, latest, published, enabled, created_ms, changed_ms = row
    return WorkflowRecord(
        workflow_id=workflow_id,
        revision=revision,
        latest=latest,
        published=published,
        enabled=bool(enabled),
        created_ms=created_ms,
        changed_ms=changed_ms,
    )


_conforms: type[WorkflowRegistry] = TableWorkflows

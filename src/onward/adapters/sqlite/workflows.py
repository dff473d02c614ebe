"""Workflows and their versions, in the file of the journal."""

from __future__ import annotations

import sqlite3
from typing import Any

from onward.adapters.sqlite.connection import SqliteConnection, transaction
from onward.kernel.records import Definition
from onward.ports.storage.workflows import WorkflowRecord, WorkflowRegistry, WorkflowVersion

_CREATE = "INSERT INTO workflow VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_CHANGE = """
UPDATE workflow SET revision = ?2, latest = ?3, published = ?4, enabled = ?5, changed_ms = ?7
WHERE workflow_id = ?1 AND revision = ?2 - 1 AND created_ms = ?6
"""
_WORKFLOWS = """
SELECT * FROM workflow WHERE workflow_id > ? AND instr(workflow_id, ?) > 0
ORDER BY workflow_id LIMIT ?
"""
_VERSION = "SELECT * FROM workflow_version WHERE workflow_id = ? AND number = ?"
_VERSIONS = """
SELECT * FROM workflow_version WHERE workflow_id = ? AND number < ? ORDER BY number DESC LIMIT ?
"""


class SqliteRegistry:
    """A `Registry` beside the runs of an embedded engine."""

    def __init__(self, file: SqliteConnection) -> None:
        self._file = file

    async def save(
        self,
        workflow: WorkflowRecord,
        version: WorkflowVersion | None = None,
        definition: Definition | None = None,
    ) -> bool:
        """Write a workflow if the one before it is there, with what is new, all or nothing."""

        def work(db: sqlite3.Connection) -> bool:
            with transaction(db):
                return _save(db, workflow, version, definition)

        return await self._file.do(work)

    async def workflow(self, workflow_id: str) -> WorkflowRecord | None:
        """Return a workflow as it is now."""
        query = "SELECT * FROM workflow WHERE workflow_id = ?"
        rows = await self._file.do(lambda db: db.execute(query, (workflow_id,)).fetchall())
        return _workflow(rows[0]) if rows else None

    async def workflows(self, *, after: str, containing: str, limit: int) -> list[WorkflowRecord]:
        """Return a page of workflows by id."""
        values = (after, containing, limit)
        rows = await self._file.do(lambda db: db.execute(_WORKFLOWS, values).fetchall())
        return [_workflow(row) for row in rows]

    async def version(self, workflow_id: str, number: int) -> WorkflowVersion | None:
        """Return one version."""
        values = (workflow_id, number)
        rows = await self._file.do(lambda db: db.execute(_VERSION, values).fetchall())
        return _version(rows[0]) if rows else None

    async def versions(self, workflow_id: str, *, before: int, limit: int) -> list[WorkflowVersion]:
        """Return a page of versions, newest first."""
        values = (workflow_id, before, limit)
        rows = await self._file.do(lambda db: db.execute(_VERSIONS, values).fetchall())
        return [_version(row) for row in rows]


def _save(
    db: sqlite3.Connection,
    workflow: WorkflowRecord,
    version: WorkflowVersion | None,
    definition: Definition | None,
) -> bool:
    values = (
        workflow.workflow_id,
        workflow.revision,
        workflow.latest,
        workflow.published,
        workflow.enabled,
        workflow.created_ms,
        workflow.changed_ms,
    )
    if db.execute(_CREATE if workflow.revision == 1 else _CHANGE, values).rowcount != 1:
        return False
    if definition is not None:
        db.execute("INSERT OR IGNORE INTO definition VALUES (?, ?, ?)", definition)
    if version is not None:
        db.execute(
            "INSERT INTO workflow_version VALUES (?, ?, ?, ?, ?)",
            (
                version.workflow_id,
                version.number,
                version.definition_ref,
                version.created_ms,
                version.note,
            ),
        )
    return True


def _workflow(row: tuple[Any, ...]) -> WorkflowRecord:
    name, revision, latest, published, enabled, created_ms, changed_ms = row
    return WorkflowRecord(
        workflow_id=name,
        revision=revision,
        latest=latest,
        published=published,
        enabled=bool(enabled),
        created_ms=created_ms,
        changed_ms=changed_ms,
    )


def _version(row: tuple[Any, ...]) -> WorkflowVersion:
    name, number, ref, created_ms, note = row
    return WorkflowVersion(
        workflow_id=name, number=number, definition_ref=ref, created_ms=created_ms, note=note
    )


_conforms: type[WorkflowRegistry] = SqliteRegistry

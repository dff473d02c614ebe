"""The schedules of documents: what is published decides which triggers there are.

A document that says when its runs start gets a trigger of its own, which follows the published
version: another schedule replaces it, none removes it, and so does disabling the workflow.
"""

from __future__ import annotations

import asyncio

import msgspec

from onward.errors import DefinitionError, StateConflictError
from onward.kernel.ids import derive
from onward.kernel.records import Definition
from onward.ports.nodes.outside import Log
from onward.ports.storage.triggers import Settings, Trigger
from onward.ports.storage.workflows import WorkflowRecord
from onward.runtime.backend import Backend
from onward.runtime.schedules import first_due

PREFIX = "schedule_"
"""What the names of these triggers begin with, and no others."""
LONGEST_NAME = 128
FOLLOW_ATTEMPTS = 10
WORKFLOWS_PAGE = 100
AGAIN_MS = 60 * 60 * 1000
"""How often to follow all workflows: the process that published one may have died before its
schedule was changed."""
PAUSE_MS = 10_000
"""How long to wait before that is tried again."""


def trigger_of(workflow_id: str) -> str:
    """Return the name of the trigger that a document's schedule has."""
    name = PREFIX + workflow_id
    return name if len(name) <= LONGEST_NAME else f"{PREFIX}{derive(workflow_id)}"


class DocumentSchedules:
    """Keeps the triggers of documents as their published versions ask."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def follow(self, workflow_id: str) -> None:
        """Make the trigger of a workflow what its published document asks for.

        A version that is published meanwhile is not missed: the workflow is read again after its
        trigger has been changed.
        """
        name = trigger_of(workflow_id)
        for _ in range(FOLLOW_ATTEMPTS):
            workflow = await self._backend.registry.workflow(workflow_id)
            if workflow is None:
                return
            wanted = await self._wanted(workflow)
            current = await self._backend.triggers.trigger(name)
            if current is not None and not current.owned:
                if wanted is None:
                    return  # a user's own trigger, from before this name was reserved
                raise StateConflictError(
                    f"there is a trigger called {name}, which the schedule of the document needs:"
                    " remove it, and publish again",
                    "TRIGGER_EXISTS",
                )
            if await self._change(name, workflow_id, current, wanted):
                latest = await self._backend.registry.workflow(workflow_id)
                if latest is None or latest.revision == workflow.revision:
                    return

    async def follow_all(self, log: Log) -> None:
        """Follow every workflow; a problem of one is logged, and holds up no other."""
        after = ""
        while True:
            page = await self._backend.registry.workflows(
                after=after, containing="", limit=WORKFLOWS_PAGE
            )
            for workflow in page:
                try:
                    await self.follow(workflow.workflow_id)
                except (StateConflictError, DefinitionError) as problem:
                    log.write("warning", f"the schedule of {workflow.workflow_id}: {problem}")
            if len(page) < WORKFLOWS_PAGE:
                return
            after = page[-1].workflow_id

    async def run(self, log: Log) -> None:
        """Follow every workflow now and then until cancelled, also when services come and go."""
        clock, never = self._backend.clock, asyncio.Event()
        while True:
            pause_ms = AGAIN_MS
            try:
                await self.follow_all(log)
            except Exception as problem:  # a service that is away, above all: try again
                log.write("warning", f"schedules of documents: {problem}")
                pause_ms = PAUSE_MS
            await clock.wait(never, clock.now_ms() + pause_ms)

    async def _wanted(self, workflow: WorkflowRecord) -> Settings | None:
        definition = await self._published(workflow)
        return None if definition is None else self._backend.schedule_in(definition)

    async def _published(self, workflow: WorkflowRecord) -> Definition | None:
        if not workflow.enabled or workflow.published is None:
            return None
        version = await self._backend.registry.version(workflow.workflow_id, workflow.published)
        if version is None:
            return None
        return await self._backend.archive.definition(version.definition_ref)

    async def _change(
        self, name: str, workflow_id: str, current: Trigger | None, wanted: Settings | None
    ) -> bool:
        triggers = self._backend.triggers
        if current is None:
            return wanted is None or await triggers.save(self._fresh(name, workflow_id, wanted))
        if wanted is None:
            await self._backend.gatherings.drop(name)
            return await triggers.remove(name, current.revision)
        if current.settings == wanted:
            return True
        now_ms = self._backend.clock.now_ms()
        after = msgspec.structs.replace(
            current,
            revision=current.revision + 1,
            settings=wanted,
            enabled=True,
            next_due_ms=first_due(wanted, current.created_ms, now_ms),
            changed_ms=now_ms,
        )
        if not await triggers.save(after):
            return False
        await self._backend.gatherings.drop(name)  # what was collected is for other filters
        return True

    def _fresh(self, name: str, workflow_id: str, wanted: Settings) -> Trigger:
        now_ms = self._backend.clock.now_ms()
        return Trigger(
            trigger_id=name,
            workflow_id=workflow_id,
            revision=1,
            enabled=True,
            settings=wanted,
            next_due_ms=first_due(wanted, now_ms, now_ms),
            created_ms=now_ms,
            changed_ms=now_ms,
        )

"""Starting runs, once for each idempotency key."""

from __future__ import annotations

import msgspec

from onward.api.routing.refusals import RequestRefusedError, invalid_request
from onward.api.runs.views import RunGiven
from onward.errors import StateConflictError
from onward.kernel.ids import fingerprint
from onward.kernel.records import Definition, RunRecord
from onward.ports.storage.run_queries import StartKey
from onward.runtime.backend import Backend
from onward.runtime.token.start import DEFAULT_START, StartOptions
from onward.runtime.workflows.service import WorkflowService

KEY_LASTS_MS = 24 * 60 * 60 * 1000
"""How long a key is remembered."""


class RunStarter:
    """Starts what is asked for."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._workflows = WorkflowService(backend)
        self._next_cleaning_ms = 0

    async def start(self, given: RunGiven, key: str | None) -> tuple[RunRecord, bool]:
        """Return the run that a request stands for, and whether it is a new one."""
        if (given.workflow_id is None) == (not given.definition):
            raise invalid_request("give a workflow_id or a definition, and not both")
        if given.definition and given.version is not None:
            raise invalid_request("version: it goes with a workflow_id, not a definition")
        # What cannot run uses up no key.
        inline = await self._workflows.read(given.definition) if given.definition else None
        now_ms = self._backend.clock.now_ms()
        wanted = given.execution_id or self._backend.chance.execution_id(now_ms)
        if key is not None:
            wanted = await self._claim(key, given, wanted, now_ms)
            known = await self._backend.archive.run(wanted)
            if known is not None:
                return known, False
        definition = inline or await self._published(given)
        try:
            await self._backend.start(definition, given.input, wanted, _options_of(given, now_ms))
        except StateConflictError:
            known = await self._backend.archive.run(wanted) if key is not None else None
            if known is None:
                raise
            return known, False
        run = await self._backend.archive.run(wanted)
        if run is None:
            run = _begun(wanted, definition, now_ms)
        return run, True

    async def _published(self, given: RunGiven) -> Definition:
        return await self._workflows.definition_of(given.workflow_id or "", given.version)

    async def _claim(self, key: str, given: RunGiven, wanted: str, now_ms: int) -> str:
        """Return the id of the run that a key stands for; refused when it stands for another."""
        if not key.strip():
            raise invalid_request("Idempotency-Key: it is empty")
        if now_ms >= self._next_cleaning_ms:
            self._next_cleaning_ms = now_ms + KEY_LASTS_MS // 24
            await self._backend.archive.drop_keys(now_ms - KEY_LASTS_MS)
        asked = fingerprint(msgspec.json.encode(given, order="deterministic"))
        found = await self._backend.archive.claim_key(key, StartKey(wanted, asked), now_ms)
        if found.fingerprint != asked:
            raise RequestRefusedError(
                422,
                "IDEMPOTENCY_KEY_REUSED",
                "this Idempotency-Key was used for another request: use a new one",
            )
        return found.execution_id


def _options_of(given: RunGiven, now_ms: int) -> StartOptions:
    if not given.priority and given.timeout_ms is None:
        return DEFAULT_START
    deadline_ms = None if given.timeout_ms is None else now_ms + given.timeout_ms
    return StartOptions(priority=given.priority, deadline_ms=deadline_ms)


def _begun(execution_id: str, definition: Definition, now_ms: int) -> RunRecord:
    return RunRecord(
        execution_id=execution_id,
        workflow_id=definition.workflow_id,
        definition_ref=definition.ref,
        status="running",
        started_ms=now_ms,
    )

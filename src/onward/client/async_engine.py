"""The client: workflows, runs and operations of one engine, in this process or on a server."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self

import msgspec

from onward.client.async_run import AsyncRun
from onward.client.calls.operations import OperationCalls
from onward.client.calls.runs import BulkCalls
from onward.client.calls.security import AccessCalls
from onward.client.calls.triggers import TriggerCalls
from onward.client.errors import refusal
from onward.client.event_stream import follow
from onward.client.requests import words
from onward.client.transports.transport import PREFIX
from onward.client.values import Difference, Event, Examined, Imported, RunInfo, Version, Workflow

Definition = Mapping[str, Any] | str | Path
"""A document: its value, its YAML or JSON text, or the file it is in."""

_IDENTIFIER = re.compile(r"[a-zA-Z0-9_-]{1,128}")

PAGE = 200
PATIENCE_S = 30.0


class AsyncEngine(BulkCalls, TriggerCalls, AccessCalls, OperationCalls):
    """An engine and everything in it. Use it as an async context manager, or `open` and `close`.

    `AsyncEngine.embedded(path)` runs workflows in this process, `AsyncEngine.connect(url)` asks a
    server; every method does the same on both. What is refused is raised as `ApiError`.
    """

    @classmethod
    def embedded(
        cls,
        path: str | Path = ".onward/onward.db",
        *,
        slots: int = 64,
        env_file: str | Path | None = None,
        credential_store: str | Path | None = None,
        key_file: str | Path | None = None,
    ) -> Self:
        """Return an engine in this process, with everything in one file; unfinished runs go on."""
        from onward.client.transports.in_process import open_inside  # noqa: PLC0415  (an engine)

        places = (env_file, credential_store, key_file)
        files = [None if place is None else Path(place) for place in places]
        return cls(lambda: open_inside(Path(path), slots, *files))

    @classmethod
    def connect(cls, url: str, token: str | None = None, *, timeout_s: float = PATIENCE_S) -> Self:
        """Return the engine that a server at `url` stands for."""
        from onward.client.transports.http import open_network  # noqa: PLC0415  (httpx)

        return cls(lambda: open_network(url, token, timeout_s))

    # -- workflows ------------------------------------------------------------------------------

    def workflows(self, containing: str = "") -> AsyncIterator[Workflow]:
        """Iterate over workflows by id."""
        return self.pages(Workflow, "/workflows", q=containing, limit=PAGE)

    async def workflow(self, workflow_id: str) -> Workflow:
        """Return a workflow as it is now."""
        return await self.get(Workflow, f"/workflows/{workflow_id}")

    async def validate(self, definition: Definition) -> Examined:
        """Return every problem of a document; nothing is kept."""
        return await self.post(
            Examined, "/workflows:validate", {"definition": document(definition)}
        )

    async def push(
        self, definition: Definition, *, note: str = "", publish: bool = True
    ) -> Workflow:
        """Keep a document: a new workflow, or the next version of the one it names.

        A document that equals the newest version is not kept twice.
        """
        given = document(definition)
        examined = await self.validate(definition)
        body = {"definition": given, "note": note, "publish": publish}
        known = examined.workflow_id
        if known is not None and await self._has(known):
            return await self.post(Workflow, f"/workflows/{known}/versions", body)
        return await self.post(Workflow, "/workflows", body)

    async def _has(self, workflow_id: str) -> bool:
        answer = await self.transport.send("GET", f"{PREFIX}/workflows/{workflow_id}", {}, {}, None)
        if answer.status not in {200, 404}:
            raise refusal(answer.status, answer.body)
        return answer.status == 200

    async def publish(self, workflow_id: str, version: int | None = None) -> Workflow:
        """Let new runs use a version; None: the newest."""
        return await self.post(Workflow, f"/workflows/{workflow_id}:publish", {"version": version})

    async def rollback(self, workflow_id: str) -> Workflow:
        """Let new runs use the version before the published one."""
        return await self.post(Workflow, f"/workflows/{workflow_id}:rollback")

    async def enable(self, workflow_id: str) -> Workflow:
        """Allow new runs."""
        return await self.post(Workflow, f"/workflows/{workflow_id}:enable")

    async def disable(self, workflow_id: str) -> Workflow:
        """Allow no new runs."""
        return await self.post(Workflow, f"/workflows/{workflow_id}:disable")

    def versions(self, workflow_id: str) -> AsyncIterator[Version]:
        """Iterate over the versions of a workflow, newest first."""
        return self.pages(Version, f"/workflows/{workflow_id}/versions", limit=PAGE)

    async def definition(self, workflow_id: str, version: int | None = None) -> dict[str, Any]:
        """Return the document of a version; None: the published one, or else the newest."""
        if version is None:
            known = await self.workflow(workflow_id)
            version = known.published_version or known.latest_version
        found = await self.call("GET", f"/workflows/{workflow_id}/versions/{version}")
        return dict(found["definition"])

    async def diff(self, workflow_id: str, before: int, after: int) -> list[Difference]:
        """Return every place at which two versions differ."""
        path, query = f"/workflows/{workflow_id}:diff", {"before": before, "after": after}
        found = await self.call("GET", path, query=query)
        return msgspec.convert(found["differences"], list[Difference])

    async def export_workflows(self) -> list[dict[str, Any]]:
        """Return the document of every workflow."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            query = {"limit": PAGE, "cursor": cursor}
            page = await self.call("POST", "/workflows:export", query=query)
            found += page["workflows"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    async def import_workflows(self, documents: Sequence[Mapping[str, Any]]) -> Imported:
        """Create or publish each workflow; nothing is changed unless every document can run."""
        body = {"format": "onward-workflows-1", "workflows": list(documents)}
        return await self.post(Imported, "/workflows:import", body)

    # -- runs -----------------------------------------------------------------------------------

    async def start(
        self,
        workflow: Definition,
        input: Any = None,  # noqa: A002  (as the API calls it)
        *,
        version: int | None = None,
        key: str | None = None,
        execution_id: str | None = None,
        priority: int = 0,
        timeout_ms: int | None = None,
    ) -> AsyncRun:
        """Start a run of a workflow, by its id, or of a document that is not kept as one.

        With a `key`, a repeated call starts nothing and returns the run that it started before.
        The higher the priority, from 0 to 5, the sooner; a run that takes longer than
        `timeout_ms` fails.
        """
        body: dict[str, Any] = {"input": input, "execution_id": execution_id}
        if priority or timeout_ms is not None:
            body |= {"priority": priority, "timeout_ms": timeout_ms}
        if isinstance(workflow, str) and _IDENTIFIER.fullmatch(workflow):
            body |= {"workflow_id": workflow, "version": version}
        else:
            body["definition"] = document(workflow)
        headers = {} if key is None else {"idempotency_key": key}
        started = await self.post(RunInfo, "/runs", body, **headers)
        return AsyncRun(self, started.execution_id)

    def run(self, execution_id: str) -> AsyncRun:
        """Return the handle of a run; nothing is asked yet."""
        return AsyncRun(self, execution_id)

    def runs(
        self,
        *,
        workflow_id: str | None = None,
        status: str | Sequence[str] = (),
        trigger_id: str | None = None,
        containing: str = "",
        started_after: str | None = None,
        started_before: str | None = None,
    ) -> AsyncIterator[RunInfo]:
        """Iterate over runs, newest first."""
        return self.pages(
            RunInfo,
            "/runs",
            workflow_id=workflow_id,
            status=status if isinstance(status, str) else ",".join(status),
            trigger_id=trigger_id,
            q=containing,
            started_after=started_after,
            started_before=started_before,
            limit=PAGE,
        )

    async def events(
        self,
        *,
        workflow_id: str | None = None,
        runs: Sequence[str] = (),
        cursor: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Iterate over the events of many runs as they happen, without an end.

        Each has a `cursor`; with one, it goes on after that event, also on another server.
        Without one it begins now.
        """
        query = words({"workflow_id": workflow_id, "runs": ",".join(runs) or None})
        path = f"{PREFIX}/events/stream"
        async with aclosing(follow(self.transport, path, query, cursor or "")) as stream:
            async for told in stream:
                event = msgspec.json.decode(told.data, type=Event)
                yield msgspec.structs.replace(event, cursor=told.id)


def document(definition: Definition) -> Any:
    """Return a document as it is sent: its value, or its text."""
    return definition.read_text() if isinstance(definition, Path) else definition

"""The API over real HTTP, on a free port of this machine: embedded, or on a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from api.exercised import noting
from onward.api.app import make_app
from onward.api.http.identity import Access
from onward.api.server import Listener
from onward.bootstrap.cluster import ClusterSettings, open_cluster
from onward.bootstrap.cluster_backend import guard_runs, open_cluster_backend
from onward.bootstrap.embedded_backend import open_embedded_backend
from onward.bootstrap.settings import EmbeddedSettings
from onward.runtime.backend import Backend

PATIENCE_S = 120
API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Service:
    """A server, and a client for it."""

    url: str
    client: httpx2.AsyncClient
    backend: Backend

    async def get(self, path: str, **more: Any) -> httpx2.Response:
        """GET below /api/v1."""
        return await self.client.get(API + path, **more)

    async def post(self, path: str, json: Any = None, **more: Any) -> httpx2.Response:
        """POST below /api/v1."""
        return await self.client.post(API + path, json=json, **more)

    async def create(self, document: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Create a workflow and return it."""
        answer = await self.post("/workflows", {"definition": document, **more})
        assert 201 == answer.status_code, answer.text
        return dict(answer.json())

    async def start(self, document: dict[str, Any], given: Any = None) -> str:
        """Start a run of a document and return its id."""
        answer = await self.post("/runs", {"definition": document, "input": given})
        assert 201 == answer.status_code, answer.text
        return str(answer.json()["execution_id"])

    async def ended(self, execution_id: str) -> dict[str, Any]:
        """Return a run once it has ended and its last event is written."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                run = (await self.get(f"/runs/{execution_id}")).json()
                if run["ended_at"] is not None:
                    return dict(run)
                await asyncio.sleep(0.02)

    async def events(self, execution_id: str) -> list[dict[str, Any]]:
        """Return every event of a run."""
        found: list[dict[str, Any]] = []
        more = True
        while more:
            after = found[-1]["seq"] if found else 0
            page = (await self.get(f"/runs/{execution_id}/events", params={"after": after})).json()
            found += page["items"]
            more = page["more"]
        return found


@asynccontextmanager
async def serving(
    backend: Backend, access: Access | None = None, heartbeat_s: float = 15.0
) -> AsyncIterator[Service]:
    """Serve a backend on a free port until the context is left."""
    stopping = asyncio.Event()
    listener = Listener("127.0.0.1", 0)
    app = make_app(backend, access or Access(), heartbeat_s=heartbeat_s)
    task = asyncio.create_task(listener.serve(noting(app, backend.kind), stopping))
    try:
        async with httpx2.AsyncClient(base_url=listener.url, timeout=PATIENCE_S) as client:
            yield Service(listener.url, client, backend)
    finally:
        stopping.set()
        await task
        listener.close()


@asynccontextmanager
async def embedded(folder: Any, **more: Any) -> AsyncIterator[Backend]:
    """Open an embedded backend in a folder."""
    async with open_embedded_backend(
        EmbeddedSettings(database=folder / "onward.db", **more)
    ) as backend:
        yield backend


@asynccontextmanager
async def distributed(
    rabbitmq: str, redis: str, postgres: str, **more: Any
) -> AsyncIterator[Backend]:
    """Open a cluster with a worker, a scheduler and a master, and return its backend."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(
            open_cluster(
                ClusterSettings(
                    rabbitmq_url=rabbitmq, redis_url=redis, postgres_url=postgres, **more
                )
            )
        )
        worker = cluster.worker()
        tasks = [
            asyncio.create_task(one)
            for one in (
                worker.run(),
                cluster.scheduler().run(),
                cluster.master().run(),
                guard_runs(cluster),
            )
        ]
        try:
            async with open_cluster_backend(cluster) as backend:
                backend.cluster = cluster  # type: ignore[attr-defined]  # for tests that look behind
                yield backend
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await worker.drain(5)

"""A handle on one run: its result, its events, its parts, and control over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from onward.client.errors import RunFailedError
from onward.client.event_stream import follow
from onward.client.requests import PAGE_ITEMS, ApiRequests
from onward.client.transports.transport import PREFIX
from onward.client.values import (
    Data,
    Event,
    Explanation,
    ItemInfo,
    LogLine,
    NodeInfo,
    RunInfo,
    VisitInfo,
)

POLL_S = 0.5
MEMBERS_PAGE = 1000
PAGE_BYTES = 256 * 1024
"""A value of at most this many bytes has no member that is left out."""


class AsyncRun:
    """One run of a workflow."""

    def __init__(self, requests: ApiRequests, execution_id: str) -> None:
        self._requests = requests
        self.id = execution_id
        self._path = f"/runs/{execution_id}"

    def __repr__(self) -> str:
        return f"<run {self.id}>"

    async def info(self) -> RunInfo:
        """Return the run as it is now, with its ending if it has one."""
        return await self._requests.get(RunInfo, self._path)

    async def wait(self, timeout_s: float | None = None) -> RunInfo:
        """Return the run once it has ended; TimeoutError when that is late: it keeps running."""
        async with asyncio.timeout(timeout_s):
            now = await self.info()
            while now.ended_at is None:
                async with aclosing(self.events(now.last_event)) as events:
                    async for event in events:
                        if event.type == "run.ended":
                            break
                now = await self.info()
                if now.ended_at is None:
                    await asyncio.sleep(
                        POLL_S
                    )  # it has no event log, or the end is not written yet
        return now

    async def result(self, timeout_s: float | None = None) -> Any:
        """Return the output of the run once it is completed, however large it is.

        RunFailedError when it ended in another way; TimeoutError when it still runs by then.
        """
        ended = await self.wait(timeout_s)
        if ended.status != "completed":
            raise RunFailedError(self.id, ended.status, ended.error)
        if ended.output_carried:
            return ended.output
        outputs = {name: await self.value(f"${name}") for name in ended.output_nodes}
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    async def events(self, after: int = 0) -> AsyncGenerator[Event, None]:
        """Iterate over the events above a number as they happen, until the run has ended.

        A connection that breaks is opened again: every event comes once and in order.
        """
        path = f"{PREFIX}{self._path}/events/stream"
        begin = str(after) if after else ""
        async with aclosing(follow(self._requests.transport, path, {}, begin)) as stream:
            async for event in stream:
                yield msgspec.json.decode(event.data, type=Event)

    async def cancel(self, reason: str = "") -> RunInfo:
        """End the run as cancelled; ConflictError when it has ended."""
        return await self._requests.post(RunInfo, f"{self._path}:cancel", {"reason": reason})

    async def pause(self) -> RunInfo:
        """Let no node of the run begin until it is resumed; those that run finish."""
        return await self._requests.post(RunInfo, f"{self._path}:pause")

    async def resume(self) -> RunInfo:
        """Let a paused run continue."""
        return await self._requests.post(RunInfo, f"{self._path}:resume")

    async def retry(
        self,
        *,
        from_nodes: Sequence[str] = (),
        item: str | None = None,
        split: str | None = None,
        everything: bool = False,
        latest: bool = False,
        input: Any = None,  # noqa: A002  (as the API calls it)
        execution_id: str | None = None,
    ) -> AsyncRun:
        """Start a new run that keeps what succeeded of this one, and return its handle.

        Without anything what failed is executed again, and everything that follows from it.
        """
        body = {
            "from_nodes": list(from_nodes),
            "item": item,
            "split": split,
            "everything": everything,
            "latest": latest,
            "input": input,
            "execution_id": execution_id,
        }
        attempt = await self._requests.call("POST", f"{self._path}:retry", body=body)
        return AsyncRun(self._requests, attempt["execution_id"])

    async def adjust(
        self,
        split: str,
        *,
        max_concurrency: int | None = None,
        tolerated_failures: int | None = None,
        any_failures: bool = False,
        item: str | None = None,
    ) -> int:
        """Change a split that still waits for items, and return how many runs of it there are."""
        body = {
            "max_concurrency": max_concurrency,
            "tolerated_failures": tolerated_failures,
            "any_failures": any_failures,
            "item": item,
        }
        path = f"{self._path}/splits/{split}:adjust"
        return int((await self._requests.call("POST", path, body=body))["changed"])

    async def signal(
        self, name: str, payload: Any = None, *, key: str = "", signal_id: str | None = None
    ) -> dict[str, Any]:
        """Send a signal; with a `signal_id` it can be repeated, and the first one stands."""
        headers = {} if signal_id is None else {"idempotency-key": signal_id}
        path, body = f"{self._path}/signals/{name}", {"payload": payload, "key": key}
        return dict(await self._requests.call("POST", path, body=body, headers=headers))

    def signals(self) -> AsyncGenerator[dict[str, Any], None]:
        """Iterate over the signals that were sent to the run, in their order."""
        return self._requests.pages(dict[str, Any], f"{self._path}/signals", limit=PAGE_ITEMS)

    async def waits(self) -> list[dict[str, Any]]:
        """Return what the run waits for from outside, with the signed links that end each wait."""
        return list((await self._requests.call("GET", f"{self._path}/waits"))["items"])

    async def family(self) -> dict[str, Any]:
        """Return the run that started this one as `parent`, and the runs it started as `items`."""
        first = await self._requests.call("GET", f"{self._path}/family", query={"limit": 1})
        pages = self._requests.pages(dict[str, Any], f"{self._path}/family", limit=PAGE_ITEMS)
        return {"parent": first["parent"], "items": [relative async for relative in pages]}

    async def explain(self) -> Explanation:
        """Return what the run waits for."""
        return await self._requests.get(Explanation, f"{self._path}:explain")

    async def definition(self) -> dict[str, Any]:
        """Return the document as it was when the run started."""
        found = await self._requests.call("GET", f"{self._path}/definition")
        return dict(found["definition"])

    async def nodes(self) -> list[NodeInfo]:
        """Return every node with the outcomes of its visits."""
        return [node async for node in self._requests.pages(NodeInfo, f"{self._path}/nodes")]

    def visits(
        self, *, node_id: str = "", status: str = "", item: str | None = None
    ) -> AsyncIterator[VisitInfo]:
        """Iterate over visits and their outcomes, in the order they were recorded."""
        path = f"{self._path}/visits"
        return self._requests.pages(
            VisitInfo, path, node_id=node_id, status=status, item=item, limit=PAGE_ITEMS
        )

    def items(self, split: str) -> AsyncIterator[ItemInfo]:
        """Iterate over the items of a split."""
        return self._requests.pages(ItemInfo, f"{self._path}/items", split=split, limit=PAGE_ITEMS)

    def logs(self, *, node_id: str = "", level: str = "") -> AsyncIterator[LogLine]:
        """Iterate over the lines that nodes wrote, in the order they were recorded."""
        path = f"{self._path}/logs"
        return self._requests.pages(LogLine, path, node_id=node_id, level=level, limit=PAGE_ITEMS)

    async def context(self) -> dict[str, int]:
        """Return the names of the values that the run left, with their sizes."""
        found = await self._requests.call("GET", f"{self._path}/context")
        return {entry["name"]: entry["bytes"] for entry in found["items"]}

    async def data(
        self,
        entry: str | None = None,
        *,
        token_id: str | None = None,
        node_id: str | None = None,
        ref: str | None = None,
        pointer: str = "",
        offset: int = 0,
        limit: int | None = None,
    ) -> Data:
        """Return a value of the run, or as much of it as fits into one answer."""
        given = {"entry": entry, "token_id": token_id, "node_id": node_id, "ref": ref}
        part = {"pointer": pointer, "offset": offset or None, "limit": limit}
        return await self._requests.get(Data, f"{self._path}/data", **given, **part)

    async def value(self, /, entry: str | None = None, *, pointer: str = "", **which: Any) -> Any:
        """Return a whole value of the run, in as many answers as it takes."""
        whole: Any = None
        offset = 0
        while True:
            page = await self.data(
                entry, pointer=pointer, offset=offset, limit=MEMBERS_PAGE, **which
            )
            if page.bytes > PAGE_BYTES:
                await self._fill(page, entry, pointer, which)
            whole = page.value if offset == 0 else _joined(whole, page.value)
            if page.next_offset is None:
                return whole
            offset = page.next_offset

    async def _fill(
        self, page: Data, entry: str | None, pointer: str, which: dict[str, Any]
    ) -> None:
        """Ask for the members that were too large to be in a page: they stand there as null."""
        members: Any = ()
        if page.kind == "object":
            members = [name for name, value in page.value.items() if value is None]
        elif page.kind == "array":
            members = [i for i, value in enumerate(page.value) if value is None]
        for member in members:
            name = str(member) if page.kind == "object" else str(member + page.offset)
            inner = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            page.value[member] = await self.value(entry, pointer=inner, **which)


def _joined(whole: Any, more: Any) -> Any:
    if isinstance(whole, dict):
        return {**whole, **more}
    return whole + more

"""The same to many runs at once: cancel, pause, resume, retry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onward.client.requests import ApiRequests

MOST = 100


class BulkCalls(ApiRequests):
    """Steers many runs: those that are named, or all that match every filter given.

    Without a status a filter means runs that go on; for `retry_runs` those that failed, were
    halted or cancelled. Each answers with `items` (what was done to each run, or the `code` and
    `detail` of why not), `done`, `refused` and `more`: whether more runs match.
    """

    async def cancel_runs(
        self, runs: Sequence[str] = (), /, *, reason: str = "", limit: int = MOST, **filters: Any
    ) -> dict[str, Any]:
        """End runs as cancelled."""
        return await self._all("cancel", runs, limit, filters, reason=reason)

    async def pause_runs(
        self, runs: Sequence[str] = (), /, *, limit: int = MOST, **filters: Any
    ) -> dict[str, Any]:
        """Let no node of runs begin until they are resumed."""
        return await self._all("pause", runs, limit, filters)

    async def resume_runs(
        self, runs: Sequence[str] = (), /, *, limit: int = MOST, **filters: Any
    ) -> dict[str, Any]:
        """Let paused runs go on."""
        return await self._all("resume", runs, limit, filters)

    async def retry_runs(
        self,
        runs: Sequence[str] = (),
        /,
        *,
        latest: bool = False,
        limit: int = MOST,
        **filters: Any,
    ) -> dict[str, Any]:
        """Try again what failed of runs; `attempt` of each item is the new run."""
        return await self._all("retry", runs, limit, filters, latest=latest)

    async def _all(
        self, verb: str, runs: Sequence[str], limit: int, filters: dict[str, Any], **more: Any
    ) -> dict[str, Any]:
        named = {"containing": "q"}
        wanted = {named.get(name, name): value for name, value in filters.items()}
        if isinstance(wanted.get("status"), str):
            wanted["status"] = [one for one in wanted["status"].split(",") if one]
        if runs:
            wanted["execution_ids"] = list(runs)
        body = {"filter": wanted, "limit": limit, **more}
        return dict(await self.call("POST", f"/runs:{verb}", body=body))

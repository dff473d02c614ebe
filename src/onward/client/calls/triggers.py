"""What starts runs by itself: triggers, their times, and how they fired."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from onward.client.requests import ApiRequests

PAGE = 200
Facts = dict[str, Any]
"""What the API tells of one thing, by the names of its reference."""


class TriggerCalls(ApiRequests):
    """Keeps triggers and fires them. `settings` have a `kind` and what goes with it."""

    def triggers(
        self, workflow_id: str | None = None, kind: str = ""
    ) -> AsyncGenerator[Facts, None]:
        """Iterate over triggers by id."""
        return self.pages(Facts, "/triggers", workflow_id=workflow_id, kind=kind, limit=PAGE)

    async def trigger(self, trigger_id: str) -> Facts:
        """Return a trigger as it is now."""
        return dict(await self.call("GET", f"/triggers/{trigger_id}"))

    async def add_trigger(
        self,
        workflow_id: str,
        settings: Mapping[str, Any],
        *,
        trigger_id: str | None = None,
        enabled: bool = True,
        secret: str | None = None,
    ) -> Facts:
        """Let something start runs of a workflow; `secret` of a webhook is told this once."""
        body = {
            "trigger_id": trigger_id,
            "workflow_id": workflow_id,
            "enabled": enabled,
            "settings": dict(settings),
            "secret": secret,
        }
        return dict(await self.call("POST", "/triggers", body=body))

    async def change_trigger(
        self, trigger_id: str, settings: Mapping[str, Any], *, enabled: bool = True
    ) -> Facts:
        """Give a trigger other settings of its kind; a schedule goes on from now."""
        body = {"settings": dict(settings), "enabled": enabled}
        return dict(await self.call("PUT", f"/triggers/{trigger_id}", body=body))

    async def remove_trigger(self, trigger_id: str) -> None:
        """Remove a trigger and what is known of its firings; its runs go on."""
        await self.call("DELETE", f"/triggers/{trigger_id}")

    async def enable_trigger(self, trigger_id: str) -> Facts:
        """Let a trigger fire from now on."""
        return dict(await self.call("POST", f"/triggers/{trigger_id}:enable"))

    async def disable_trigger(self, trigger_id: str) -> Facts:
        """Let a trigger fire no more, and give up what waits."""
        return dict(await self.call("POST", f"/triggers/{trigger_id}:disable"))

    async def rotate_trigger(self, trigger_id: str, *, keep_previous: bool = False) -> Facts:
        """Give a webhook a new secret, told this once; the one before may pass too."""
        body = {"keep_previous": keep_previous}
        return dict(await self.call("POST", f"/triggers/{trigger_id}:rotate", body=body))

    async def fire_trigger(
        self,
        trigger_id: str,
        input: Any = None,  # noqa: A002  (as the API calls it)
        *,
        key: str | None = None,
    ) -> Facts:
        """Start a run now; None is the trigger's own input. With a `key` it fires once."""
        headers = {} if key is None else {"idempotency-key": key}
        path, body = f"/triggers/{trigger_id}:fire", {"input": input}
        return dict(await self.call("POST", path, body=body, headers=headers))

    async def backfill_trigger(
        self, trigger_id: str, start_at: str, end_at: str, *, overlap: str = "queue"
    ) -> Facts:
        """Fire for every time of a schedule in a range that has not fired yet."""
        body = {"start_at": start_at, "end_at": end_at, "overlap": overlap}
        return dict(await self.call("POST", f"/triggers/{trigger_id}/backfills", body=body))

    async def next_times(
        self, trigger_id: str, count: int = 5, after: str | None = None
    ) -> list[str]:
        """Return when a schedule is due next."""
        query = {"count": count, "after": after}
        return list((await self.call("GET", f"/triggers/{trigger_id}/next", query=query))["times"])

    async def preview_schedule(
        self, settings: Mapping[str, Any], count: int = 5, after: str | None = None
    ) -> list[str]:
        """Return when a schedule would be due; nothing is kept."""
        body = {"settings": dict(settings), "count": count, "after": after}
        return list((await self.call("POST", "/triggers:preview", body=body))["times"])

    def firings(self, trigger_id: str) -> AsyncGenerator[Facts, None]:
        """Iterate over each time a trigger fired or should have, newest first."""
        return self.pages(Facts, f"/triggers/{trigger_id}/firings", limit=PAGE)

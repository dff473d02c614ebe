"""What is behind runs, and what reaches into them: node types, messages, events, links."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import msgspec

from onward.client.calls.triggers import Facts
from onward.client.requests import ApiRequests
from onward.client.values import Event

STRUCTURED = "application/cloudevents+json"
EVENTS = 1000


class OperationCalls(ApiRequests):
    """Looks behind runs, and reaches into them."""

    async def server(self) -> Facts:
        """Return what answers: its version, and `embedded` or `distributed`."""
        return dict(await self.call("GET", "/server"))

    async def stats(self, since: str | None = None) -> Facts:
        """Return how many runs of each workflow have each status."""
        return dict(await self.call("GET", "/stats", query={"since": since}))

    async def listed(self, what: str, /, **query: Any) -> list[Facts]:
        """Return one of the short lists: `workers`, `queues`, `timers`, `quarantine` ..."""
        return list((await self.call("GET", f"/{what}", query=query))["items"])

    async def evaluate(self, template: Any, /, **given: Any) -> Any:
        """Return what a template comes to, with `input`, `variables` or an `execution_id`."""
        body = {"template": template, **given}
        return (await self.call("POST", "/expressions:evaluate", body=body))["value"]

    async def node_types(self) -> list[Facts]:
        """Return every node type, with the JSON Schema of its parameters."""
        return await self.listed("node-types")

    async def node_type(self, name: str) -> Facts:
        """Return one node type."""
        return dict(await self.call("GET", f"/node-types/{name}"))

    # -- how runs of a workflow may start -------------------------------------------------------

    async def flow(self, workflow_id: str) -> Facts:
        """Return the rule that runs of a workflow start by; MissingError when there is none."""
        return dict(await self.call("GET", f"/workflows/{workflow_id}/flow"))

    async def set_flow(self, workflow_id: str, /, **rule: Any) -> Facts:
        """Set it: `key`, `concurrency`, `rate`, `per_ms`, `singleton`, `debounce_ms`."""
        return dict(await self.call("PUT", f"/workflows/{workflow_id}/flow", body=rule))

    async def drop_flow(self, workflow_id: str) -> None:
        """Take the rule away; what is parked starts."""
        await self.call("DELETE", f"/workflows/{workflow_id}/flow")

    # -- messages in quarantine -----------------------------------------------------------------

    async def quarantined(self, number: int) -> Facts:
        """Return a message in quarantine, with what it says."""
        return dict(await self.call("GET", f"/quarantine/{number}"))

    async def release_messages(
        self, numbers: Sequence[int] | None = None, *, force: bool = False
    ) -> list[Facts]:
        """Send messages once more, by their numbers or (None) all of them."""
        body = {**_chosen(numbers), "force": force}
        return list((await self.call("POST", "/quarantine:release", body=body))["items"])

    async def discard_messages(self, numbers: Sequence[int] | None = None) -> list[Facts]:
        """Throw messages away for good, by their numbers or (None) all of them."""
        body = _chosen(numbers)
        return list((await self.call("POST", "/quarantine:discard", body=body))["items"])

    # -- events and links -----------------------------------------------------------------------

    async def emit(self, event: Mapping[str, Any]) -> Facts:
        """Send a CloudEvent, and return which triggers `fired` and what `failed`."""
        headers = {"content-type": STRUCTURED}
        return dict(await self.call("POST", "/events", body=dict(event), headers=headers))

    async def past_events(
        self, *, workflow_id: str | None = None, runs: Sequence[str] = (), after: int = 0
    ) -> AsyncGenerator[Event, None]:
        """Iterate over the events of many runs that are there by now, in their order."""
        more = True
        while more:
            query = {
                "workflow_id": workflow_id,
                "runs": ",".join(runs) or None,
                "after": after,
                "limit": EVENTS,
            }
            page = await self.call("GET", "/events", query=query)
            for one in page["items"]:
                yield msgspec.convert({**one, "cursor": str(one["place"])}, Event)
            after, more = page["last_place"], page["more"]

    async def decide(self, link: str, decision: str, comment: str = "") -> Facts:
        """Decide by a signed link: `approve` or `reject`, once."""
        body = {"decision": decision, "comment": comment}
        return dict(await self.call("POST", f"/approvals/{_end_of(link)}", body=body))

    async def call_back(self, link: str, payload: Any = None) -> Facts:
        """Resume a wait by its signed link; a repeated call is the same signal."""
        body = msgspec.Raw(msgspec.json.encode(payload))
        return dict(await self.call("POST", f"/callbacks/{_end_of(link)}", body=body))


def _chosen(numbers: Sequence[int] | None) -> Facts:
    return {"all": True} if numbers is None else {"numbers": list(numbers)}


def _end_of(link: str) -> str:
    """Return what is signed: the end of an address, or what was given without one."""
    return link.rstrip("/").rpartition("/")[2]

"""The client: workflows, runs and operations of one engine, in this process or on a server."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self

import msgspec

from onward.client.async_run import AsyncRun
from onward.client.errors import refusal
from onward.client.event_stream import follow
from onward.client.requests import PAGE_ITEMS, ApiRequests, words
from onward.client.transports.transport import PREFIX
from onward.client.values import Difference, Event, Examined, Imported, RunInfo, Version, Workflow

Definition = Mapping[str, Any] | str | Path
"""A document: its value, its YAML or JSON text, or the file it is in."""

_IDENTIFIER = re.compile(r"[a-zA-Z0-9_-]{1,128}")

PATIENCE_S = 30.0
EVENTS_PAGE = 1000
MOST_RUNS = 100
"""Runs that a call controls at most, unless it says otherwise."""
CLOUD_EVENT = "application/cloudevents+json"

RunIds = Sequence[str]
Facts = dict[str, Any]
"""One thing as the API describes it, by the names of its reference."""


class AsyncEngine(ApiRequests):
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
        """Return an engine in this process, on one file; its unfinished runs continue."""
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
        return self.pages(Workflow, "/workflows", q=containing, limit=PAGE_ITEMS)

    async def workflow(self, workflow_id: str) -> Workflow:
        """Return a workflow as it is now."""
        return await self.get(Workflow, f"/workflows/{workflow_id}")

    async def validate(self, definition: Definition) -> Examined:
        """Return every problem of a document; nothing is saved."""
        return await self.post(
            Examined, "/workflows:validate", {"definition": document(definition)}
        )

    async def push(
        self, definition: Definition, *, note: str = "", publish: bool = True
    ) -> Workflow:
        """Save a document: a new workflow, or the next version of the one it names.

        A document that equals the newest version is not saved twice.
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
        return self.pages(Version, f"/workflows/{workflow_id}/versions", limit=PAGE_ITEMS)

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
            query = {"limit": PAGE_ITEMS, "cursor": cursor}
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
        """Start a run of a workflow, by its id, or of a document that is not saved as one.

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
            limit=PAGE_ITEMS,
        )

    async def events(
        self,
        *,
        workflow_id: str | None = None,
        runs: Sequence[str] = (),
        cursor: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Iterate over the events of many runs as they happen, without an end.

        Each has a `cursor`; with one, it continues after that event, also on another server.
        Without one it begins now.
        """
        query = words({"workflow_id": workflow_id, "runs": ",".join(runs) or None})
        path = f"{PREFIX}/events/stream"
        async with aclosing(follow(self.transport, path, query, cursor or "")) as stream:
            async for sent in stream:
                event = msgspec.json.decode(sent.data, type=Event)
                yield msgspec.structs.replace(event, cursor=sent.id)

    # -- many runs at once -------------------------------------------------------------------------
    #
    # Those that are named, or all that match every filter given. Without a status a filter means
    # runs that have not ended; for `retry_runs` those that failed, were halted or cancelled. Each
    # answers with `items` (what was done to each run, or the `code` and `detail` of why not),
    # `done`, `refused` and `more`: whether more runs match.

    async def cancel_runs(
        self,
        runs: RunIds = (),
        /,
        *,
        reason: str = "",
        limit: int = MOST_RUNS,
        **filters: Any,
    ) -> Facts:
        """End runs as cancelled."""
        return await self._all("cancel", runs, limit, filters, reason=reason)

    async def pause_runs(
        self, runs: RunIds = (), /, *, limit: int = MOST_RUNS, **filters: Any
    ) -> Facts:
        """Let no node of runs begin until they are resumed."""
        return await self._all("pause", runs, limit, filters)

    async def resume_runs(
        self, runs: RunIds = (), /, *, limit: int = MOST_RUNS, **filters: Any
    ) -> Facts:
        """Let paused runs continue."""
        return await self._all("resume", runs, limit, filters)

    async def retry_runs(
        self, runs: RunIds = (), /, *, latest: bool = False, limit: int = MOST_RUNS, **filters: Any
    ) -> Facts:
        """Try again what failed of runs; `attempt` of each item is the new run."""
        return await self._all("retry", runs, limit, filters, latest=latest)

    async def _all(
        self, verb: str, runs: RunIds, limit: int, filters: dict[str, Any], **more: Any
    ) -> dict[str, Any]:
        named = {"containing": "q"}
        wanted = {named.get(name, name): value for name, value in filters.items()}
        if isinstance(wanted.get("status"), str):
            wanted["status"] = [status for status in wanted["status"].split(",") if status]
        if runs:
            wanted["execution_ids"] = list(runs)
        body = {"filter": wanted, "limit": limit, **more}
        return dict(await self.call("POST", f"/runs:{verb}", body=body))

    # -- triggers ----------------------------------------------------------------------------------
    #
    # `settings` have a `kind` and what goes with it.

    def triggers(
        self, workflow_id: str | None = None, kind: str = ""
    ) -> AsyncGenerator[Facts, None]:
        """Iterate over triggers by id."""
        return self.pages(Facts, "/triggers", workflow_id=workflow_id, kind=kind, limit=PAGE_ITEMS)

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
        """Let something start runs of a workflow; `secret` of a webhook is returned this once."""
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
        """Give a trigger other settings of its kind; a schedule continues from now."""
        body = {"settings": dict(settings), "enabled": enabled}
        return dict(await self.call("PUT", f"/triggers/{trigger_id}", body=body))

    async def remove_trigger(self, trigger_id: str) -> None:
        """Remove a trigger and what is known of its firings; its runs continue."""
        await self.call("DELETE", f"/triggers/{trigger_id}")

    async def enable_trigger(self, trigger_id: str) -> Facts:
        """Let a trigger fire from now on."""
        return dict(await self.call("POST", f"/triggers/{trigger_id}:enable"))

    async def disable_trigger(self, trigger_id: str) -> Facts:
        """Let a trigger fire no more, and give up what waits."""
        return dict(await self.call("POST", f"/triggers/{trigger_id}:disable"))

    async def rotate_trigger(self, trigger_id: str, *, keep_previous: bool = False) -> Facts:
        """Give a webhook a new secret, shown this once; the one before may stay valid."""
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
        """Return when a schedule would be due; nothing is saved."""
        body = {"settings": dict(settings), "count": count, "after": after}
        return list((await self.call("POST", "/triggers:preview", body=body))["times"])

    def firings(self, trigger_id: str) -> AsyncGenerator[Facts, None]:
        """Iterate over each time a trigger fired or should have, newest first."""
        return self.pages(Facts, f"/triggers/{trigger_id}/firings", limit=PAGE_ITEMS)

    # -- credentials ----------------------------------------------------------------------------

    async def credential_types(self) -> list[Facts]:
        """Return the types of credentials, with the fields of each."""
        return list((await self.call("GET", "/credential-types"))["items"])

    def credentials(self) -> AsyncGenerator[Facts, None]:
        """Iterate over credentials by name; what is in them is never shown."""
        return self.pages(Facts, "/credentials", limit=PAGE_ITEMS)

    async def credential(self, name: str) -> Facts:
        """Return what is known of a credential."""
        return dict(await self.call("GET", f"/credentials/{name}"))

    async def add_credential(
        self,
        name: str,
        kind: str,
        fields: Mapping[str, str],
        *,
        workflows: Sequence[str] | None = None,
    ) -> Facts:
        """Seal and save a credential; `workflows` are those that may use it, None is every one."""
        body = {"name": name, "type": kind, "fields": dict(fields), "workflows": workflows}
        return dict(await self.call("POST", "/credentials", body=body))

    async def change_credential(
        self,
        name: str,
        *,
        fields: Mapping[str, str] | None = None,
        workflows: Sequence[str] | None = None,
    ) -> Facts:
        """Replace what is in a credential (None: keep it), and who may use it (None: all)."""
        body = {"fields": None if fields is None else dict(fields), "workflows": workflows}
        return dict(await self.call("PUT", f"/credentials/{name}", body=body))

    async def remove_credential(self, name: str) -> None:
        """Forget a credential; nodes that name it fail from now on."""
        await self.call("DELETE", f"/credentials/{name}")

    async def test_credential(self, name: str, url: str | None = None) -> Facts:
        """Use a credential once, and return `ok`, `detail` and `status`."""
        return dict(await self.call("POST", f"/credentials/{name}:test", body={"url": url}))

    async def credential_usage(self, name: str) -> list[Facts]:
        """Return the versions of workflows that name a credential."""
        return list((await self.call("GET", f"/credentials/{name}/usage"))["items"])

    async def rotate_credentials(self) -> int:
        """Seal every credential with the newest key, and return how many that changed."""
        return int((await self.call("POST", "/credentials:rotate"))["sealed_anew"])

    # -- users and tokens -----------------------------------------------------------------------

    async def me(self) -> Facts:
        """Return who asks, and what they may do."""
        return dict(await self.call("GET", "/me"))

    async def users(self) -> list[Facts]:
        """Return the users that may log in."""
        return list((await self.call("GET", "/users"))["items"])

    async def user(self, name: str) -> Facts:
        """Return a user."""
        return dict(await self.call("GET", f"/users/{name}"))

    async def add_user(self, name: str, role: str, password: str) -> Facts:
        """Add a user that may log in."""
        body = {"name": name, "role": role, "password": password}
        return dict(await self.call("POST", "/users", body=body))

    async def change_user(
        self,
        name: str,
        *,
        role: str | None = None,
        enabled: bool | None = None,
        password: str | None = None,
    ) -> Facts:
        """Change what is given about a user."""
        body = {"role": role, "enabled": enabled, "password": password}
        return dict(await self.call("PATCH", f"/users/{name}", body=body))

    async def remove_user(self, name: str) -> None:
        """Remove a user."""
        await self.call("DELETE", f"/users/{name}")

    def tokens(self) -> AsyncGenerator[Facts, None]:
        """Iterate over tokens, newest first, without their secrets."""
        return self.pages(Facts, "/tokens", limit=PAGE_ITEMS)

    async def token(self, token_id: str) -> Facts:
        """Return what is known of a token."""
        return dict(await self.call("GET", f"/tokens/{token_id}"))

    async def create_token(
        self,
        name: str,
        role: str,
        *,
        workflows: Sequence[str] | None = None,
        expires_in_s: int | None = None,
    ) -> Facts:
        """Make a token; its secret is `token` of the answer, and nowhere else."""
        body = {"name": name, "role": role, "workflows": workflows, "expires_in_s": expires_in_s}
        return dict(await self.call("POST", "/tokens", body=body))

    async def revoke_token(self, token_id: str) -> Facts:
        """Revoke a token, at once and for ever."""
        return dict(await self.call("POST", f"/tokens/{token_id}:revoke"))

    # -- the audit log --------------------------------------------------------------------------

    def audit(
        self, *, actor: str = "", action: str = "", target: str = ""
    ) -> AsyncGenerator[Facts, None]:
        """Iterate over changes, newest first: who, what, when and from where."""
        path = "/audit"
        return self.pages(Facts, path, actor=actor, action=action, target=target, limit=PAGE_ITEMS)

    # -- operations --------------------------------------------------------------------------------

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
        """Return the value of a template, with `input`, `variables` or an `execution_id`."""
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
        """Discard messages for good, by their numbers or (None) all of them."""
        body = _chosen(numbers)
        return list((await self.call("POST", "/quarantine:discard", body=body))["items"])

    # -- events and links -----------------------------------------------------------------------

    async def emit(self, event: Mapping[str, Any]) -> Facts:
        """Send a CloudEvent, and return which triggers `fired` and what `failed`."""
        headers = {"content-type": CLOUD_EVENT}
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
                "limit": EVENTS_PAGE,
            }
            page = await self.call("GET", "/events", query=query)
            for event in page["items"]:
                yield msgspec.convert({**event, "cursor": str(event["place"])}, Event)
            after, more = page["last_place"], page["more"]

    async def decide(self, link: str, decision: str, comment: str = "") -> Facts:
        """Decide by a signed link: `approve` or `reject`, once."""
        body = {"decision": decision, "comment": comment}
        return dict(await self.call("POST", f"/approvals/{_end_of(link)}", body=body))

    async def call_back(self, link: str, payload: Any = None) -> Facts:
        """Resume a wait by its signed link; a repeated call is the same signal."""
        body = msgspec.Raw(msgspec.json.encode(payload))
        return dict(await self.call("POST", f"/callbacks/{_end_of(link)}", body=body))


def document(definition: Definition) -> Any:
    """Return a document as it is sent: its value, or its text."""
    return definition.read_text() if isinstance(definition, Path) else definition


def _chosen(numbers: Sequence[int] | None) -> Facts:
    return {"all": True} if numbers is None else {"numbers": list(numbers)}


def _end_of(link: str) -> str:
    """Return what is signed: the end of an address, or what was given without one."""
    return link.rstrip("/").rpartition("/")[2]

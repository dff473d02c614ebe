"""Making and changing triggers: what each change means, worked out once for every store."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from onward.errors import InputError, NotThereError, StaleError, StateConflictError
from onward.kernel.messages import check_identifier
from onward.ports.storage.triggers import Cron, Events, Interval, Settings, Trigger, Webhook
from onward.runtime.backend import Backend
from onward.runtime.schedules import check_schedule, first_due
from onward.runtime.triggers.cloud_events import check_wanted
from onward.runtime.triggers.secrets import TriggerSecrets
from onward.runtime.triggers.webhook_signatures import key_of, secret_of
from onward.runtime.workflows.document_schedules import PREFIX
from onward.runtime.workflows.service import WorkflowService


class CreatedTrigger(NamedTuple):
    """A trigger, and its secret, which is shown this once; "" when it has no new one."""

    trigger: Trigger
    secret: str


class TriggerService:
    """Creates, changes, enables and removes triggers."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._workflows = WorkflowService(backend)
        self._secrets = TriggerSecrets(backend.triggers, backend.sealer)

    async def create(
        self,
        trigger_id: str | None,
        workflow_id: str,
        settings: Settings,
        *,
        enabled: bool = True,
        secret: str | None = None,
    ) -> CreatedTrigger:
        """Create a trigger of a workflow."""
        await self._workflows.known(workflow_id)
        now_ms, chance = self._backend.clock.now_ms(), self._backend.chance
        name = trigger_id or f"trg_{chance.publish_id()}"
        check_identifier("trigger_id", name)
        if name.startswith(PREFIX):
            raise InputError(
                f"trigger_id: names that begin with {PREFIX} are for the schedules of documents"
            )
        settings = self._completed(settings)
        self._check(settings, now_ms)
        secret = self._secret(settings, secret)
        trigger = Trigger(
            trigger_id=name,
            workflow_id=workflow_id,
            revision=1,
            enabled=enabled,
            settings=settings,
            secrets=self._sealed(name, secret),
            next_due_ms=first_due(settings, now_ms, now_ms) if enabled else None,
            created_ms=now_ms,
            changed_ms=now_ms,
        )
        if not await self._backend.triggers.save(trigger):
            await self._check_path(trigger)
            raise StateConflictError(f"there is a trigger called {name} already", "TRIGGER_EXISTS")
        return CreatedTrigger(trigger, secret)

    async def change(
        self, trigger_id: str, settings: Settings, enabled: bool, expected: int | None
    ) -> CreatedTrigger:
        """Give a trigger other settings of the same kind; a schedule begins again from now."""
        before = await self._current(trigger_id, expected)
        _check_free(before)
        if before.settings.kind != settings.kind:
            raise StateConflictError(
                f"trigger {trigger_id} is of kind {before.settings.kind} and stays so:"
                " make another one",
                "OTHER_KIND",
            )
        if isinstance(settings, Webhook) and not settings.path:
            path = before.settings.path if isinstance(before.settings, Webhook) else ""
            settings = msgspec.structs.replace(settings, path=path)
        now_ms = self._backend.clock.now_ms()
        self._check(settings, now_ms)
        secret = "" if before.secrets else self._secret(settings, None)
        secrets = self._sealed(trigger_id, secret) or before.secrets
        after = await self._save(before, settings=settings, enabled=enabled, secrets=secrets)
        return CreatedTrigger(after, secret)

    async def enable(self, trigger_id: str, enabled: bool, expected: int | None) -> Trigger:
        """Let a trigger fire, from now on, or no longer; firings that wait are then skipped."""
        before = await self._current(trigger_id, expected)
        if before.enabled == enabled:
            return before
        return await self._save(before, enabled=enabled)

    async def rotate(self, trigger_id: str, *, keep: bool, expected: int | None) -> CreatedTrigger:
        """Give a webhook a new secret; `keep` lets signatures with the one before pass as well."""
        before = await self._current(trigger_id, expected)
        if not before.secrets:
            raise StateConflictError(f"trigger {trigger_id} signs nothing", "NO_SECRET")
        secret = self._secret(before.settings, None)
        secrets = self._sealed(trigger_id, secret)
        if keep:
            secrets += (before.secrets[0],)
        return CreatedTrigger(await self._save(before, secrets=secrets), secret)

    async def remove(self, trigger_id: str, expected: int | None) -> None:
        """Remove a trigger with its firings. Its runs continue."""
        before = await self._current(trigger_id, expected)
        _check_free(before)
        if not await self._backend.triggers.remove(trigger_id, before.revision):
            raise _stale(trigger_id)

    async def known(self, trigger_id: str) -> Trigger:
        """Return a trigger that must exist."""
        trigger = await self._backend.triggers.trigger(trigger_id)
        if trigger is None:
            raise NotThereError(f"there is no trigger called {trigger_id}")
        return trigger

    async def _current(self, trigger_id: str, expected: int | None) -> Trigger:
        trigger = await self.known(trigger_id)
        if expected is not None and expected != trigger.revision:
            raise _stale(trigger_id)
        return trigger

    async def _save(self, before: Trigger, **changes: Any) -> Trigger:
        now_ms = self._backend.clock.now_ms()
        after = msgspec.structs.replace(
            before, revision=before.revision + 1, changed_ms=now_ms, **changes
        )
        if "settings" in changes or "enabled" in changes:
            due = first_due(after.settings, after.created_ms, now_ms) if after.enabled else None
            after = msgspec.structs.replace(after, next_due_ms=due)
        if not await self._backend.triggers.save(after):
            await self._check_path(after)
            raise _stale(before.trigger_id)
        return after

    def _sealed(self, trigger_id: str, secret: str) -> tuple[str, ...]:
        return (self._secrets.seal(trigger_id, secret),) if secret else ()

    async def _check_path(self, trigger: Trigger) -> None:
        if not isinstance(trigger.settings, Webhook):
            return
        other = await self._backend.triggers.at_path(trigger.topic)
        if other is not None and other.trigger_id != trigger.trigger_id:
            raise StateConflictError(
                f"the path {trigger.topic} belongs to trigger {other.trigger_id}: choose another",
                "PATH_TAKEN",
            )

    def _completed(self, settings: Settings) -> Settings:
        """Give a webhook without a path one that cannot be guessed."""
        if isinstance(settings, Webhook) and not settings.path:
            path = self._backend.chance.publish_id() + self._backend.chance.publish_id()
            return msgspec.structs.replace(settings, path=path)
        if isinstance(settings, Webhook) and settings.signature == "none":
            raise InputError(
                "path: a webhook without signatures is safe only while nobody can guess its path:"
                " leave it out, or use signatures"
            )
        return settings

    def _check(self, settings: Settings, now_ms: int) -> None:
        match settings:
            case Cron() | Interval():
                check_schedule(settings, now_ms)
            case Events():
                check_wanted(settings)
            case Webhook(respond="node", node_id=""):
                raise InputError("node_id: name the node whose output is the answer")
            case _:
                pass

    def _secret(self, settings: Settings, given: str | None) -> str:
        if not isinstance(settings, Webhook) or settings.signature == "none":
            if given is not None:
                raise InputError("secret: only webhooks with signatures have one")
            return ""
        if given is not None:
            key_of(given)
            return given
        return secret_of(
            bytes.fromhex("".join(self._backend.chance.publish_id() for _ in range(3)))
        )


def _check_free(trigger: Trigger) -> None:
    """Refuse to change what the next version of a document would change back."""
    if trigger.owned:
        raise StateConflictError(
            f"trigger {trigger.trigger_id} is the schedule of the document of"
            f" {trigger.workflow_id}: publish a version with another schedule, or disable the"
            " trigger or the workflow",
            "TRIGGER_OF_DOCUMENT",
        )


def _stale(trigger_id: str) -> StaleError:
    return StaleError(
        f"trigger {trigger_id} was changed meanwhile: get it again and repeat the change"
    )

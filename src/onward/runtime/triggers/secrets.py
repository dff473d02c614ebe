"""Secrets of webhooks: sealed in the store, opened to verify a request."""

from __future__ import annotations

from onward.errors import CredentialError, StorageError
from onward.ports.nodes.outside import Log
from onward.ports.security.crypto import Sealer
from onward.ports.storage.triggers import Trigger, TriggerQuery, Triggers

TRIGGERS_PAGE = 200


class TriggerSecrets:
    """Seals and opens the secrets of triggers. A seal is good for one trigger alone."""

    def __init__(self, triggers: Triggers, sealer: Sealer) -> None:
        self._triggers = triggers
        self._sealer = sealer

    def seal(self, trigger_id: str, secret: str) -> str:
        """Return a secret as it is stored."""
        return self._sealer.seal(_purpose(trigger_id), secret)

    def open(self, trigger: Trigger) -> tuple[str, ...]:
        """Return the secrets of a trigger as its senders have them, the newest first."""
        purpose = _purpose(trigger.trigger_id)
        return tuple(self._sealer.open(purpose, secret) for secret in trigger.secrets)

    async def seal_all(self) -> int:
        """Seal what is not sealed with the newest key, and return how many triggers that were.

        So secrets of an earlier release, and those that an older key has sealed, catch up.
        """
        changed, after = 0, ""
        while True:
            query = TriggerQuery(limit=TRIGGERS_PAGE, after=after, kind="webhook")
            page = await self._triggers.triggers(query)
            for trigger in page:
                if all(map(self._sealer.current, trigger.secrets)):
                    continue
                anew = tuple(self.seal(trigger.trigger_id, text) for text in self.open(trigger))
                changed += await self._triggers.keep_secrets(trigger, anew)
            if len(page) < TRIGGERS_PAGE:
                return changed
            after = page[-1].trigger_id


def _purpose(trigger_id: str) -> str:
    return f"the secret of trigger {trigger_id}"


async def seal_secrets(triggers: Triggers, sealer: Sealer, log: Log) -> None:
    """Seal the secrets of triggers that an earlier release stored in plain text.

    What cannot be sealed stays as it is and still works, and the log says so.
    """
    try:
        sealed = await TriggerSecrets(triggers, sealer).seal_all()
    except (CredentialError, StorageError) as problem:
        log.write("warning", f"the secrets of triggers stay as they were: {problem}")
        return
    if sealed:
        log.write("info", f"sealed the secrets of {sealed} triggers")

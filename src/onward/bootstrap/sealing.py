"""Sealing the secrets of triggers that an earlier release kept as they are."""

from __future__ import annotations

from onward.errors import CredentialError, StorageError
from onward.ports.outside import Log
from onward.ports.sealer import Sealer
from onward.ports.triggers import Triggers
from onward.runtime.trigger_secrets import TriggerSecrets


async def seal_secrets(triggers: Triggers, sealer: Sealer, log: Log) -> None:
    """Seal what is not; what cannot be stays as it is and goes on working, and the log says so."""
    try:
        sealed = await TriggerSecrets(triggers, sealer).seal_all()
    except (CredentialError, StorageError) as problem:
        log.write("warning", f"secrets of triggers are kept as they were: {problem}")
        return
    if sealed:
        log.write("info", f"sealed the secrets of {sealed} triggers")

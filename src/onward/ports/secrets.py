"""Credentials by reference: documents and messages hold a name, only a worker sees the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Secrets(Protocol):
    """Resolves a credential's name to its fields."""

    async def resolve(self, name: str, workflow_id: str) -> Mapping[str, str]:
        """Return the fields of credential `name` (host, port, username, password, token ...).

        Raises CredentialError, naming the credential and where it was looked for, never a value;
        also when the workflow that asks may not use it.
        """
        ...

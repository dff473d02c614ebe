"""Credentials: typed, sealed, and allowed for some workflows.

Documents and messages hold a name; only a worker sees the values, through `Secrets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Secrets(Protocol):
    """Resolves a credential's name to its fields."""

    async def resolve(self, name: str, workflow_id: str) -> Mapping[str, str]:
        """Return the fields of credential `name` (host, port, username, password, token ...).

        Raises CredentialError, naming the credential and where it was looked for, never a value;
        also when the workflow that asks may not use it.
        """
        ...


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A credential, without what is secret about it."""

    name: str
    type: str
    workflows: tuple[str, ...] | None
    """Those that may use it; None: every one."""
    revision: int
    """Grows by one with every change."""
    created_ms: int
    changed_ms: int
    changed_by: str
    key: str = ""
    """The id of the key that seals it."""


class NamedIn(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a workflow, with its document."""

    workflow_id: str
    number: int
    published: bool
    source: bytes


class CredentialBook(Protocol):
    """Stores credentials. Their fields are read only where a node or a test needs them.

    CredentialError: there is no key, or not the one that sealed it, or it was tampered with.
    """

    async def save(self, credential: Credential, fields: Mapping[str, str]) -> bool:
        """Seal and write a credential when the revision before it is there; False: it is not."""
        ...

    async def remove(self, name: str, revision: int | None) -> bool:
        """Delete a credential (at a revision); False when it is not there."""
        ...

    async def credential(self, name: str) -> Credential | None:
        """Return a credential."""
        ...

    async def credentials(self, *, after: str, limit: int) -> list[Credential]:
        """Return credentials by name, those after `after`."""
        ...

    async def open(self, name: str) -> tuple[Credential, Mapping[str, str]] | None:
        """Return a credential with its fields."""
        ...

    async def seal_anew(self) -> int:
        """Seal every credential with the newest key; return how many were with another."""
        ...

    async def documents(self, *, after: str, limit: int) -> list[NamedIn]:
        """Return the newest and the published versions of workflows, by id."""
        ...

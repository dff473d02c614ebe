"""Credentials in a table, each row sealed by itself.

The purpose of a credential (its type, and the workflows that may use it) is bound to the seal: who
can write to the database but has no key cannot give a credential to another workflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from onward.adapters.host.keys import KeyRing
from onward.adapters.host.sealed_records import SealedRecord, newest_key_of, seal, unseal
from onward.adapters.sql.accounts import read_names, write_names
from onward.adapters.sql.database import SqlDatabase
from onward.errors import CredentialError
from onward.ports.security.credentials import Credential, CredentialBook, NamedIn

_CREDENTIAL = """
SELECT name, type, workflows, revision, created_ms, changed_ms, changed_by, key
FROM credential WHERE name = $1
"""
_PAGE = """
SELECT name, type, workflows, revision, created_ms, changed_ms, changed_by, key
FROM credential WHERE name > $1 ORDER BY name LIMIT $2
"""
_CREATE = """
INSERT INTO credential VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING
"""
_CHANGE = """
UPDATE credential SET type = $2, workflows = $3, revision = $4, changed_ms = $6, changed_by = $7,
                      key = $8, sealed = $9
WHERE name = $1 AND revision = $4 - 1 AND created_ms = $5
"""
_RESEAL = "UPDATE credential SET key = $3, sealed = $4 WHERE name = $1 AND revision = $2"
_DOCUMENTS = """
SELECT workflow.workflow_id, number, number = published, source
FROM workflow
JOIN workflow_version ON workflow_version.workflow_id = workflow.workflow_id
  AND (number = latest OR number = published)
JOIN definition ON definition.ref = workflow_version.definition_ref
WHERE workflow.workflow_id > $1
ORDER BY workflow.workflow_id, number LIMIT $2
"""


class TableCredentials:
    """A `CredentialBook` in a database, with keys from a ring."""

    def __init__(self, tables: SqlDatabase, ring: KeyRing, *, makes_key: bool) -> None:
        self._tables = tables
        self._ring = ring
        self._makes_key = makes_key
        """Whether the first credential makes the key file: only where no other process needs it."""

    async def save(self, credential: Credential, fields: Mapping[str, str]) -> bool:
        if self._makes_key and not self._ring.keys():
            self._ring.add()
        record = seal(
            newest_key_of(self._ring), _purpose(credential), msgspec.json.encode(dict(fields))
        )
        values = (
            credential.name,
            credential.type,
            write_names(credential.workflows),
            credential.revision,
            credential.created_ms,
            credential.changed_ms,
            credential.changed_by,
            record.key,
            msgspec.json.encode(record),
        )
        statement = _CREATE if credential.revision == 1 else _CHANGE
        return await self._tables.change((statement, values)) == 1

    async def remove(self, name: str, revision: int | None) -> bool:
        if revision is None:
            gone = "DELETE FROM credential WHERE name = $1"
            return await self._tables.change((gone, (name,))) == 1
        gone = "DELETE FROM credential WHERE name = $1 AND revision = $2"
        return await self._tables.change((gone, (name, revision))) == 1

    async def credential(self, name: str) -> Credential | None:
        rows = await self._tables.rows(_CREDENTIAL, name)
        return _credential(rows[0]) if rows else None

    async def credentials(self, *, after: str, limit: int) -> list[Credential]:
        return [_credential(row) for row in await self._tables.rows(_PAGE, after, limit)]

    async def open(self, name: str) -> tuple[Credential, Mapping[str, str]] | None:
        rows = await self._tables.rows("SELECT * FROM credential WHERE name = $1", name)
        return self._unsealed(rows[0]) if rows else None

    async def seal_anew(self) -> int:
        """Seal every credential with the newest key, which is a new one if it can be made here.

        All are opened first: when one cannot be, nothing is changed.
        """
        rows = await self._tables.rows("SELECT * FROM credential ORDER BY name")
        opened = [self._unsealed(row) for row in rows]
        if self._makes_key:
            self._ring.add()
        key = newest_key_of(self._ring)
        changed = 0
        for credential, fields in opened:
            if credential.key == key.id:
                continue
            record = seal(key, _purpose(credential), msgspec.json.encode(dict(fields)))
            values = (credential.name, credential.revision, key.id, msgspec.json.encode(record))
            changed += await self._tables.change((_RESEAL, values))
        return changed

    async def documents(self, *, after: str, limit: int) -> list[NamedIn]:
        return [
            NamedIn(
                workflow_id=name, number=number, published=bool(published), source=bytes(source)
            )
            for name, number, published, source in await self._tables.rows(_DOCUMENTS, after, limit)
        ]

    def _unsealed(self, row: tuple[Any, ...]) -> tuple[Credential, dict[str, str]]:
        credential = _credential(row[:-1])
        place = f"credential {credential.name!r} of the master"
        try:
            record = msgspec.json.decode(row[-1], type=SealedRecord)
        except msgspec.DecodeError:
            raise CredentialError(f"{place} is damaged: add it again") from None
        return credential, unseal(self._ring, _purpose(credential), record, place)


def _purpose(credential: Credential) -> str:
    allowed = write_names(credential.workflows)
    return f"onward credential 2\0{{key}}\0{credential.name}\0{credential.type}\0{allowed}"


def _credential(row: tuple[Any, ...]) -> Credential:
    name, kind, workflows, revision, created_ms, changed_ms, changed_by, key = row
    return Credential(
        name=name,
        type=kind,
        workflows=read_names(workflows),
        revision=revision,
        created_ms=created_ms,
        changed_ms=changed_ms,
        changed_by=changed_by,
        key=key,
    )


_conforms: type[CredentialBook] = TableCredentials

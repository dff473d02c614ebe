"""The encrypted credential store: one JSON file, each record sealed by itself.

A record is AES-256-GCM over the fields as JSON, with a fresh random nonce. Its name and the id of
the key that sealed it are bound as associated data, so a record that was changed, or moved under
another name, does not open.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from onward.adapters.host.credential import check_name, read_fields
from onward.adapters.host.keys import KeyRing
from onward.adapters.host.private_file import lock_file, write_private
from onward.adapters.host.sealed_records import SealedRecord, newest_key_of, seal, unseal
from onward.errors import CredentialError


class _Store(msgspec.Struct, frozen=True, kw_only=True):
    version: Literal[1] = 1
    records: dict[str, SealedRecord] = {}


class Vault:
    """Named credentials in a file. Every change replaces the file whole, under a lock."""

    def __init__(self, path: Path, ring: KeyRing) -> None:
        self.path = path
        self._ring = ring

    @property
    def key_place(self) -> str:
        """The name of the variable or file that holds the keys, for messages."""
        return self._ring.place

    def ensure_key(self) -> bool:
        """Make the key file when there is no key at all; return whether it was made."""
        with lock_file(self.path):
            return not self._ring.keys() and self._ring.add()

    def names(self) -> tuple[str, ...]:
        """Return the names of all records, sorted; needs no key."""
        return tuple(sorted(self._load().records))

    def get(self, name: str) -> dict[str, str] | None:
        """Return the fields of `name`, or None when there is no such record."""
        record = self._load().records.get(name)
        return None if record is None else self._open(name, record)

    def put(self, name: str, fields: Mapping[str, object]) -> bool:
        """Seal `fields` under `name` with the newest key; return whether they replaced others."""
        check_name(name)
        plain = msgspec.json.encode(read_fields(fields, f"credential {name!r}"))
        with lock_file(self.path):
            store = self._load()
            record = seal(newest_key_of(self._ring), _bound(name), plain)
            self._save({**store.records, name: record})
            return name in store.records

    def remove(self, name: str) -> bool:
        """Forget `name`; return whether it was there."""
        with lock_file(self.path):
            records = dict(self._load().records)
            if records.pop(name, None) is None:
                return False
            self._save(records)
            return True

    def rotate(self) -> int:
        """Seal every record anew with the newest key, and return how many there are.

        A key file gets a new key first; with the key in the environment its first key is the
        newest. When one record cannot be opened nothing is changed.
        """
        with lock_file(self.path):
            records = self._load().records
            opened = {name: self._open(name, record) for name, record in records.items()}
            self._ring.add()
            key = newest_key_of(self._ring)
            self._save(
                {
                    name: seal(key, _bound(name), msgspec.json.encode(fields))
                    for name, fields in opened.items()
                }
            )
            return len(opened)

    def _open(self, name: str, record: SealedRecord) -> dict[str, str]:
        place = f"credential {name!r} in {self.path}"
        return unseal(self._ring, _bound(name), record, place)

    def _load(self) -> _Store:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=_Store)
        except FileNotFoundError:
            return _Store()
        except OSError as error:
            raise CredentialError(f"{self.path} cannot be read: {error.strerror}") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise CredentialError(
                f"{self.path} is not a credential store of this version, or is damaged: "
                "restore it from a backup, or remove it and add the credentials again"
            ) from None

    def _save(self, records: dict[str, SealedRecord]) -> None:
        content = msgspec.json.encode(_Store(records=records))
        write_private(self.path, msgspec.json.format(content, indent=2) + b"\n")


def open_vault(
    environment: Mapping[str, str], *, store: Path, key_file: Path | None = None
) -> Vault:
    """Return the store at `store`, with keys from the environment or else `key_file`.

    Neither file needs to exist; nothing is read or written yet.
    """
    return Vault(store, KeyRing(environment, key_file))


def _bound(name: str) -> str:
    return f"onward credential 1\0{{key}}\0{name}"

"""Credentials of the host: from the environment, a `.env`-like file, the master and a vault.

They are asked in this order, and the first that knows a name gives all of its fields; fields from
different places are never mixed. Files are read again when they have changed, so a worker need not
be restarted for a new password.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from onward.adapters.host.credential import check_name, check_text, text_fields
from onward.adapters.host.dotenv import read_dotenv
from onward.adapters.host.vault import Vault, open_vault
from onward.errors import CredentialError
from onward.ports.credentials import CredentialBook
from onward.ports.secrets import Secrets

PREFIX = "ONWARD_CREDENTIAL_"
# Settings of the store share the prefix of the credentials: they are not fields of a "store".
_SETTINGS = frozenset({"ONWARD_CREDENTIAL_STORE"})


class HostSecrets:
    """Resolves names to fields; holds no value longer than the call, except the parsed file."""

    def __init__(
        self,
        environment: Mapping[str, str],
        file: Path | None = None,
        vault: Vault | None = None,
        book: CredentialBook | None = None,
    ) -> None:
        self._environment = environment
        self._file = file
        self._vault = vault
        self._book = book
        self._parsed: tuple[tuple[int, int, int], dict[str, str]] | None = None

    async def resolve(self, name: str, workflow_id: str = "") -> Mapping[str, str]:
        """Return the fields of credential `name`; see the port for the error raised."""
        check_name(name)
        return (
            _from_variables(name, self._environment, "the environment")
            or _from_variables(name, self._variables(), str(self._file))
            or await self._kept(name, workflow_id)
            or (self._vault.get(name) if self._vault is not None else None)
            or self._missing(name)
        )

    async def _kept(self, name: str, workflow_id: str) -> Mapping[str, str] | None:
        """Return what the master keeps under a name, if the workflow may have it."""
        found = await self._book.open(name) if self._book is not None else None
        if found is None:
            return None
        credential, fields = found
        if credential.workflows is not None and workflow_id not in credential.workflows:
            raise CredentialError(
                f"workflow {workflow_id!r} may not use credential {name!r}:"
                " an admin can add it to those that may"
            )
        return fields

    def _variables(self) -> dict[str, str]:
        if self._file is None:
            return {}
        try:
            stat = self._file.stat()
            version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._parsed is None or self._parsed[0] != version:
                text = self._file.read_text(encoding="utf-8")
                self._parsed = (version, read_dotenv(text, str(self._file)))
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise CredentialError(f"{self._file} cannot be read: {reason}") from None
        return self._parsed[1]

    def _missing(self, name: str) -> Mapping[str, str]:
        variable = _variable(name)
        places = [f"the environment ({variable} or {variable}_<FIELD>)"]
        places += [str(self._file)] if self._file is not None else []
        places += ["the master"] if self._book is not None else []
        places += [str(self._vault.path)] if self._vault is not None else []
        raise CredentialError(
            f"credential {name!r} was not found in {', '.join(places)}: "
            f"set it there, or run: onward credentials add {name}"
        )


def open_secrets(
    environment: Mapping[str, str],
    *,
    file: Path | None = None,
    store: Path | None = None,
    key_file: Path | None = None,
    book: CredentialBook | None = None,
) -> HostSecrets:
    """Return the secrets of this host. A file or store that does not exist holds nothing."""
    vault = open_vault(environment, store=store, key_file=key_file) if store is not None else None
    return HostSecrets(environment, file, vault, book)


def _variable(name: str) -> str:
    return PREFIX + name.upper().replace("-", "_")


def _from_variables(name: str, variables: Mapping[str, str], place: str) -> dict[str, str] | None:
    variable = _variable(name)
    if variable in variables and variable not in _SETTINGS:
        try:
            given = msgspec.json.decode(variables[variable].encode("utf-8", "replace"))
        except msgspec.DecodeError:
            given = None
        return text_fields(given, f"{variable} in {place}")
    fields: dict[str, str] = {}
    for key, value in variables.items():
        if key.startswith(f"{variable}_") and key not in _SETTINGS:
            check_text(value, f"{key} in {place}")
            fields[key[len(variable) + 1 :].lower()] = value
    return fields or None


_conforms: type[Secrets] = HostSecrets

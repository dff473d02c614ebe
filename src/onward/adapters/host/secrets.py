"""Secrets of the host: from the environment, a `.env`-like file, the master and a vault.

They are asked in this order, and the first that has a credential gives all of its fields; fields
from different places are never mixed. Files are read again when they have changed, so a worker need
not be restarted for a new password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from onward.adapters.host.credential import check_name, check_text, read_fields
from onward.adapters.host.vault import Vault, open_vault
from onward.errors import CredentialError
from onward.ports.security.credentials import CredentialBook, Secrets

PREFIX = "ONWARD_CREDENTIAL_"
# Settings of the store share the prefix of the credentials: they are not fields of a "store".
_SETTINGS = frozenset({"ONWARD_CREDENTIAL_STORE"})
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t"}


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
        check_name(name)
        return (
            _from_variables(name, self._environment, "the environment")
            or _from_variables(name, self._variables(), str(self._file))
            or await self._of_master(name, workflow_id)
            or (self._vault.get(name) if self._vault is not None else None)
            or self._missing(name)
        )

    async def _of_master(self, name: str, workflow_id: str) -> Mapping[str, str] | None:
        """Return a credential that the master stores, if the workflow may use it."""
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
            value = msgspec.json.decode(variables[variable].encode("utf-8", "replace"))
        except msgspec.DecodeError:
            value = None
        return read_fields(value, f"{variable} in {place}")
    fields: dict[str, str] = {}
    for key, value in variables.items():
        if key.startswith(f"{variable}_") and key not in _SETTINGS:
            check_text(value, f"{key} in {place}")
            fields[key[len(variable) + 1 :].lower()] = value
    return fields or None


# -- files of variables ----------------------------------------------------------------------------


def read_dotenv(text: str, file: str) -> dict[str, str]:
    """Return the variables in a text of `NAME=value` lines and comments.

    Single quotes keep a value as it stands. In double quotes a backslash makes `n` and `t` a line
    break and a tab, and any other character itself. Without quotes a value ends at the line's end
    or at ` #`. Nothing is expanded, and no value spans lines. Raises CredentialError naming `file`
    and the line, never a value.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        parts = _LINE.fullmatch(content)
        value = None if parts is None else _value(parts[2])
        if parts is None or value is None:
            raise CredentialError(
                f"{file}:{number}: expected NAME=value, with quotes closed on the same line"
            )
        found[parts[1]] = value
    return found


def _value(written: str) -> str | None:
    if written[:1] not in ("'", '"'):
        return re.split(r"(?:^|\s)#", written, maxsplit=1)[0].strip()
    quoted = _QUOTED.fullmatch(written)
    if quoted is None:
        return None
    if quoted[1] is not None:
        return quoted[1]
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), quoted[2])


_conforms: type[Secrets] = HostSecrets

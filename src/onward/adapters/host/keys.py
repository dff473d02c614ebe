"""The keys that seal the credential store: 32 random bytes each, the newest first.

They come from `ONWARD_KEY` (base64, several with commas between) or, without it, from a key file
(base64, one to a line) that only its owner may read.
"""

from __future__ import annotations

import binascii
import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from onward.adapters.host.private_file import write_private
from onward.errors import CredentialError

KEY_VARIABLE = "ONWARD_KEY"
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `id` tells which key sealed a record and reveals nothing about its bytes."""

    id: str
    secret: bytes = field(repr=False)


class KeyRing:
    """Finds the keys. They are read at each use, so a rotation needs no restart."""

    def __init__(self, environment: Mapping[str, str], file: Path | None) -> None:
        self._environment = environment
        self._file = file

    @property
    def place(self) -> str:
        """The name of the variable or file that holds the keys, for messages."""
        return KEY_VARIABLE if self._in_environment or self._file is None else str(self._file)

    @property
    def _in_environment(self) -> bool:
        return bool(self._environment.get(KEY_VARIABLE, "").strip())

    def keys(self) -> tuple[Key, ...]:
        """Return the keys, the newest first; none when there is no key yet."""
        if self._in_environment:
            return _parse(self._environment[KEY_VARIABLE].replace(",", "\n"), KEY_VARIABLE)
        if self._file is None:
            return ()
        try:
            mode = self._file.stat().st_mode
            text = self._file.read_text(encoding="ascii")
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not base64"
            raise CredentialError(f"key file {self._file} cannot be read: {reason}") from None
        if os.name == "posix" and mode & 0o077:
            raise CredentialError(
                f"key file {self._file} can be read by others: run chmod 600 {self._file}"
            )
        return _parse(text, f"key file {self._file}")

    def add(self) -> bool:
        """Put a new key before the others in the key file, made if there is none.

        Return False, and do nothing, when the keys come from the environment: it can
        only be changed where it is set. Older keys stay, for records and backups that they sealed.
        """
        if self._in_environment:
            return False
        if self._file is None:
            raise CredentialError(f"there is no place for a key: set {KEY_VARIABLE} or a key file")
        texts = [b64encode(secrets.token_bytes(_KEY_BYTES)).decode()]
        texts += [b64encode(key.secret).decode() for key in self.keys()]
        write_private(self._file, "".join(f"{text}\n" for text in texts).encode())
        return True


def _parse(text: str, place: str) -> tuple[Key, ...]:
    found: list[Key] = []
    for number, line in enumerate(text.split(), start=1):
        try:
            secret = b64decode(line, validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if len(secret) != _KEY_BYTES:
            raise CredentialError(
                f"{place}: key {number} is not {_KEY_BYTES} bytes in base64: "
                f"make one with: openssl rand -base64 {_KEY_BYTES}"
            )
        found.append(Key(sha256(b"onward key id\0" + secret).hexdigest()[:16], secret))
    return tuple(found)

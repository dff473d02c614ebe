"""Whom an address lets in, and on which conditions."""

from __future__ import annotations

from dataclasses import dataclass

from onward.errors import InputError
from onward.runtime.access import hash_of

BODY_LIMIT = 10 * 1024 * 1024
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SHORTEST_TOKEN = 16
AUDIT_KEPT_MS = 365 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask: this machine alone, unless everybody must say who they are."""

    token_hash: str = ""
    """SHA-256 of the operator's token, in hex; "" when there is none."""
    required: bool = False
    """Whether everybody must say who they are; else whoever is on this machine is an admin."""
    secure: bool = False
    """Whether browsers come by HTTPS: cookies then travel no other way."""
    body_limit: int = BODY_LIMIT
    audit_kept_ms: int = AUDIT_KEPT_MS

    @classmethod
    def of(cls, host: str, token: str | None, audit_kept_ms: int = AUDIT_KEPT_MS) -> Access:
        """Return the access rules of an address; InputError when the token will not do."""
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise InputError(f"the token is too short: give at least {SHORTEST_TOKEN} characters")
        outside = host not in LOOPBACK
        return cls(
            hash_of(token) if token else "",
            required=outside or token is not None,
            secure=outside,
            audit_kept_ms=audit_kept_ms,
        )

    @property
    def cookie(self) -> str:
        """Return the name of the login's cookie; browsers hold `__Host-` to its promises."""
        return "__Host-onward" if self.secure else "onward"

    def check(self, host: str, anyone: bool) -> None:
        """Raise InputError for an address that others reach and nobody could enter."""
        if self.required and not self.token_hash and not anyone:
            raise InputError(
                f"{host} can be reached from other machines, so somebody must be able to log in:"
                " set ONWARD_TOKEN, or run `onward users add` or `onward tokens create` first, or"
                " listen on 127.0.0.1"
            )

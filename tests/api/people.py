"""Everybody who may come to the API in tests: users and tokens of every role, and expired ones."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass

from api.service import serving
from onward.api.http.identity import Access
from onward.runtime.security.accounts import AccountAdministration

OPERATOR = "the-token-of-the-operator"
PASSWORD = "correct horse battery"


@dataclass(frozen=True, slots=True)
class Guarded:
    """A service where everybody must say who they are, and what they say."""

    service: object
    tokens: dict[str, str]

    def headers(self, who):
        """Return the headers of somebody; none for nobody."""
        return {"authorization": f"Bearer {self.tokens[who]}"} if who in self.tokens else {}

    async def ask(self, method, path, who="", **more):
        """Ask as somebody."""
        headers = {**self.headers(who), **more.pop("headers", {})}
        return await self.service.client.request(method, f"/api/v1{path}", headers=headers, **more)


def administration_of(backend):
    at = backend.access
    return AccountAdministration(at.accounts, at.passwords, backend.clock, backend.chance)


@asynccontextmanager
async def guarded(backend, access=None):
    """Serve a backend to those who say who they are, with one token of every kind."""
    administration = administration_of(backend)
    tokens = {"operator": OPERATOR}
    for role in ("viewer", "editor", "admin"):
        _, tokens[role] = await administration.add_token(role, role, by="test")
    _, tokens["scoped"] = await administration.add_token(
        "scoped", "editor", by="test", workflows=("hello",)
    )
    _, tokens["expired"] = await administration.add_token("old", "admin", by="test", lasts_ms=-1)
    gone, tokens["revoked"] = await administration.add_token("gone", "admin", by="test")
    await administration.revoke_token(gone.token_id)
    tokens["unknown"] = "onward_pat_" + "x" * 43
    async with serving(backend, access or Access.of("127.0.0.1", OPERATOR), 0.05) as service:
        yield Guarded(service, tokens)

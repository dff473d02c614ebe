"""Who may do what: credentials, users, tokens, and the audit log."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence

from onward.client.calls.triggers import PAGE, Facts
from onward.client.requests import ApiRequests


class AccessCalls(ApiRequests):
    """Keeps credentials, users and tokens, and reads who changed what."""

    # -- credentials ----------------------------------------------------------------------------

    async def credential_types(self) -> list[Facts]:
        """Return the types of credentials, with the fields of each."""
        return list((await self.call("GET", "/credential-types"))["items"])

    def credentials(self) -> AsyncGenerator[Facts, None]:
        """Iterate over credentials by name; what is in them is never told."""
        return self.pages(Facts, "/credentials", limit=PAGE)

    async def credential(self, name: str) -> Facts:
        """Return what is known of a credential."""
        return dict(await self.call("GET", f"/credentials/{name}"))

    async def add_credential(
        self,
        name: str,
        kind: str,
        fields: Mapping[str, str],
        *,
        workflows: Sequence[str] | None = None,
    ) -> Facts:
        """Seal and keep a credential; `workflows` are those that may use it, None is every one."""
        body = {"name": name, "type": kind, "fields": dict(fields), "workflows": workflows}
        return dict(await self.call("POST", "/credentials", body=body))

    async def change_credential(
        self,
        name: str,
        *,
        fields: Mapping[str, str] | None = None,
        workflows: Sequence[str] | None = None,
    ) -> Facts:
        """Replace what is in a credential (None: keep it), and who may use it (None: all)."""
        body = {"fields": None if fields is None else dict(fields), "workflows": workflows}
        return dict(await self.call("PUT", f"/credentials/{name}", body=body))

    async def remove_credential(self, name: str) -> None:
        """Forget a credential; nodes that name it fail from now on."""
        await self.call("DELETE", f"/credentials/{name}")

    async def test_credential(self, name: str, url: str | None = None) -> Facts:
        """Use a credential once, and return `ok`, `detail` and `status`."""
        return dict(await self.call("POST", f"/credentials/{name}:test", body={"url": url}))

    async def credential_usage(self, name: str) -> list[Facts]:
        """Return the versions of workflows that name a credential."""
        return list((await self.call("GET", f"/credentials/{name}/usage"))["items"])

    async def rotate_credentials(self) -> int:
        """Seal every credential with the newest key, and return how many that changed."""
        return int((await self.call("POST", "/credentials:rotate"))["sealed_anew"])

    # -- users and tokens -----------------------------------------------------------------------

    async def me(self) -> Facts:
        """Return who asks, and what they may do."""
        return dict(await self.call("GET", "/me"))

    async def users(self) -> list[Facts]:
        """Return everybody who may log in."""
        return list((await self.call("GET", "/users"))["items"])

    async def user(self, name: str) -> Facts:
        """Return a person who may log in."""
        return dict(await self.call("GET", f"/users/{name}"))

    async def add_user(self, name: str, role: str, password: str) -> Facts:
        """Let somebody log in."""
        body = {"name": name, "role": role, "password": password}
        return dict(await self.call("POST", "/users", body=body))

    async def change_user(
        self,
        name: str,
        *,
        role: str | None = None,
        enabled: bool | None = None,
        password: str | None = None,
    ) -> Facts:
        """Change what is given about a user."""
        body = {"role": role, "enabled": enabled, "password": password}
        return dict(await self.call("PATCH", f"/users/{name}", body=body))

    async def remove_user(self, name: str) -> None:
        """Let somebody log in no more."""
        await self.call("DELETE", f"/users/{name}")

    def tokens(self) -> AsyncGenerator[Facts, None]:
        """Iterate over tokens, newest first, without their secrets."""
        return self.pages(Facts, "/tokens", limit=PAGE)

    async def token(self, token_id: str) -> Facts:
        """Return what is known of a token."""
        return dict(await self.call("GET", f"/tokens/{token_id}"))

    async def create_token(
        self,
        name: str,
        role: str,
        *,
        workflows: Sequence[str] | None = None,
        expires_in_s: int | None = None,
    ) -> Facts:
        """Make a token; its secret is `token` of the answer, and nowhere else."""
        body = {"name": name, "role": role, "workflows": workflows, "expires_in_s": expires_in_s}
        return dict(await self.call("POST", "/tokens", body=body))

    async def revoke_token(self, token_id: str) -> Facts:
        """Let a token count no more, at once and for ever."""
        return dict(await self.call("POST", f"/tokens/{token_id}:revoke"))

    # -- the audit log --------------------------------------------------------------------------

    def audit(
        self, *, actor: str = "", action: str = "", target: str = ""
    ) -> AsyncGenerator[Facts, None]:
        """Iterate over changes, newest first: who, what, when and from where."""
        path = "/audit"
        return self.pages(Facts, path, actor=actor, action=action, target=target, limit=PAGE)

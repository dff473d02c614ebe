"""Routes of users and tokens, for admins."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from onward.api.routing.parameters import Cursor, Limit, next_cursor, read_text_cursor
from onward.api.routing.routes import NO_CONTENT, Call, Reply, Routes
from onward.api.security.views import (
    NewTokenView,
    TokenGiven,
    TokenView,
    UserChange,
    UserGiven,
    UserName,
    UserView,
)
from onward.api.views import Identifier, Page
from onward.kernel.timestamps import to_iso
from onward.ports.security.accounts import ApiToken, User
from onward.runtime.backend import Backend
from onward.runtime.security.accounts import AccountAdministration, counts

LAST_ID = "~"
"""Sorts after every id."""
Name = Annotated[UserName, Meta(description="The user's name.")]
TokenId = Annotated[Identifier, Meta(description="The token's id.")]


def account_routes(backend: Backend) -> Routes:
    """Return the routes of users and tokens."""
    access = backend.access
    administration = AccountAdministration(
        access.accounts, access.passwords, backend.clock, backend.chance
    )
    routes = Routes(tags=["access"])
    _add_users(routes, backend, administration)
    _add_tokens(routes, backend, administration)
    return routes


def _add_users(routes: Routes, backend: Backend, administration: AccountAdministration) -> None:
    @routes.get("/users", summary="List users")
    async def list_users() -> Page[UserView]:
        """Everybody who may log in, by name."""
        users = await backend.access.accounts.users()
        return Page[UserView](items=[user_view(user) for user in users], next_cursor=None)

    @routes.post("/users", status=201, summary="Make a user")
    async def create_user(given: UserGiven) -> UserView:
        """Let somebody log in."""
        return user_view(await administration.add_user(given.name, given.role, given.password))

    @routes.get("/users/{user_name}", summary="Get a user")
    async def get_user(user_name: Name) -> UserView:
        """A person who may log in."""
        return user_view(await administration.user(user_name))

    @routes.patch("/users/{user_name}", summary="Change a user")
    async def change_user(user_name: Name, given: UserChange) -> UserView:
        """Change what is given. A new password, or disabling, ends every login of the user."""
        changed = await administration.change_user(
            user_name, role=given.role, enabled=given.enabled, password=given.password
        )
        return user_view(changed)

    @routes.delete("/users/{user_name}", status=204, summary="Delete a user")
    async def delete_user(user_name: Name) -> Reply:
        """Forget a user. The last admin stays."""
        await administration.remove_user(user_name)
        return NO_CONTENT


def _add_tokens(routes: Routes, backend: Backend, administration: AccountAdministration) -> None:
    def view(token: ApiToken) -> TokenView:
        return token_view(token, backend.clock.now_ms())

    @routes.get("/tokens", summary="List tokens")
    async def list_tokens(limit: Limit = 50, cursor: Cursor = None) -> Page[TokenView]:
        """Tokens, newest first, also those that count no more."""
        before = read_text_cursor(cursor, LAST_ID)
        found = await backend.access.accounts.tokens(before=before, limit=limit + 1)
        return Page[TokenView](
            items=[view(token) for token in found[:limit]],
            next_cursor=next_cursor(found, limit, lambda token: (token.token_id,)),
        )

    @routes.post("/tokens", status=201, summary="Make a token")
    async def create_token(given: TokenGiven, call: Call) -> NewTokenView:
        """Make a token. Its secret is in this answer and nowhere else."""
        token, secret = await administration.add_token(
            given.name,
            given.role,
            by=call.principal.actor,
            workflows=None if given.workflows is None else tuple(sorted(set(given.workflows))),
            lasts_ms=None if given.expires_in_s is None else given.expires_in_s * 1000,
        )
        return NewTokenView(**msgspec.structs.asdict(view(token)), token=secret)

    @routes.get("/tokens/{token_id}", summary="Get a token")
    async def get_token(token_id: TokenId) -> TokenView:
        """A token, without its secret."""
        return view(await administration.token(token_id))

    @routes.post("/tokens/{token_id}:revoke", summary="Revoke a token")
    async def revoke_token(token_id: TokenId) -> TokenView:
        """Let a token count no more, at once and for ever."""
        return view(await administration.revoke_token(token_id))


def user_view(user: User) -> UserView:
    """Return the view of a user."""
    return UserView(
        name=user.name,
        role=user.role,
        enabled=user.enabled,
        created_at=to_iso(user.created_ms),
        changed_at=to_iso(user.changed_ms),
    )


def token_view(token: ApiToken, now_ms: int) -> TokenView:
    """Return the view of a token."""
    return TokenView(
        token_id=token.token_id,
        name=token.name,
        role=token.role,
        workflows=None if token.workflows is None else list(token.workflows),
        created_at=to_iso(token.created_ms),
        created_by=token.created_by,
        expires_at=_iso(token.expires_ms),
        revoked_at=_iso(token.revoked_ms),
        used_at=_iso(token.used_ms),
        counts=counts(token, now_ms),
    )


def _iso(at_ms: int | None) -> str | None:
    return None if at_ms is None else to_iso(at_ms)

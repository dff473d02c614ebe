"""Routes of users and tokens, for admins."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from onward.api.http.authorization import asker
from onward.api.http.json_route import StrictRoute, read_cursor, write_cursor
from onward.api.http.parameters import Cursor, Limit
from onward.api.http.problems import RequestRefusedError
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
Name = Annotated[UserName, Path(description="The user's name.")]
TokenId = Annotated[Identifier, Path(description="The token's id.")]


def people_routes(backend: Backend) -> APIRouter:
    """Return the routes of users and tokens."""
    at = backend.access
    administration = AccountAdministration(at.accounts, at.passwords, backend.clock, backend.chance)
    routes = APIRouter(tags=["access"], route_class=StrictRoute)
    _add_users(routes, backend, administration)
    _add_tokens(routes, backend, administration)
    return routes


def _add_users(routes: APIRouter, backend: Backend, administration: AccountAdministration) -> None:
    @routes.get("/users", summary="List users")
    async def list_users() -> Page[UserView]:
        """Everybody who may log in, by name."""
        users = await backend.access.accounts.users()
        return Page[UserView](items=[user_view(user) for user in users], next_cursor=None)

    @routes.post("/users", status_code=201, summary="Make a user")
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

    @routes.delete("/users/{user_name}", status_code=204, summary="Delete a user")
    async def delete_user(user_name: Name) -> Response:
        """Forget a user. The last admin stays."""
        await administration.remove_user(user_name)
        return Response(status_code=204)


def _add_tokens(routes: APIRouter, backend: Backend, administration: AccountAdministration) -> None:
    def view(token: ApiToken) -> TokenView:
        return token_view(token, backend.clock.now_ms())

    @routes.get("/tokens", summary="List tokens")
    async def list_tokens(limit: Limit = 50, cursor: Cursor = None) -> Page[TokenView]:
        """Tokens, newest first, also those that count no more."""
        (before,) = read_cursor(cursor, tuple[str]) or (LAST_ID,)
        if "\0" in before:
            raise RequestRefusedError(422, "BAD_CURSOR", "cursor: it is no cursor of this list")
        found = await backend.access.accounts.tokens(before=before, limit=limit + 1)
        return Page[TokenView](
            items=[view(one) for one in found[:limit]],
            next_cursor=write_cursor(found[limit - 1].token_id) if len(found) > limit else None,
        )

    @routes.post("/tokens", status_code=201, summary="Make a token")
    async def create_token(given: TokenGiven, request: Request) -> NewTokenView:
        """Make a token. Its secret is in this answer and nowhere else."""
        token, secret = await administration.add_token(
            given.name,
            given.role,
            by=asker(request).actor,
            workflows=None if given.workflows is None else tuple(sorted(set(given.workflows))),
            lasts_ms=None if given.expires_in_s is None else given.expires_in_s * 1000,
        )
        return NewTokenView(**view(token).model_dump(), token=secret)

    @routes.get("/tokens/{token_id}", summary="Get a token")
    async def get_token(token_id: TokenId) -> TokenView:
        """A token, without its secret."""
        return view(await administration.token(token_id))

    @routes.post("/tokens/{token_id}:revoke", summary="Revoke a token")
    async def revoke_token(token_id: TokenId) -> TokenView:
        """Let a token count no more, at once and for ever."""
        return view(await administration.revoke_token(token_id))


def user_view(user: User) -> UserView:
    """Return a user as the API tells it."""
    return UserView(
        name=user.name,
        role=user.role,
        enabled=user.enabled,
        created_at=to_iso(user.created_ms),
        changed_at=to_iso(user.changed_ms),
    )


def token_view(token: ApiToken, now_ms: int) -> TokenView:
    """Return a token as the API tells it."""
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

"""Routes of whoever asks: log in and out with a browser, and change one's own password."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from onward.api.http.authorization import asker, too_often
from onward.api.http.identity import Access, cookie_of
from onward.api.http.json_route import StrictRoute
from onward.api.http.problems import RequestRefusedError
from onward.api.security.views import LoginGiven, MeView, PasswordGiven
from onward.api.views import Place
from onward.errors import StateConflictError
from onward.ports.security.accounts import Principal
from onward.runtime.backend import Backend
from onward.runtime.security.accounts import LOGIN_MS, AccountAdministration, Authenticator, csrf_of
from onward.runtime.security.audit import current
from onward.runtime.security.rate_limit import Rate, RateLimiter

ATTEMPTS = 20
ATTEMPT_EVERY_S = 15
"""How often a name may be tried, wherever from: 20 times at once, then once in 15 seconds."""


def login_routes(backend: Backend, access: Access, doorkeeper: Authenticator) -> APIRouter:
    """Return the routes of whoever asks."""
    routes = APIRouter(tags=["access"], route_class=StrictRoute)
    attempts = RateLimiter(backend.clock, Rate(ATTEMPTS, 1 / ATTEMPT_EVERY_S))
    _add_login(routes, backend, access, doorkeeper, attempts)
    _add_me(routes, backend, attempts)
    return routes


def _add_login(
    routes: APIRouter,
    backend: Backend,
    access: Access,
    doorkeeper: Authenticator,
    attempts: RateLimiter,
) -> None:
    @routes.post("/login", summary="Log in")
    async def log_in(given: LoginGiven, response: Response) -> MeView:
        """Exchange a name and a password for a cookie that lasts twelve hours."""
        _take(attempts, given.name)
        entered = await doorkeeper.log_in(given.name, given.password)
        known = await backend.access.accounts.user(given.name)
        record = current()
        if record is not None and known is not None:
            record.target = f"user {known.name}"
        if entered is None:
            if record is not None:
                record.action, record.always = "log_in_refused", True
            raise RequestRefusedError(401, "BAD_LOGIN", "the name or the password is wrong")
        attempts.give_back(given.name)
        secret, _, user = entered
        if record is not None:
            record.actor = f"user:{user.name}"
        response.set_cookie(
            access.cookie,
            secret,
            max_age=LOGIN_MS // 1000,
            httponly=True,
            secure=access.secure,
            samesite="lax",
        )
        return me_view(Principal(kind="user", name=user.name, role=user.role, csrf=csrf_of(secret)))

    @routes.post("/logout", status_code=204, summary="Log out")
    async def log_out(request: Request) -> Response:
        """End the login of this browser; nothing happens without one."""
        secret = cookie_of(request.headers, access)
        if secret:
            await doorkeeper.log_out(secret)
        response = Response(status_code=204)
        response.delete_cookie(access.cookie, httponly=True, secure=access.secure, samesite="lax")
        return response


def _add_me(routes: APIRouter, backend: Backend, attempts: RateLimiter) -> None:
    at = backend.access
    administration = AccountAdministration(at.accounts, at.passwords, backend.clock, backend.chance)

    @routes.get("/me", summary="Say who asks")
    async def get_me(request: Request) -> MeView:
        """Who the server takes you for, and what you may do."""
        return me_view(asker(request))

    @routes.post("/me:password", status_code=204, summary="Change one's password")
    async def change_password(given: PasswordGiven, request: Request) -> Response:
        """Change the password of the user who has logged in. Every login of it ends."""
        who = asker(request)
        if who.kind != "user":
            raise StateConflictError("only a user who has logged in has a password", "NOT_A_USER")
        _take(attempts, who.name)
        if not await administration.change_password(who.name, given.current, given.password):
            place = Place(message="it is not the current password", pointer="/current")
            raise RequestRefusedError(
                422, "WRONG_PASSWORD", "current: it is not the current password", errors=[place]
            )
        attempts.give_back(who.name)
        return Response(status_code=204)


def _take(attempts: RateLimiter, name: str) -> None:
    wait_s = attempts.take(name)
    if wait_s:
        raise too_often(wait_s)


def me_view(who: Principal) -> MeView:
    """Return who asks as the API tells it."""
    return MeView(
        kind=who.kind,
        name=who.name,
        role=who.role,
        workflows=None if who.workflows is None else list(who.workflows),
        csrf_token=who.csrf or None,
    )

"""Routes of the caller itself: log in and out with a browser, and change one's own password."""

from __future__ import annotations

from onward.api.http.identity import Access, cookie_of
from onward.api.routing.refusals import RequestRefusedError, too_many_requests
from onward.api.routing.routes import NO_CONTENT, Call, Reply, Routes, json_reply
from onward.api.security.views import LoginGiven, MeView, PasswordGiven
from onward.api.views import Place
from onward.errors import StateConflictError
from onward.ports.security.accounts import Principal
from onward.runtime.backend import Backend
from onward.runtime.security.accounts import LOGIN_MS, AccountAdministration, Authenticator, csrf_of
from onward.runtime.security.audit import current
from onward.runtime.security.rate_limit import Buckets

ATTEMPTS = 20
ATTEMPT_EVERY_S = 15
"""How often a name may be tried, wherever from: 20 times at once, then once in 15 seconds."""


def login_routes(backend: Backend, access: Access, authenticator: Authenticator) -> Routes:
    """Return the routes of the caller itself."""
    routes = Routes(tags=["access"])
    attempts = Buckets(backend.clock, burst=ATTEMPTS, per_s=1 / ATTEMPT_EVERY_S)
    _add_login(routes, backend, access, authenticator, attempts)
    _add_me(routes, backend, attempts)
    return routes


def _add_login(
    routes: Routes,
    backend: Backend,
    access: Access,
    authenticator: Authenticator,
    attempts: Buckets,
) -> None:
    @routes.post("/login", summary="Log in", view=MeView)
    async def log_in(given: LoginGiven) -> Reply:
        """Exchange a name and a password for a cookie that lasts twelve hours."""
        _take(attempts, given.name)
        entered = await authenticator.log_in(given.name, given.password)
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
        me = Principal(kind="user", name=user.name, role=user.role, csrf=csrf_of(secret))
        cookie = access.write_cookie(secret, LOGIN_MS // 1000)
        return json_reply(me_view(me), headers={"set-cookie": cookie})

    @routes.post("/logout", status=204, summary="Log out")
    async def log_out(call: Call) -> Reply:
        """End the login of this browser; nothing happens without one."""
        secret = cookie_of(call.headers, access)
        if secret:
            await authenticator.log_out(secret)
        headers = {"set-cookie": access.write_cookie("", 0)}
        return Reply(status=204, headers=headers, media_type=None)


def _add_me(routes: Routes, backend: Backend, attempts: Buckets) -> None:
    accounts = backend.access
    administration = AccountAdministration(
        accounts.accounts, accounts.passwords, backend.clock, backend.chance
    )

    @routes.get("/me", summary="Say who asks")
    async def get_me(call: Call) -> MeView:
        """Who the server takes you for, and what you may do."""
        return me_view(call.principal)

    @routes.post("/me:password", status=204, summary="Change one's password")
    async def change_password(given: PasswordGiven, call: Call) -> Reply:
        """Change the password of the user who has logged in. Every login of it ends."""
        who = call.principal
        if who.kind != "user":
            raise StateConflictError("only a user who has logged in has a password", "NOT_A_USER")
        _take(attempts, who.name)
        if not await administration.change_password(who.name, given.current, given.password):
            place = Place(message="it is not the current password", pointer="/current")
            raise RequestRefusedError(
                422, "WRONG_PASSWORD", "current: it is not the current password", errors=[place]
            )
        attempts.give_back(who.name)
        return NO_CONTENT


def _take(attempts: Buckets, name: str) -> None:
    wait_s = attempts.take(name)
    if wait_s:
        raise too_many_requests(wait_s)


def me_view(who: Principal) -> MeView:
    """Return the view of the caller."""
    return MeView(
        kind=who.kind,
        name=who.name,
        role=who.role,
        workflows=None if who.workflows is None else list(who.workflows),
        csrf_token=who.csrf or None,
    )

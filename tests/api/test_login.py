"""Logging in with a browser: the cookie, the token against forged requests, and guessing."""

import pytest

from api.people import PASSWORD, administration_of, guarded
from api.service import serving
from onward.api.http.identity import Access
from onward.runtime.security.accounts import LOGIN_MS, hash_of

OUTSIDE = Access.of("0.0.0.0", None)


@pytest.fixture
async def door(backend):
    await administration_of(backend).add_user("ada", "editor", PASSWORD)
    async with guarded(backend) as one:
        yield one


async def log_in(door, name="ada", password=PASSWORD):
    return await door.ask("POST", "/login", json={"name": name, "password": password})


async def test_a_browser_logs_in_changes_something_and_logs_out(door):
    entered = await log_in(door)
    csrf = {"x-csrf-token": entered.json()["csrf_token"]}
    me = await door.ask("GET", "/me")
    forged = await door.ask("POST", "/workflows:export")
    wrong = await door.ask("POST", "/workflows:export", headers={"x-csrf-token": "é".encode()})
    meant = await door.ask("POST", "/workflows:export", headers=csrf)
    forbidden = await door.ask("GET", "/users")
    left = await door.ask("POST", "/logout", headers=csrf)
    door.service.client.cookies.set("onward", entered.cookies["onward"])
    after = await door.ask("GET", "/me")

    assert ("user", "ada", "editor") == tuple(me.json()[name] for name in ("kind", "name", "role"))
    assert me.json() == entered.json()
    assert [403, 403, 200, 403, 204, 401] == [
        one.status_code for one in (forged, wrong, meant, forbidden, left, after)
    ]
    assert "CSRF" == forged.json()["code"]
    assert 'onward=""' in left.headers["set-cookie"]


@pytest.mark.parametrize(
    ("access", "wanted"),
    [
        (Access.of("127.0.0.1", "a-token-of-some-length"), {"onward", "httponly", "samesite=lax"}),
        (OUTSIDE, {"__host-onward", "httponly", "samesite=lax", "secure", "path=/"}),
    ],
)
async def test_the_cookie_is_for_this_server_alone(backend, access, wanted):
    await administration_of(backend).add_user("ada", "editor", PASSWORD)
    async with serving(backend, access) as service:
        answer = await service.post("/login", {"name": "ada", "password": PASSWORD})
    parts = {one.strip().lower() for one in answer.headers["set-cookie"].split(";")}
    names = {part.partition("=")[0] if "onward=" in part else part for part in parts}

    assert wanted <= names
    assert f"max-age={LOGIN_MS // 1000}" in parts
    assert "domain" not in answer.headers["set-cookie"].lower()
    assert access.secure == ("secure" in parts)


async def test_who_is_refused_does_not_learn_why(door, backend):
    await administration_of(backend).add_user("off", "editor", PASSWORD)
    await administration_of(backend).change_user("off", enabled=False)
    answers = [
        await log_in(door, *one)
        for one in (("ada", "wrong"), ("nobody", PASSWORD), ("off", PASSWORD))
    ]

    assert [(401, "BAD_LOGIN", "the name or the password is wrong")] * 3 == [
        (answer.status_code, answer.json()["code"], answer.json()["detail"]) for answer in answers
    ]
    assert not any("set-cookie" in answer.headers for answer in answers)


async def test_an_unknown_name_is_hashed_like_a_known_one(local):
    hashed = []
    passwords = local.backend.access.passwords
    verify = passwords._verify
    passwords._verify = lambda known, password: hashed.append(known[:30]) or verify(known, password)
    await administration_of(local.backend).add_user("ada", "editor", PASSWORD)
    for name in ("ada", "nobody"):
        await local.post("/login", {"name": name, "password": "a wrong password"})

    assert 2 == len(hashed)
    assert hashed[0] == hashed[1]  # the algorithm and its costs


async def test_a_login_ends_with_its_time_its_user_and_a_new_password(door, backend):
    accounts = backend.access.accounts
    secret = (await log_in(door)).cookies["onward"]
    login, user = await accounts.login_of(hash_of(secret))
    assert (LOGIN_MS, "ada") == (login.expires_ms - login.created_ms, user.name)

    await administration_of(backend).change_user("ada", password="another good password")
    renewed = await door.ask("GET", "/me")
    secret = (await log_in(door, password="another good password")).cookies["onward"]
    await administration_of(backend).change_user("ada", enabled=False)
    disabled = await door.ask("GET", "/me")

    assert await accounts.login_of(hash_of(secret)) is None
    assert [401, 401] == [renewed.status_code, disabled.status_code]


async def test_a_login_that_is_over_opens_nothing(door, backend, monkeypatch):
    await log_in(door)
    now_ms = backend.clock.now_ms()
    monkeypatch.setattr(backend.clock, "now_ms", lambda: now_ms + LOGIN_MS + 1, raising=False)

    assert 401 == (await door.ask("GET", "/me")).status_code


async def test_a_user_changes_its_own_password(door):
    entered = await log_in(door)
    csrf = {"x-csrf-token": entered.json()["csrf_token"]}

    async def change(current, password):
        given = {"current": current, "password": password}
        return await door.ask("POST", "/me:password", headers=csrf, json=given)

    wrong = await change("not my password", "another good password")
    easy = await change(PASSWORD, "short")
    done = await change(PASSWORD, "another good password")
    old = await log_in(door)
    new = await log_in(door, password="another good password")
    token = await door.ask(
        "POST", "/me:password", "viewer", json={"current": "x", "password": PASSWORD}
    )

    assert [422, 422, 204, 401, 200, 409] == [
        one.status_code for one in (wrong, easy, done, old, new, token)
    ]
    assert ["/current"] == [one["pointer"] for one in wrong.json()["errors"]]


async def test_guessing_becomes_slow_for_an_address(door, backend, monkeypatch):
    now_ms = backend.clock.now_ms()
    monkeypatch.setattr(backend.clock, "now_ms", lambda: now_ms, raising=False)
    statuses = [(await log_in(door, f"user{n}", "x")).status_code for n in range(12)]
    refused = await log_in(door)

    assert [401] * 10 + [429] * 2 == statuses
    assert ("TOO_MANY_REQUESTS", "6") == (refused.json()["code"], refused.headers["retry-after"])
    now_ms += 6_000
    assert 200 == (await log_in(door)).status_code


async def test_guessing_one_password_becomes_slow_wherever_it_comes_from(local, monkeypatch):
    now_ms = local.backend.clock.now_ms()
    monkeypatch.setattr(local.backend.clock, "now_ms", lambda: now_ms, raising=False)
    statuses = []
    for number in range(22):
        # As a proxy on this machine tells it: each from an address of its own.
        came = {"x-forwarded-for": f"10.0.0.{number}"}
        given = {"name": "ada", "password": "x"}
        statuses.append((await local.post("/login", given, headers=came)).status_code)

    assert [401] * 20 + [429] * 2 == statuses

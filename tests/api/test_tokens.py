"""Tokens and users through the API, and who is let in with them."""

import pytest

from api.people import OPERATOR, PASSWORD, administration_of, guarded
from api.service import serving
from onward import AsyncEngine, DeniedError
from onward.api.http.identity import Access
from onward.errors import InputError
from onward.runtime.security.accounts import PREFIX, hash_of


async def test_a_token_is_told_once_and_kept_as_a_hash(backend):
    async with guarded(backend) as door:
        given = {"name": "ci", "role": "editor", "expires_in_s": 3600, "workflows": ["b", "a", "b"]}
        made = await door.ask("POST", "/tokens", "admin", json=given)
        secret = made.json()["token"]
        got = await door.ask("GET", f"/tokens/{made.json()['token_id']}", "admin")
        listed = await door.ask("GET", "/tokens", "admin")
    kept = await backend.access.accounts.token_of(hash_of(secret))

    assert 201 == made.status_code
    assert secret.startswith(PREFIX)
    assert ["a", "b"] == got.json()["workflows"]
    assert got.json() == listed.json()["items"][0]
    assert secret not in got.text + listed.text
    assert made.json()["token_id"] == kept.token_id
    assert "token:admin" == got.json()["created_by"]


async def test_the_last_use_of_a_token_is_noted(backend):
    async with guarded(backend) as door:
        made = (
            await door.ask("POST", "/tokens", "admin", json={"name": "x", "role": "viewer"})
        ).json()
        door.tokens["x"] = made["token"]
        before = await door.ask("GET", f"/tokens/{made['token_id']}", "admin")
        me = await door.ask("GET", "/me", "x")
        after = await door.ask("GET", f"/tokens/{made['token_id']}", "admin")

    assert ("token", "x", "viewer") == tuple(me.json()[name] for name in ("kind", "name", "role"))
    assert before.json()["used_at"] is None
    assert after.json()["used_at"] is not None


async def test_a_revoked_token_opens_nothing_and_stays_revoked(backend):
    async with guarded(backend) as door:
        made = (
            await door.ask("POST", "/tokens", "admin", json={"name": "x", "role": "admin"})
        ).json()
        door.tokens["x"] = made["token"]
        path = f"/tokens/{made['token_id']}:revoke"
        first = await door.ask("POST", path, "x")
        used = await door.ask("GET", "/me", "x")
        again = await door.ask("POST", path, "admin")
        missing = await door.ask("POST", "/tokens/none:revoke", "admin")

    assert [200, 401, 200, 404] == [one.status_code for one in (first, used, again, missing)]
    assert first.json()["counts"] is False
    assert first.json()["revoked_at"] == again.json()["revoked_at"]


async def test_tokens_come_in_pages_newest_first(backend):
    async with guarded(backend) as door:
        names, cursor = [], None
        while True:
            params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
            page = (await door.ask("GET", "/tokens", "admin", params=params)).json()
            names += [one["token_id"] for one in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break

    assert 6 == len(names)
    assert sorted(names, reverse=True) == names


@pytest.mark.parametrize(
    "given",
    [
        {"name": "x"},
        {"name": "", "role": "viewer"},
        {"name": "a\nb", "role": "viewer"},
        {"name": "x", "role": "root"},
        {"name": "x", "role": "viewer", "workflows": ["no such id!"]},
        {"name": "x", "role": "viewer", "expires_in_s": 0},
        {"name": "x", "role": "viewer", "secret": "mine"},
    ],
)
async def test_a_token_that_makes_no_sense_is_refused(local, given):
    answer = await local.post("/tokens", given)

    assert (422, "INVALID_REQUEST") == (answer.status_code, answer.json()["code"])


async def test_users_are_made_changed_and_removed(backend):
    given = {"name": "ada", "role": "admin", "password": PASSWORD}
    async with guarded(backend) as door:
        made = await door.ask("POST", "/users", "admin", json=given)
        twice = await door.ask("POST", "/users", "admin", json=given)
        other = await door.ask("POST", "/users", "admin", json={**given, "name": "bo"})
        changed = await door.ask("PATCH", "/users/bo", "admin", json={"role": "viewer"})
        listed = await door.ask("GET", "/users", "admin")
        gone = await door.ask("DELETE", "/users/bo", "admin")
        missing = await door.ask("GET", "/users/bo", "admin")

    assert [201, 409, 201, 200, 204, 404] == [
        one.status_code for one in (made, twice, other, changed, gone, missing)
    ]
    assert [("ada", "admin"), ("bo", "viewer")] == [
        (one["name"], one["role"]) for one in listed.json()["items"]
    ]
    assert "password" not in listed.text
    assert "argon2" not in listed.text


@pytest.mark.parametrize("change", [{"role": "editor"}, {"enabled": False}, None])
async def test_the_last_admin_stays(backend, change):
    await administration_of(backend).add_user("ada", "admin", PASSWORD)
    await administration_of(backend).add_user("bo", "editor", PASSWORD)
    async with guarded(backend) as door:
        if change is None:
            answer = await door.ask("DELETE", "/users/ada", "admin")
        else:
            answer = await door.ask("PATCH", "/users/ada", "admin", json=change)
        user = await backend.access.accounts.user("ada")

    assert (409, "LAST_ADMIN") == (answer.status_code, answer.json()["code"])
    assert ("admin", True) == (user.role, user.enabled)


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaaa", "ada@example.org"])
async def test_a_password_that_is_guessed_at_once_is_refused(local, password):
    given = {"name": "ada@example.org", "role": "viewer", "password": password}
    answer = await local.post("/users", given)

    assert (422, "INVALID_INPUT") == (answer.status_code, answer.json()["code"])
    assert [] == await local.backend.access.accounts.users()


async def test_an_address_for_others_needs_somebody_who_can_enter(backend):
    accounts, access = backend.access.accounts, Access.of("0.0.0.0", None)
    nobody = await accounts.anyone(backend.clock.now_ms())
    with pytest.raises(InputError, match="onward users add"):
        access.check("0.0.0.0", nobody)
    token, _ = await administration_of(backend).add_token("x", "viewer", by="test", lasts_ms=60_000)
    now_ms = backend.clock.now_ms()

    access.check("0.0.0.0", await accounts.anyone(now_ms))
    Access.of("0.0.0.0", OPERATOR).check("0.0.0.0", False)
    Access.of("127.0.0.1", None).check("127.0.0.1", False)
    assert not await accounts.anyone(now_ms + 60_001)
    await administration_of(backend).revoke_token(token.token_id)
    assert not await accounts.anyone(now_ms)


async def test_without_an_operators_token_a_kept_one_opens_the_door(backend):
    async with guarded(backend, Access.of("0.0.0.0", None)) as door:
        none = await door.ask("GET", "/me")
        operator = await door.ask("GET", "/me", "operator")
        admin = await door.ask("GET", "/me", "admin")

    assert [401, 401, 200] == [one.status_code for one in (none, operator, admin)]


async def test_on_loopback_a_token_counts_as_what_it_is(backend):
    _, secret = await administration_of(backend).add_token("x", "viewer", by="test")
    async with serving(backend) as service:
        local = await service.get("/me")
        shown = await service.get("/me", headers={"authorization": f"Bearer {secret}"})
        forbidden = await service.post("/users", {}, headers={"authorization": f"Bearer {secret}"})
        wrong = await service.get("/me", headers={"authorization": "Bearer nope"})

    assert ("local", "admin") == (local.json()["kind"], local.json()["role"])
    assert ("token", "viewer") == (shown.json()["kind"], shown.json()["role"])
    assert [403, 401] == [forbidden.status_code, wrong.status_code]


async def test_a_token_is_sent(backend):
    async with serving(backend, Access.of("127.0.0.1", "a-secret-of-16-or-more")) as service:
        async with AsyncEngine.connect(service.url, "a-secret-of-16-or-more") as engine:
            assert "onward" == (await engine.server())["name"]
        async with AsyncEngine.connect(service.url, "another-secret-of-16") as engine:
            with pytest.raises(DeniedError):
                await engine.server()

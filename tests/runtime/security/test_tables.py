"""Users, tokens, logins, credentials and the audit log: the same on a file and on PostgreSQL."""

from contextlib import closing
from pathlib import Path

import pytest

from onward.adapters.host.keys import KeyRing
from onward.adapters.postgres.connection import PostgresDatabase
from onward.adapters.postgres.store import open_store
from onward.adapters.sql.accounts import TableAccounts
from onward.adapters.sql.audit import TableAuditLog
from onward.adapters.sql.credentials import TableCredentials
from onward.adapters.sql.database import DuplicateError
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.journal import SqliteJournal
from onward.errors import CredentialError, StorageError
from onward.ports.security.accounts import ApiToken, Login, User
from onward.ports.security.audit import AuditEntry
from onward.ports.security.credentials import Credential

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
ADA = User(name="ada", role="admin", password="h", enabled=True, created_ms=1, changed_ms=1)


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path):
    """A path, or a URL."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return tmp_path / "onward.db"


@pytest.fixture
async def tables(place):
    if isinstance(place, Path):
        SqliteJournal(place).close()
        with closing(SqliteConnection(place)) as file:
            yield SqliteDatabase(file)
    else:
        store = await open_store(place)
        yield PostgresDatabase(store.pool, store.place)
        await store.close()


def token(number, **more):
    return ApiToken(
        token_id=f"tok_{number}",
        name="x",
        hash=f"hash {number}",
        role="viewer",
        workflows=("b", "a") if number else None,
        created_ms=5,
        created_by="test",
        **more,
    )


async def test_users_and_their_logins(tables):
    accounts = TableAccounts(tables)
    login = Login(hash="x", name="ada", created_ms=10, expires_ms=20)
    off = User(name="ada", role="viewer", password="i", enabled=False, created_ms=1, changed_ms=2)

    assert [True, False] == [await accounts.add_user(ADA) for _ in range(2)]
    await accounts.add_login(login)
    assert (login, ADA) == await accounts.login_of("x")
    assert await accounts.change_user(off, log_out=False)
    assert (login, off) == await accounts.login_of("x")
    assert await accounts.change_user(ADA, log_out=True)
    assert await accounts.login_of("x") is None
    await accounts.add_login(login)
    assert [True, False] == [await accounts.remove_user("ada") for _ in range(2)]
    assert (None, None, []) == (
        await accounts.login_of("x"),
        await accounts.user("ada"),
        await accounts.users(),
    )
    assert not await accounts.change_user(ADA, log_out=True)


async def test_a_new_login_drops_those_that_are_over(tables):
    accounts = TableAccounts(tables)
    await accounts.add_user(ADA)
    await accounts.add_login(Login(hash="old", name="ada", created_ms=1, expires_ms=5))
    await accounts.add_login(Login(hash="new", name="ada", created_ms=6, expires_ms=9))
    await accounts.remove_login("none")

    assert await accounts.login_of("old") is None
    assert await accounts.login_of("new") is not None


async def test_tokens(tables):
    accounts = TableAccounts(tables)
    for number in range(3):
        await accounts.add_token(token(number, expires_ms=100))
    await accounts.use_token("tok_1", 7)

    assert ["tok_2", "tok_1"] == [
        token.token_id for token in await accounts.tokens(before="~", limit=2)
    ]
    assert ["tok_0"] == [token.token_id for token in await accounts.tokens(before="tok_1", limit=2)]
    assert (await accounts.token("tok_0")).workflows is None
    found = await accounts.token_of("hash 1")
    assert (("a", "b"), 7, 100) == (found.workflows, found.used_ms, found.expires_ms)
    assert [True, False] == [await accounts.revoke_token("tok_1", at) for at in (8, 9)]
    assert 8 == (await accounts.token("tok_1")).revoked_ms
    assert (True, False) == (await accounts.anyone(99), await accounts.anyone(100))
    with pytest.raises(StorageError):
        await accounts.add_token(token(1))


async def test_the_audit_log(tables):
    log = TableAuditLog(tables)
    for number in range(4):
        await log.write(
            AuditEntry(
                at_ms=number,
                actor="a" if number % 2 else "b",
                action="x",
                target=f"t{number}",
                origin="",
                request_id="",
                before="",
                after="d",
            )
        )
    found = await log.entries(before=2**62, limit=10, actor="a")

    assert ["t3", "t1"] == [entry.target for entry in found]
    assert ["t0"] == [
        entry.target for entry in await log.entries(before=found[1].seq, limit=10, action="x")
    ]
    assert 2 == await log.prune(2)
    assert ["t3", "t2"] == [entry.target for entry in await log.entries(before=2**62, limit=10)]


async def test_a_credential_opens_only_as_what_it_was_sealed_as(tables):
    book = TableCredentials(tables, KeyRing({"ONWARD_KEY": KEY}, None), makes_key=False)
    made = Credential(
        name="a",
        type="generic",
        workflows=("w",),
        revision=1,
        created_ms=1,
        changed_ms=1,
        changed_by="test",
    )
    fields = {"token": "secret"}

    assert [True, False] == [await book.save(made, fields) for _ in range(2)]
    assert fields == (await book.open("a"))[1]
    for change in ("type = 'smtp'", "workflows = NULL", "name = 'b'"):
        await tables.change((f"UPDATE credential SET {change}", ()))
        with pytest.raises(CredentialError, match="tampered"):
            await book.open("b" if "name" in change else "a")
        await tables.change(
            ("UPDATE credential SET type = 'generic', workflows = $1, name = 'a'", ('["w"]',))
        )
    assert fields == (await book.open("a"))[1]
    assert [False, True] == [await book.remove("a", revision) for revision in (2, 1)]
    assert await book.open("a") is None


async def test_text_between_quotes_is_not_rewritten(tables):
    found = await tables.rows(
        "SELECT '$1 FOR UPDATE', 'it''s $2, = ANY ($1::text[]) strpos(', name FROM account"
        " WHERE name = $1",
        "nobody",
    )
    assert [] == found
    await TableAccounts(tables).add_user(ADA)

    found = await tables.rows(
        "SELECT '$1 FOR UPDATE', 'it''s $2, = ANY ($1::text[]) strpos(', name FROM account"
        " WHERE name = $1",
        "ada",
    )
    assert [("$1 FOR UPDATE", "it's $2, = ANY ($1::text[]) strpos(", "ada")] == found


async def test_lists_parts_of_texts_and_locks_are_the_same_in_both(tables):
    await TableAccounts(tables).add_user(ADA)
    select = "SELECT name FROM account WHERE name = ANY ($1::text[])"

    assert [("ada",)] == await tables.rows(select, ["grace", "ada"])
    assert [] == await tables.rows(select, [])
    assert [("ada",)] == await tables.rows(
        "SELECT name FROM account WHERE strpos(name, $1) = $2 FOR UPDATE", "da", 2
    )


async def test_a_transaction_is_done_whole_or_not_at_all(tables):
    insert = "INSERT INTO login VALUES ($1, 'ada', 1, 2) RETURNING hash"

    def steps(fails):
        ((first,),) = yield insert, ("a",)
        rows = yield "SELECT hash FROM login", ()
        if fails:
            raise ValueError("no")
        yield insert, ("b",)
        return first, rows

    with pytest.raises(ValueError, match="no"):
        await tables.transact(steps(fails=True))
    assert [] == await tables.rows("SELECT hash FROM login")
    assert ("a", [("a",)]) == await tables.transact(steps(fails=False))
    with pytest.raises(DuplicateError):
        await tables.transact(steps(fails=False))
    assert 2 == len(await tables.rows("SELECT hash FROM login"))

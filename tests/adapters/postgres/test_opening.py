"""A store that cannot be opened says why in one line, with the remedy and without the password."""

import asyncio
import socket
from urllib.parse import urlsplit

import asyncpg
import pytest

from onward.adapters.postgres.store import open_store
from onward.errors import StorageError

SECRET = "s3cr3t-word"


def changed(url, *, user=None, password=SECRET, database=None, port=None):
    """Return the URL with some of its parts exchanged."""
    parts = urlsplit(url)
    host = f"{parts.hostname}:{port or parts.port or 5432}"
    path = parts.path if database is None else f"/{database}"
    return parts._replace(netloc=f"{user or parts.username}:{password}@{host}", path=path).geturl()


async def refusal(url):
    """Return what opening a store says, which is never more than a line and never the secret."""
    with pytest.raises(StorageError) as caught:
        await open_store(url)
    told = str(caught.value)
    assert 1 == len(told.splitlines())
    assert SECRET not in told
    return told


async def command(url, *statements):
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def test_a_server_that_is_not_there_is_named_with_its_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    told = await refusal(f"postgresql://onward:{SECRET}@127.0.0.1:{port}/onward")

    assert f"127.0.0.1:{port}/onward cannot be reached" in told
    assert "start it, or correct the URL" in told


async def test_a_host_that_does_not_exist_is_named():
    told = await refusal(f"postgresql://onward:{SECRET}@nowhere.invalid/onward")

    assert "nowhere.invalid/onward cannot be reached" in told


async def test_a_server_that_speaks_something_else_cannot_be_used():
    async def greet(_, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]

        told = await refusal(f"postgresql://onward:{SECRET}@127.0.0.1:{port}/onward")

    assert f"PostgreSQL at 127.0.0.1:{port}/onward" in told


async def test_a_user_that_the_server_refuses_is_told_what_to_check(postgres_url):
    told = await refusal(changed(postgres_url, user="nobody_of_that_name"))

    assert "refuses the user: check user name and password" in told


async def test_a_database_that_does_not_exist_is_told_how_to_make_it(postgres_url):
    secret = urlsplit(postgres_url).password or ""
    url = changed(postgres_url, password=secret, database="no_such_database")

    told = await refusal(url)

    assert "/no_such_database has no such database: create it with createdb" in told
    assert not secret or secret not in told


async def test_a_read_only_server_is_refused(postgres_url):
    name = urlsplit(postgres_url).path.lstrip("/")
    await command(postgres_url, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')

    assert "is read-only" in await refusal(postgres_url)


async def test_a_user_who_may_not_make_tables_is_told_the_right_that_is_missing(postgres_url):
    role = urlsplit(postgres_url).path.lstrip("/") + "_guest"
    await command(
        postgres_url,
        f"CREATE ROLE \"{role}\" LOGIN PASSWORD '{SECRET}'",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    )
    try:
        told = await refusal(changed(postgres_url, user=role))
    finally:
        await command(postgres_url, f'DROP ROLE "{role}"')

    assert "permission denied for schema public; grant the user the right" in told


async def test_a_database_of_another_program_is_left_alone(postgres_url):
    await command(postgres_url, "CREATE TABLE execution (id integer)")

    assert "holds another program's tables" in await refusal(postgres_url)

    connection = await asyncpg.connect(postgres_url)
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    await connection.close()
    assert ["execution"] == [row["tablename"] for row in tables]


@pytest.mark.parametrize(
    "url",
    [
        "mysql://onward:s3cr3t-word@db/onward",
        "onward",
        "",
        "postgresql://onward:12/s3cr3t-word@db/onward",
        "postgresql://onward:12#s3cr3t-word@db/onward",
        "postgresql://onward:12?s3cr3t-word@db/onward",
        "postgresql://onward:s3cr3t-word@db:port/onward",
        "postgresql://onward:s3cr3t-word@[db/onward",
        "postgresql://onward:s3cr3t-word@.db/onward",
        "postgresql://onward:s3cr3t-word@/onward?port=port",
    ],
)
async def test_a_url_that_cannot_be_read_is_shown_its_form_and_not_repeated(url):
    told = await refusal(url)

    assert "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in told
    assert "12" not in told


async def test_of_several_hosts_the_one_that_can_be_written_is_used(postgres_url):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{free.getsockname()[1]}"
    parts = urlsplit(postgres_url)
    user, _, host = parts.netloc.rpartition("@")

    store = await open_store(parts._replace(netloc=f"{user}@{dead},{host}").geturl())

    assert [] == await store.executions()
    await store.close()


async def test_many_who_open_a_new_database_at_once_all_succeed(postgres_url):
    stores = await asyncio.gather(*(open_store(postgres_url) for _ in range(6)))

    for store in stores:
        assert [] == await store.executions()
        await store.close()

"""What only PostgreSQL has: payloads beside the history, and connections that are lost."""

import asyncio

import asyncpg
import pytest
from msgspec import Raw

from onward.adapters.postgres.store import open_store
from onward.errors import StorageError
from onward.kernel.context import Ref, payload_of
from support.ledger import completion, execution, status

TERMINATE = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

TERMINATE_WAITING = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture
async def store(postgres_url):
    store = await open_store(postgres_url)
    yield store
    await store.close()


async def test_a_payload_is_found_by_run_and_content_however_often_it_is_put(store):
    payload = payload_of(Raw(b'"' + b"\\u0000 large" * 10_000 + b'"'))

    await store.put("x1", payload)
    await store.put("x1", payload)

    assert bytes(payload.body) == await store.get("x1", payload.ref)


async def test_a_payload_that_is_not_there_is_named(store):
    payload = payload_of(Raw(b"1"))
    await store.put("x1", payload)

    with pytest.raises(StorageError, match=f"payload {payload.ref.hash} of x2 is not in"):
        await store.get("x2", payload.ref)
    with pytest.raises(StorageError, match="payload unknown of x1 is not in"):
        await store.get("x1", Ref("unknown", 1))


async def test_payloads_are_pruned_with_their_run(store):
    payload = payload_of(Raw(b"1"))
    for name in ("old", "new"):
        await store.put(name, payload)
    await store.fold([], [completion("old", ended_ms=10), completion("new", ended_ms=20)])

    assert 1 == await store.prune(15)

    assert b"1" == await store.get("new", payload.ref)
    with pytest.raises(StorageError, match="of old"):
        await store.get("old", payload.ref)


async def test_after_its_connections_were_cut_the_store_works_again(store, postgres_url):
    await store.begin(execution())
    other = await asyncpg.connect(postgres_url)
    assert 1 == await other.fetchval(TERMINATE)
    await other.close()

    failures = []
    while len(failures) < 10:
        try:
            await store.fold([status("t")], [completion()])
            break
        except StorageError as problem:
            failures.append(str(problem))

    assert all(line.startswith("PostgreSQL at ") for line in failures)
    assert ["t"] == [run.token_id for run in await store.node_runs("x1")]
    assert "completed" == (await store.execution("x1")).status
    assert not await store.begin(execution())


async def test_a_transaction_that_is_cut_leaves_nothing(store, postgres_url):
    """
    The batch waits for a lock that another holds; its connection dies there.
    """
    await store.fold([status("first", "x9")], [])
    holder, onlooker = [await asyncpg.connect(postgres_url) for _ in range(2)]
    async with holder.transaction():
        await holder.execute("LOCK TABLE node_run IN EXCLUSIVE MODE")
        folding = asyncio.create_task(store.fold([status("t"), status("u", "x9")], []))
        while not (cut := await onlooker.fetch(TERMINATE_WAITING)):
            await asyncio.sleep(0)
        with pytest.raises(StorageError, match="PostgreSQL at "):
            await folding
    for connection in (holder, onlooker):
        await connection.close()
    assert 1 == len(cut)

    assert await store.execution("x1") is None
    assert ["first"] == [run.token_id for run in await store.node_runs("x9")]

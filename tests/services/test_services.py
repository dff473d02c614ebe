"""The services that tests run on: each test has a place of its own, and nothing outlives a run."""

import os
import select
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
import redis

from services.process import keep, room

KEYS = ["one", "another"]


@pytest.mark.parametrize("key", KEYS)
def test_a_test_finds_its_redis_database_empty(redis_url, key):
    with redis.Redis.from_url(redis_url) as client:
        assert 0 == client.dbsize()
        client.set(key, 1)


def test_redis_keeps_what_it_is_told(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        policy = client.config_get("maxmemory-policy")

    assert {"maxmemory-policy": "noeviction"} == policy


@pytest.mark.parametrize("key", KEYS)
async def test_a_test_finds_its_postgres_database_empty(postgres_url, key):
    connection = await asyncpg.connect(postgres_url)
    tables = await connection.fetch("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")
    await connection.execute("CREATE TABLE seen (key text)")
    await connection.close()

    assert [] == tables


def test_a_test_finds_its_virtual_host_empty(rabbitmq_server, rabbitmq_url):
    host = rabbitmq_url.rpartition("/")[2]

    assert [] == rabbitmq_server.call("GET", f"/queues/{host}")


def test_a_kept_service_ends_with_its_directory():
    directory = room("test")
    kept = keep(["/bin/sh", "-c", "sleep 1000 & sleep 1000"], directory)
    kept.end()

    assert not directory.exists()


def test_a_kept_service_ends_when_its_run_is_killed():
    """
    The run is a process that starts a service and kills itself the hard way.
    """
    code = (
        "import os, signal; from services.process import keep, room\n"
        "kept = keep(['/bin/sh', '-c', 'sleep 1000 & sleep 1000'], room('test'))\n"
        "print(kept.process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    try:
        keeper = os.pidfd_open(int(run.stdout))
    except ProcessLookupError:
        return  # it is gone already
    ended, _, _ = select.select([keeper], [], [], 10)
    os.close(keeper)

    assert [keeper] == ended

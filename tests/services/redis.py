"""A Redis to test with, and a database of its own for each test.

Databases are claimed by a key in database 0, so that two runs on one Redis do not share any.
"""

import os
import secrets
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import redis

from services.process import (
    Kept,
    MissingError,
    free_port,
    install,
    keep,
    listening,
    program,
    room,
    say,
    wait_until,
)

CLAIM = "onward-test:database:{}"
CLAIM_S = 3600


def find_redis(run_pid: int) -> dict[str, Any]:
    """Return a usable Redis as plain data: the named one, the one that runs here, or our own."""
    if named := os.environ.get("ONWARD_TEST_REDIS_URL"):
        if not answers(named):
            raise RuntimeError("ONWARD_TEST_REDIS_URL: no Redis answers there")
        say(f"Redis: the one named by ONWARD_TEST_REDIS_URL, {urlsplit(named).hostname}")
        return {"url": named}
    standard = "redis://127.0.0.1:6379"
    if listening(6379) and answers(standard) and suits(standard):
        say("Redis: the one that runs on 127.0.0.1:6379")
        return {"url": standard}
    return {"url": start_redis(run_pid)[0]}


def start_redis(run_pid: int | None = None) -> tuple[str, Kept]:
    """Start a Redis of our own, durable and without eviction, as onward wants it."""
    names = ("redis-server", "valkey-server")
    if not any(program(name) for name in names):
        install("redis-server")
    found = next((path for name in names if (path := program(name))), None)
    if found is None:
        raise MissingError("redis-server is not on the search path: install Redis")
    port, directory = free_port(), room("redis")
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(directory),
        "databases": "4096",
        "appendonly": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    kept = keep([found, *words], directory, run_pid=run_pid)
    url = f"redis://127.0.0.1:{port}"
    wait_until(lambda: listening(port) and answers(url), kept, "Redis")
    say(f"Redis: started a private one on 127.0.0.1:{port}")
    return url, kept


def answers(url: str) -> bool:
    """Whether it takes orders."""
    try:
        with redis.Redis.from_url(url) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def suits(url: str) -> bool:
    """Whether it is new enough and never evicts."""
    with redis.Redis.from_url(url) as client:
        version = str(client.info("server")["redis_version"])
        policy = client.config_get("maxmemory-policy")["maxmemory-policy"]
    return int(version.partition(".")[0]) >= 7 and policy == "noeviction"


def new_database(url: str) -> str:
    """Claim an empty database; return the URL to connect to it."""
    with redis.Redis.from_url(at(url, 0)) as claims:
        total = int(claims.config_get("databases")["databases"])
        # Runs and workers begin at different places, so that they rarely ask for the same one.
        first = secrets.randbelow(total)
        for number in ((first + step) % total for step in range(total)):
            if number and claims.set(CLAIM.format(number), 1, nx=True, ex=CLAIM_S):
                with redis.Redis.from_url(at(url, number)) as client:
                    if client.dbsize() == 0:
                        return at(url, number)
                claims.delete(CLAIM.format(number))
    raise RuntimeError(f"no empty database is left at {urlsplit(url).hostname}")


def drop_database(url: str) -> None:
    """Empty a claimed database and let go of it."""
    number = int(urlsplit(url).path[1:])
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    with redis.Redis.from_url(at(url, 0)) as claims:
        claims.delete(CLAIM.format(number))


def at(url: str, number: int) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{number}"))

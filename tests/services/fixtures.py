"""Fixtures that give each test a place of its own on a real service.

    rabbitmq_url   a virtual host       ONWARD_TEST_RABBITMQ_URL, ONWARD_TEST_RABBITMQ_API
    redis_url      an empty database    ONWARD_TEST_REDIS_URL
    postgres_url   an empty database    ONWARD_TEST_POSTGRES_URL

A service is the one that its variable names; or the one that listens on its standard port of this
machine, if it is usable; or a private one, started once for the whole run and ended with it; and
where it is not installed it is installed first: as root always (ONWARD_TEST_INSTALL=0 forbids it),
else with a sudo that asks for no password, in CI or with ONWARD_TEST_INSTALL=1. What was done is
said on standard error. A service that cannot be had fails the test in CI; elsewhere it skips it,
and the end of the run says so.

`own_rabbitmq` and `own_redis` are private ones for tests that stop, starve or reconfigure theirs.
"""

import fcntl
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

from services import postgres, rabbitmq, redis
from services.process import Kept, MissingError, install
from services.rabbitmq import RabbitServer

T = TypeVar("T")
Find = Callable[[int], dict[str, Any]]
SKIPPED = "service missing: "


@pytest.fixture
def rabbitmq_server(request: pytest.FixtureRequest) -> RabbitServer:
    """The broker of this run."""
    return RabbitServer(**_shared("rabbitmq", rabbitmq.find_rabbitmq, request))


@pytest.fixture
def rabbitmq_url(rabbitmq_server: RabbitServer) -> Iterator[str]:
    """A virtual host for this test alone."""
    url = rabbitmq_server.new_host()
    yield url
    rabbitmq_server.drop_host(url)


@pytest.fixture(scope="module")
def own_rabbitmq(request: pytest.FixtureRequest) -> Iterator[RabbitServer]:
    """A broker for the tests of one module alone."""
    server, kept = _own(rabbitmq.start_rabbitmq, request)
    yield server
    kept.end()


@pytest.fixture(scope="module")
def own_redis(request: pytest.FixtureRequest) -> Iterator[str]:
    """A Redis for the tests of one module alone."""
    url, kept = _own(redis.start_redis, request)
    yield url
    kept.end()


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database for this test alone."""
    url = redis.new_database(_shared("redis", redis.find_redis, request)["url"])
    yield url
    redis.drop_database(url)


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database for this test alone."""
    server = _shared("postgres", postgres.find_postgres, request)["url"]
    url = postgres.new_database(server)
    yield url
    postgres.drop_database(server, url)


def _shared(name: str, find: Find, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return what the first worker of this run that asked has found, or why there is nothing."""
    worker = "PYTEST_XDIST_WORKER" in os.environ
    # A service belongs to the process that leads the run: a worker may end before the others.
    leader = os.getppid() if worker else os.getpid()
    base = request.getfixturevalue("tmp_path_factory").getbasetemp()
    notes: Path = (base.parent if worker else base) / f"service-{name}.json"
    with notes.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not notes.exists():
            try:
                with _aloud(request):
                    found = find(leader)
            except MissingError as missing:
                found = {"missing": str(missing)}
            notes.write_text(json.dumps(found))
        found = json.loads(notes.read_text())
    if "missing" in found:
        _without(MissingError(found["missing"]))
    return dict(found)


def _own(start: Callable[[], tuple[T, Kept]], request: pytest.FixtureRequest) -> tuple[T, Kept]:
    """Start a private service."""
    try:
        with _aloud(request):
            return start()
    except MissingError as missing:
        _without(missing)


def needed(package: str, program: str) -> None:
    """Have a program that a test starts, installed if that is allowed; else skip, or fail in CI."""
    if shutil.which(program) is None:
        try:
            install(package)
        except MissingError as missing:
            _without(missing)


def _aloud(request: pytest.FixtureRequest) -> AbstractContextManager[None]:
    """Let what is said reach the terminal, past the capture of the tests."""
    capture: Any = request.config.pluginmanager.getplugin("capturemanager")
    return nullcontext() if capture is None else capture.global_and_fixture_disabled()


def _without(missing: MissingError) -> NoReturn:
    """Fail in CI, where every service must be there; skip elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(f"{SKIPPED}{missing}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was not tested, and why: a run without its services must not look like a pass."""
    reasons = Counter(
        reason.removeprefix("Skipped: ").removeprefix(SKIPPED)
        for report in terminalreporter.stats.get("skipped", ())
        if SKIPPED in (reason := str(report.longrepr[2]))
    )
    if reasons:
        terminalreporter.section("NOT TESTED: services are missing", yellow=True, bold=True)
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count} tests skipped: {reason}", yellow=True)
        terminalreporter.line("with CI=true these are failures", yellow=True)

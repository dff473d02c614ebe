"""Outages: which are waited for, which end a process at once, and which are no outages at all."""

import asyncio

import asyncpg
import pytest

from onward.adapters.postgres.connection import failure
from onward.bootstrap.cluster import ClusterSettings
from onward.cli.engines.cluster import may_pass, outage_of
from onward.cli.engines.process import ProcessOptions, run_process
from onward.errors import StorageError
from onward.ports.cluster.bus import BusError


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (ConnectionRefusedError(), True),
        (TimeoutError(), True),
        (asyncpg.CannotConnectNowError("starting"), True),
        (asyncpg.TooManyConnectionsError("full"), True),
        (asyncpg.ReadOnlySQLTransactionError("standby"), True),
        (asyncpg.InvalidPasswordError("no"), False),
        (asyncpg.InvalidCatalogNameError("no such database"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_what_may_change_by_itself_is_waited_for(cause, expected):
    assert expected == may_pass(failure(cause, "db/onward"))


def test_a_service_that_will_not_do_is_not_waited_for():
    assert not may_pass(StorageError("Redis evicts keys"))


def test_a_group_is_an_outage_only_if_all_of_it_is():
    away, bug = BusError("away"), ValueError("bug")

    assert away is outage_of(ExceptionGroup("", [ExceptionGroup("", [away]), OSError()]))
    assert None is outage_of(ExceptionGroup("", [away, bug]))


@pytest.fixture
def settings(rabbitmq_url, redis_url, postgres_url):
    return ClusterSettings(
        rabbitmq_url=rabbitmq_url, redis_url=redis_url, postgres_url=postgres_url
    )


def serve_with(settings, *endings, give_up_s=60):
    """Run a process whose services fail as told, each time it is connected."""
    left, clusters = list(endings), []

    async def serve(cluster, _: asyncio.Event):
        clusters.append(cluster)
        if (ending := left.pop(0)) is not None:
            raise ending

    running = ProcessOptions(
        give_up_s=give_up_s, metrics=None, otel=None, log_level="info", log_json=False
    )
    code = run_process("worker", settings, serve, running)
    return code, clusters


def test_a_service_that_goes_away_later_is_connected_to_anew(settings, capfd):
    code, (first, second) = serve_with(settings, ExceptionGroup("", [BusError("lost")]), None)

    assert 0 == code
    assert first is not second
    assert "lost (trying again in 1.0 s)" in capfd.readouterr().err


def test_a_service_that_goes_away_again_and_again_is_given_up(settings, capfd):
    code, clusters = serve_with(settings, OSError("a"), OSError("b"), give_up_s=0.1)

    assert (7, 2) == (code, len(clusters))
    assert "ERROR b\n" in capfd.readouterr().err


def test_a_bug_is_not_taken_for_an_outage(settings):
    with pytest.raises(ZeroDivisionError):
        serve_with(settings, ZeroDivisionError())

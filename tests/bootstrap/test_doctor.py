"""`onward doctor` on this machine, and on services that are well, ill or away."""

import sys

import asyncpg
import pika
import pytest
import redis

from onward.adapters.postgres.store import open_store
from onward.adapters.rabbitmq.bus import RabbitBus
from onward.adapters.rabbitmq.topology import Topology
from onward.cli.main import main
from services.process import free_port

SECRET = "hunter2/@"


async def declare(url, topology=None):
    bus = RabbitBus(url, topology=topology)
    await bus.open()
    await bus.declare()
    await bus.close()


@pytest.fixture
def channel(rabbitmq_url):
    connection = pika.BlockingConnection(pika.URLParameters(rabbitmq_url))
    yield connection.channel()
    connection.close()


def redeclare(channel, name, **changes):
    """Make a queue anew, with some of its arguments changed."""
    wanted = next(queue for queue in Topology().queues() if queue.name == name)
    arguments = {**wanted.arguments, **{f"x-{k.replace('_', '-')}": v for k, v in changes.items()}}
    channel.queue_delete(name)
    channel.queue_declare(
        name, durable=True, arguments={k: v for k, v in arguments.items() if v is not None}
    )


# -- this machine --------------------------------------------------------------------------------


def test_without_services_the_machine_alone_is_examined(doctor):
    done = doctor()

    assert 0 == done.code
    assert ["python", "sqlite", "folder", "clock", "extras"] == list(done.found)
    assert {"ok"} == {one.level for one in done.found.values()}


def test_examining_makes_no_folder(doctor, tmp_path):
    doctor()

    assert [] == list(tmp_path.iterdir())


def test_a_folder_that_is_a_file_is_a_problem(doctor, tmp_path):
    (tmp_path / ".onward").write_text("")

    done = doctor()

    assert 1 == done.code
    assert "problem" == done.found["folder"].level
    assert "--db" in done.found["folder"].fix


def test_each_finding_is_one_line_for_people(doctor, capfd):
    with pytest.raises(SystemExit):
        main(["doctor", "--redis", f"redis://127.0.0.1:{free_port()}"])

    lines = capfd.readouterr().out.splitlines()
    assert 6 == len(lines)
    assert lines[-1].startswith("problem  redis: ")
    assert "; fix: " in lines[-1]


# -- services that are well ----------------------------------------------------------------------


async def prepared(rabbitmq_url, postgres_url):
    await declare(rabbitmq_url)
    store = await open_store(postgres_url)
    await store.close()


def test_healthy_services_have_no_problem(doctor, run_async, rabbitmq_url, redis_url, postgres_url):
    run_async(prepared(rabbitmq_url, postgres_url))

    done = doctor("--rabbitmq", rabbitmq_url, "--redis", redis_url, "--postgres", postgres_url)

    assert 0 == done.code
    assert done.healthy
    assert {"redis memory"} >= {one.check for one in done.found.values() if one.level != "ok"}
    assert "all 8 are as they should be" == done.found["rabbitmq queues"].found
    assert "up to date" == done.found["postgres tables"].found


def test_empty_services_get_warnings_and_stay_empty(
    doctor, rabbitmq_server, rabbitmq_url, postgres_url
):
    done = doctor("--rabbitmq", rabbitmq_url, "--postgres", postgres_url)

    assert 0 == done.code
    assert "none is there yet" == done.found["rabbitmq queues"].found
    assert "warning" == done.found["postgres tables"].level
    host = rabbitmq_url.rpartition("/")[2]
    assert [] == rabbitmq_server.call("GET", f"/queues/{host}")


# -- RabbitMQ that is ill ------------------------------------------------------------------------


def test_every_argument_that_differs_is_told_for_every_queue(
    doctor, run_async, rabbitmq_url, channel
):
    run_async(declare(rabbitmq_url))
    redeclare(
        channel,
        "workflow.execution.retry.25s",
        message_ttl=9000,
        max_length=5,
        single_active_consumer=True,
    )
    redeclare(channel, "workflow.execution", max_priority=None, dead_letter_exchange="elsewhere")

    done = doctor("--rabbitmq", rabbitmq_url)

    assert 1 == done.code
    retry = done.found["rabbitmq queue workflow.execution.retry.25s"].found
    assert "x-message-ttl is 9000, not 25000" in retry
    assert "x-max-length is 5, not none" in retry
    assert "x-single-active-consumer is true, not none" in retry
    execution = done.found["rabbitmq queue workflow.execution"]
    assert "x-max-priority is none, not 10" in execution.found
    assert "x-dead-letter-exchange is elsewhere, not workflow.execution.dlx" in execution.found
    assert "rabbitmqctl delete_queue workflow.execution" in execution.fix


def test_a_queue_that_is_not_durable_is_told(doctor, run_async, rabbitmq_url, channel):
    run_async(declare(rabbitmq_url))
    channel.queue_delete("workflow.completion")
    channel.queue_declare("workflow.completion", durable=False)

    done = doctor("--rabbitmq", rabbitmq_url)

    assert "durable is false, not true" == done.found["rabbitmq queue workflow.completion"].found


def test_queues_of_another_type_are_told_with_the_option(doctor, run_async, rabbitmq_url):
    run_async(declare(rabbitmq_url, Topology("quorum")))

    done = doctor("--rabbitmq", rabbitmq_url)

    assert 1 == done.code
    told = [one for one in done.found.values() if one.check.startswith("rabbitmq queue ")]
    assert 8 == len(told)
    assert {"x-queue-type is quorum, not classic"} == {one.found for one in told}
    assert all("--queue-type" in one.fix for one in told)
    assert 0 == doctor("--rabbitmq", rabbitmq_url, "--queue-type", "quorum").code


def test_a_missing_queue_and_a_full_quarantine_are_warnings(
    doctor, run_async, rabbitmq_url, channel
):
    run_async(declare(rabbitmq_url))
    channel.queue_delete("workflow.completion")
    channel.confirm_delivery()
    channel.basic_publish("", "workflow.quarantine", b"{}")

    done = doctor("--rabbitmq", rabbitmq_url)

    assert 0 == done.code
    assert "missing: workflow.completion" == done.found["rabbitmq queues"].found
    assert "messages that could not be handled: 1" == done.found["rabbitmq quarantine"].found
    assert "onward quarantine ls" in done.found["rabbitmq quarantine"].fix


# -- Redis that is ill ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "setting", "value", "level"),
    [
        ("redis eviction", "maxmemory-policy", "allkeys-lru", "problem"),
        ("redis persistence", "appendonly", "no", "warning"),
        ("redis persistence", "appendfsync", "no", "warning"),
        ("redis memory", "maxmemory", "100", "problem"),
        ("redis memory", "maxmemory", "1gb", "ok"),
    ],
)
def test_a_setting_that_endangers_runs_is_told(doctor, own_redis, check, setting, value, level):
    with redis.Redis.from_url(own_redis) as client:
        before = client.config_get(setting)[setting]
        client.config_set(setting, value)

        done = doctor("--redis", own_redis)

        client.config_set(setting, before)
    assert level == done.found[check].level
    assert (1 if level == "problem" else 0) == done.code


def test_a_replica_is_a_problem(doctor, own_redis):
    with redis.Redis.from_url(own_redis) as client:
        client.execute_command("REPLICAOF", "127.0.0.1", str(free_port()))

        done = doctor("--redis", own_redis)

        client.execute_command("REPLICAOF", "NO", "ONE")
    assert "problem" == done.found["redis role"].level


# -- PostgreSQL that is ill ----------------------------------------------------------------------


def test_a_read_only_database_is_a_problem(doctor, run_async, postgres_url):
    async def forbid():
        connection = await asyncpg.connect(postgres_url)
        name = postgres_url.rpartition("/")[2]
        await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        await connection.close()

    run_async(forbid())

    done = doctor("--postgres", postgres_url)

    assert 1 == done.code
    assert "problem" == done.found["postgres writes"].level


# -- services that are away, and URLs that are wrong ---------------------------------------------


def test_services_that_are_away_are_all_told_without_the_password(doctor):
    port = free_port()

    done = doctor(
        *("--rabbitmq", f"amqp://onward:hunter2@127.0.0.1:{port}/"),
        *("--redis", f"redis://:hunter2@127.0.0.1:{port}/0"),
        *("--postgres", f"postgresql://onward:hunter2@127.0.0.1:{port}/onward"),
    )

    assert 1 == done.code
    for name in ("rabbitmq", "redis", "postgres"):
        assert "problem" == done.found[name].level
        assert str(port) in done.found[name].found
        assert "start" in done.found[name].fix
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    ("option", "url"),
    [
        ("rabbitmq", f"amqp://onward:{SECRET}@127.0.0.1/"),
        ("redis", f"redis://onward:{SECRET}@127.0.0.1/0"),
        ("postgres", f"postgresql://onward:{SECRET}@127.0.0.1/onward"),
        ("rabbitmq", "hunter2"),
        ("redis", "http://onward:hunter2@127.0.0.1"),
    ],
)
def test_nothing_of_a_url_that_cannot_be_read_is_repeated(doctor, option, url):
    done = doctor(f"--{option}", url)

    assert 1 == done.code
    assert "the URL cannot be read" == done.found[option].found
    assert "hunter2" not in done.out + done.err


def test_a_wrong_password_is_told_without_it(doctor, rabbitmq_url):
    place = rabbitmq_url.rpartition("@")[2]

    done = doctor("--rabbitmq", f"amqp://guest:hunter2@{place}")

    assert 1 == done.code
    assert "denied user 'guest'" in done.found["rabbitmq"].found
    assert "hunter2" not in done.out + done.err


def test_a_client_that_is_not_installed_is_told_with_its_extra(doctor, monkeypatch):
    monkeypatch.delitem(sys.modules, "onward.adapters.redis.health", raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)

    done = doctor("--redis", "redis://127.0.0.1")

    assert 1 == done.code
    assert "redis is not installed" == done.found["redis"].found
    assert "pip install '.[redis]' (in a checkout of onward)" == done.found["redis"].fix
    assert "not installed: redis" in done.found["extras"].found

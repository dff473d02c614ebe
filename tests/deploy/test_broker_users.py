"""The users of deploy/rabbitmq on a real broker: each can do its work, and no more (RFC 001 10.3).

A user's name is shared by the whole broker, so the test gives each one a name of its own.
"""

import importlib.util
import json
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import pika
import pytest
from pika.exceptions import ChannelClosedByBroker

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.adapters.rabbitmq.topology import DEAD_LETTERS, QUARANTINE, Topology
from onward.bootstrap.doctor import DoctorTarget, examine, healthy
from onward.runtime.queues import COMPLETION, EXECUTION, RETRIES, STATUS, TIMEOUT

FOLDER = Path(__file__).parents[2] / "deploy" / "rabbitmq"
DEFINITIONS = json.loads((FOLDER / "definitions.json").read_text())
ALL = tuple(queue.name for queue in Topology().queues())

_spec = importlib.util.spec_from_file_location("onward_deploy_apply", FOLDER / "apply.py")
applying = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(applying)


@pytest.fixture
def urls(rabbitmq_server, rabbitmq_url):
    """Apply the definitions to the test's virtual host; return the URL of each user."""
    host = rabbitmq_url.rpartition("/")[2]
    names = {
        definition["name"]: f"{definition['name']}_{secrets.token_hex(4)}"
        for definition in DEFINITIONS["users"]
    }
    text = json.dumps({**DEFINITIONS, "vhosts": []}).replace(
        '"vhost": "onward"', f'"vhost": "{host}"'
    )
    here = json.loads(text)
    here["users"] = [{**one, "name": names[one["name"]]} for one in here["users"]]
    here["permissions"] = [{**one, "user": names[one["user"]]} for one in here["permissions"]]
    passwords = {f"{name.upper()}_PASSWORD": secrets.token_hex(8) for name in names.values()}
    admin = urlsplit(rabbitmq_server.url)
    applying.apply(
        applying.with_passwords(here, passwords),
        rabbitmq_server.api,
        admin.username,
        admin.password,
    )
    yield {
        role: f"amqp://{name}:{passwords[f'{name.upper()}_PASSWORD']}@{admin.netloc.rpartition('@')[2]}/{host}"
        for role, name in names.items()
    }
    for name in names.values():
        rabbitmq_server.call("DELETE", f"/users/{name}")


def readable(url):
    """Return the queues that a user may consume."""
    found = set()
    connection = pika.BlockingConnection(pika.URLParameters(url))
    for name in ALL:
        channel = connection.channel()
        try:
            channel.basic_consume(name, lambda *_: None)
        except ChannelClosedByBroker as refused:
            assert 403 == refused.reply_code
        else:
            found.add(name)
            channel.close()
    connection.close()
    return found


def written(url, *queues):
    """Publish to each queue with a confirm; return whether all were taken."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.confirm_delivery()
    try:
        for queue in queues:
            channel.basic_publish("", queue, b"{}", mandatory=True)
    except ChannelClosedByBroker as refused:
        assert 403 == refused.reply_code
        return False
    else:
        return True
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("role", "queues"),
    [
        ("worker", {EXECUTION, TIMEOUT}),
        ("scheduler", set()),
        ("master", {STATUS, COMPLETION}),
        ("observer", set()),
    ],
)
def test_each_user_consumes_its_own_queues_and_no_others(urls, role, queues):
    assert queues == readable(urls[role])


@pytest.mark.parametrize(
    ("role", "queues"),
    [
        ("worker", (EXECUTION, TIMEOUT, *RETRIES, STATUS, COMPLETION, QUARANTINE)),
        ("scheduler", (EXECUTION, TIMEOUT)),
        ("master", (EXECUTION,)),
    ],
)
def test_each_user_publishes_where_its_work_leads(urls, role, queues):
    assert written(urls[role], *queues)


def test_the_observer_publishes_nothing_and_sees_how_long_a_queue_is(urls):
    assert written(urls["worker"], EXECUTION)
    assert not written(urls["observer"], EXECUTION)
    connection = pika.BlockingConnection(pika.URLParameters(urls["observer"]))
    answer = connection.channel().queue_declare(EXECUTION, passive=True)
    connection.close()

    assert 1 == answer.method.message_count


@pytest.mark.parametrize("role", ["worker", "scheduler", "master", "observer"])
async def test_the_doctor_tells_what_a_user_without_rights_cannot_see(urls, role):
    findings = await examine(DoctorTarget(Path("onward.db"), rabbitmq_url=urls[role]))

    told = [finding for finding in findings if finding.check == "rabbitmq queues"]
    assert ["warning"] == [one.level for one in told]
    assert "this user may not configure them" in told[0].found
    assert healthy(findings)


@pytest.mark.parametrize("role", ["worker", "scheduler", "master"])
async def test_each_process_can_start_as_its_user(urls, role):
    bus = RabbitBus(urls[role])
    await bus.open()
    await bus.declare()
    await bus.close()


@pytest.mark.parametrize("role", ["worker", "scheduler", "master", "observer"])
def test_no_user_makes_changes_or_deletes_a_queue(urls, role):
    connection = pika.BlockingConnection(pika.URLParameters(urls[role]))

    codes = []
    for ask in (
        lambda channel: channel.queue_declare("workflow.mine", durable=True),
        lambda channel: channel.queue_delete(STATUS),
        lambda channel: channel.queue_purge(COMPLETION if role == "worker" else EXECUTION),
        lambda channel: channel.queue_bind(QUARANTINE, "amq.fanout"),
    ):
        with pytest.raises(ChannelClosedByBroker) as refused:
            ask(connection.channel())
        codes.append(refused.value.reply_code)

    connection.close()
    assert [403] * 4 == codes


def test_the_file_has_the_queues_of_the_topology_and_no_password():
    queues = {definition["name"]: definition["arguments"] for definition in DEFINITIONS["queues"]}
    assert {queue.name: dict(queue.arguments) for queue in Topology().queues()} == queues
    assert [DEAD_LETTERS] == [definition["name"] for definition in DEFINITIONS["exchanges"]]
    assert all({"name", "tags"} == set(definition) for definition in DEFINITIONS["users"])


def test_a_password_that_is_not_set_is_named():
    with pytest.raises(KeyError, match="WORKER_PASSWORD"):
        applying.with_passwords(DEFINITIONS, {})

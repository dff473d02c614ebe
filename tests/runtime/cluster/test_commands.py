"""`onward worker`, `scheduler`, `master` and `submit` as their users meet them."""

import json
import signal
import socket
import subprocess
import sys

import pytest
import redis

from onward.runtime.queues import EXECUTION, STATUS
from runtime.cluster.fleet import wait_until
from runtime.cluster.lab import held
from support.documents import TRIGGER, node, transform, workflow
from support.killing import CountingServer

ITEMS = 300
GREETING = workflow(TRIGGER, transform("greet", '"Hello, " + $trigger.name'), "start -> greet")


def written(fleet, document):
    """Write a document and return its file."""
    file = fleet.folder / "workflow.json"
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def silent():
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


def asking(server):
    """Return a workflow that asks a server."""
    url = f"http://127.0.0.1:{server.getsockname()[1]}/"
    return workflow(TRIGGER, node("ask", "http", url=url), "start -> ask")


def test_killed_and_stopped_workers_change_nothing_about_the_result(fleet, redis_url):
    """
    One of two workers dies in the middle of a split, the other is asked to stop, a third goes on.
    """
    server = CountingServer()
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("ask", "http", method="POST", url=server.url, body={"item": "$item"}),
        node("all", "aggregator", collect="$ask.body.echo.item"),
        "start -> each -> ask -> all",
    )
    file = written(fleet, document)
    master = fleet.start("master")
    first, second = (fleet.start("worker", "--slots", 4) for _ in range(2))
    for one in (master, first, second):
        one.says("ready")
    try:
        given = json.dumps(list(range(ITEMS)))
        submit = fleet.start(
            "submit", file, "--input", given, "--id", "drill", "--wait", "--timeout", 50, "--json"
        )
        wait_until(lambda: server.keys.total() >= 60)
        first.send(signal.SIGKILL)
        wait_until(lambda: server.keys.total() >= 150)
        second.send(signal.SIGTERM)
        codes = first.ends(), second.ends()
        struck = server.keys.total()
        third = fleet.start("worker")
        code = submit.ends()
    finally:
        server.close()
    for one in (third, master):
        one.send(signal.SIGTERM)
    result = json.loads(submit.log.with_suffix(".out").read_text())

    assert (-signal.SIGKILL, 0) == codes
    assert 150 <= struck < ITEMS
    assert (0, "completed", list(range(ITEMS))) == (code, result["status"], result["output"])
    assert ITEMS == len(server.keys)
    assert (0, 0) == (third.ends(), master.ends())
    with redis.Redis.from_url(redis_url) as client:
        # The worker that was killed stays on the roster for a day.
        kept = {b"exec:{drill}:done", b"onward:format", b"workers:info", b"workers:seen"}
        assert kept == set(client.keys("*"))
    left = held(fleet.places["ONWARD_RABBITMQ_URL"])
    assert {} == {name: count for name, count in left.items() if name != STATUS}


def test_submit_waits_and_prints_what_run_prints(fleet, onward):
    fleet.start("master")
    fleet.start("worker")
    fleet.start("scheduler")
    large = "x" * 100_000
    waiting = workflow(
        TRIGGER,
        node("pause", "wait", amount=0.1),
        transform("greet", '"Hello, " + $trigger.name'),
        "start -> pause -> greet",
    )
    file = written(fleet, waiting)
    (fleet.folder / "large.json").write_text(json.dumps({"name": large}))

    local = onward("run", file, "-i", "name=Ada", "--quiet")
    there = onward("submit", file, "-i", "name=Ada", "--wait", "--id", "a-1")
    whole = onward("submit", file, "--input", "@large.json", "--wait", "--json")
    again = onward("submit", file, "--wait", "--id", "a-1")
    failed = onward("submit", written(fleet, workflow(node("no", "fail"))), "--wait")

    assert (0, local.out) == (there.code, there.out)
    assert "started a-1\n" in there.err
    assert f"Hello, {large}" == json.loads(whole.out)["output"]
    assert large == json.loads(whole.out)["context"]["$trigger"]["name"]
    assert (2, "") == (again.code, again.out)
    assert "a run called a-1 already" in again.err
    assert (1, "") == (failed.code, failed.out)
    assert "halted after" in failed.err


def test_submit_without_waiting_prints_the_id_of_the_run(fleet, onward):
    file = written(fleet, GREETING)

    plain = onward("submit", file, "--id", "a-1")
    for_programs = onward("submit", file, "--id", "a-2", "--json")

    assert (0, "a-1\n") == (plain.code, plain.out)
    assert {"execution_id": "a-2"} == json.loads(for_programs.out)


def test_submit_gives_up_waiting_while_the_run_goes_on(fleet, onward):
    done = onward("submit", written(fleet, GREETING), "--id", "a-1", "--wait", "--timeout", 0.2)

    assert (6, "") == (done.code, done.out)
    assert "a-1 has not ended after 0.2 s; it continues" in done.err
    assert {EXECUTION: 1} == held(fleet.places["ONWARD_RABBITMQ_URL"])


def test_what_does_not_finish_in_the_grace_period_is_given_back(fleet, onward, silent):
    file = written(fleet, asking(silent))
    worker = fleet.start("worker", "--grace", 0.1, "--log-json")
    worker.says("ready")
    onward("submit", file)
    connection, _ = silent.accept()
    worker.send(signal.SIGTERM)

    assert 0 == worker.ends()
    lines = [json.loads(line)["message"] for line in worker.log.read_text().splitlines()]
    assert "worker: stopped, given back: 1" == lines[-1]
    assert 1 == held(fleet.places["ONWARD_RABBITMQ_URL"])[EXECUTION]
    connection.close()


def test_a_second_signal_stops_at_once(fleet, onward, silent):
    file = written(fleet, asking(silent))
    worker = fleet.start("worker", "--grace", 600)
    worker.says("ready")
    onward("submit", file)
    connection, _ = silent.accept()
    worker.send(signal.SIGTERM)
    worker.says("stopping")
    worker.send(signal.SIGINT)

    assert 128 + signal.SIGINT == worker.ends()
    connection.close()


# -- services that are not there -----------------------------------------------------------------


def port_of_nobody():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize(
    ("variable", "form", "says"),
    [
        ("ONWARD_RABBITMQ_URL", "amqp://127.0.0.1:{}/", "RabbitMQ at 127.0.0.1"),
        ("ONWARD_REDIS_URL", "redis://127.0.0.1:{}/0", "Redis at 127.0.0.1"),
        ("ONWARD_POSTGRES_URL", "postgresql://127.0.0.1:{}/onward", "PostgreSQL at 127.0.0.1"),
    ],
)
def test_a_service_that_is_away_is_waited_for_and_then_given_up(
    fleet, onward, variable, form, says
):
    away = {variable: form.format(port_of_nobody())}

    done = onward("worker", "--give-up", 0.5, **away)
    submitted = onward("submit", written(fleet, GREETING), **away)

    lines = [line for line in done.err.splitlines() if says in line]
    assert (7, 7) == (done.code, submitted.code)
    assert ["WARNING", "ERROR"] == [line.split()[1] for line in lines]
    assert "(trying again in 0.5 s)" in lines[0]
    assert (1, True) == (len(submitted.err.splitlines()), says in submitted.err)


def test_a_service_that_refuses_is_not_asked_again(fleet, onward):
    wrong = fleet.places["ONWARD_RABBITMQ_URL"].replace("guest:guest", "guest:wrong")
    lost = fleet.places["ONWARD_POSTGRES_URL"] + "_nowhere"

    denied = onward("scheduler", ONWARD_RABBITMQ_URL=wrong)
    missing = onward("master", ONWARD_POSTGRES_URL=lost)
    other = onward("worker", "--queue-type", "quorum")

    assert (7, 1) == (denied.code, len(denied.err.splitlines()))
    assert "denied user 'guest'" in denied.err
    assert (7, 1) == (missing.code, len(missing.err.splitlines()))
    assert "createdb" in missing.err
    assert (7, 1) == (other.code, len(other.err.splitlines()))
    assert "x-queue-type" in other.err


def test_stopping_while_waiting_for_a_service_ends_cleanly(fleet):
    worker = fleet.start("worker", ONWARD_REDIS_URL=f"redis://127.0.0.1:{port_of_nobody()}/0")
    worker.says("trying again")
    worker.send(signal.SIGTERM)

    assert 0 == worker.ends()


@pytest.mark.parametrize("driver", ["pika", "redis", "asyncpg"])
def test_a_driver_that_is_not_installed_is_named_with_the_remedy(driver):
    places = ["--rabbitmq", "amqp://h/", "--redis", "redis://h", "--postgres", "postgresql://h/d"]
    code = (
        f"import sys; sys.modules[{driver!r}] = None\n"
        f"from onward.cli.main import main; main(['worker', *{places!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert 2 == done.returncode
    assert (
        f"Error: the distributed engine needs {driver}, which is not installed:"
        " pip install '.[distributed]' (in a checkout of onward)\n"
    ) == done.stderr


@pytest.mark.parametrize("command", ["worker", "scheduler", "master"])
def test_without_an_address_the_option_and_its_variable_are_named(fleet, onward, command):
    done = onward(command, ONWARD_REDIS_URL="")

    assert 2 == done.code
    assert "Missing option '--redis' (env var: 'ONWARD_REDIS_URL')" in done.err


def test_a_time_limit_without_waiting_is_wrong_usage(fleet, onward):
    done = onward("submit", written(fleet, GREETING), "--timeout", 5)

    assert (2, True) == (done.code, "add --wait" in done.err)

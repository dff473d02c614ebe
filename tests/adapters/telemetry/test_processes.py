"""The commands of the cluster as real processes: endpoints, several workers, one parent."""

import json
import os
import re
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from runtime.cluster.fleet import wait_until
from runtime.cluster.test_commands import GREETING, written


def children(running):
    """Return the process ids of the children, in the order in which they were started."""
    found = re.findall(r"worker \d+: started as process (\d+)", running.log.read_text())
    return [int(pid) for pid in found]


def alive(process):
    """Return whether a process is there and no mere entry in the table."""
    try:
        return "Z" != Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def url_of(running):
    running.says("metrics: http")
    return re.search(r"metrics: (http://[\d.:]+)/metrics", running.log.read_text())[1]


def asked(url):
    """Return the status and the JSON of a page."""
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as answer:
        return answer.code, json.load(answer)


@pytest.mark.parametrize("command", ["worker", "scheduler", "master"])
def test_each_process_says_how_it_is(fleet, command):
    one = fleet.start(command, "--metrics", "0")
    one.says("ready")
    url = url_of(one)

    wait_until(lambda: 200 == asked(f"{url}/ready")[0])
    assert (200, {"live": True}) == asked(f"{url}/live")
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        assert b"onward_build_info" in answer.read()
    one.send(signal.SIGTERM)
    assert 0 == one.ends()


def test_a_process_without_its_services_is_alive_and_not_ready(fleet):
    nowhere = "redis://127.0.0.1:1/0"
    one = fleet.start("scheduler", "--metrics", "0", "--give-up", 60, "--redis", nowhere)
    url = url_of(one)
    one.says("trying again")

    assert 200 == asked(f"{url}/live")[0]
    status, told = asked(f"{url}/ready")
    assert (503, False) == (status, told["ready"])
    assert "Redis" in told["reason"]


def test_several_workers_under_one_parent_do_one_run_and_stop_together(fleet):
    fleet.start("master").says("ready")
    one = fleet.start("worker", "--processes", 2, "--metrics", 0)
    for name in ("worker 0: ready", "worker 1: ready"):
        one.says(name)

    done = fleet.start("submit", written(fleet, GREETING), "-i", "name=Ada", "--wait", "--json")
    assert 0 == done.ends()

    assert 2 == len(re.findall("metrics: http://127", one.log.read_text()))
    one.send(signal.SIGTERM)
    assert 0 == one.ends()
    assert 2 == one.log.read_text().count("stopped, given back: 0")
    assert [False, False] == [alive(process) for process in children(one)]


def test_a_worker_that_dies_is_started_again(fleet):
    one = fleet.start("worker", "--processes", 2)
    one.says("worker 0: ready")
    one.says("worker 1: ready")
    killed = children(one)[1]

    os.kill(killed, signal.SIGKILL)

    one.says(f"worker 1: process {killed} ended with code 137; starting another in 1 s")
    wait_until(lambda: 2 == one.log.read_text().count("worker 1: ready"))
    one.send(signal.SIGINT)
    assert 0 == one.ends()


def test_no_worker_outlives_a_parent_that_is_killed(fleet):
    one = fleet.start("worker", "--processes", 2)
    one.says("worker 0: ready")
    one.says("worker 1: ready")
    assert [True, True] == [alive(process) for process in children(one)]

    one.send(signal.SIGKILL)

    wait_until(lambda: not any(alive(process) for process in children(one)))


def test_workers_that_cannot_start_end_their_parent_with_their_code(fleet):
    one = fleet.start(
        "worker", "--processes", 2, "--redis", "redis://127.0.0.1:1/0", "--give-up", 0
    )

    assert 7 == one.ends()
    assert "Traceback" not in one.log.read_text()


def test_a_worker_consumes_only_the_queues_that_are_named(fleet):
    fleet.start("master").says("ready")
    one = fleet.start("worker", "--queues", "workflow.timeout.process")
    one.says("ready")

    done = fleet.start(
        "submit", written(fleet, GREETING), "-i", "name=Ada", "--wait", "--timeout", 0.5
    )
    assert 6 == done.ends()

    other = fleet.start("worker", "--queues", "workflow.execution")
    other.says("ready")
    done = fleet.start("submit", written(fleet, GREETING), "-i", "name=Ada", "--wait")
    assert 0 == done.ends()


def test_a_queue_that_no_worker_consumes_is_wrong_usage(fleet):
    one = fleet.start("worker", "--queues", "workflow.execution,workflow.status")

    assert 2 == one.ends()
    told = one.log.read_text()
    assert "no worker consumes 'workflow.status'" in told
    assert "workflow.execution and workflow.timeout.process can be named" in told


@pytest.mark.parametrize("place", ["here", "localhost:", "1:2:x", "localhost:70000"])
def test_a_place_to_listen_that_is_none_is_wrong_usage(fleet, place):
    one = fleet.start("master", "--metrics", place)

    assert 2 == one.ends()
    assert f"{place!r} is not [HOST:]PORT" in one.log.read_text()


def test_a_place_that_is_taken_is_one_line(fleet):
    first = fleet.start("scheduler", "--metrics", 0)
    place = url_of(first).removeprefix("http://")
    second = fleet.start("scheduler", "--metrics", place)

    assert 2 == second.ends()
    assert f"Error: --metrics {place}: cannot listen there" in second.log.read_text()

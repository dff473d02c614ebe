"""The files of a deployment parse, and name commands, options, users and queues that exist."""

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from onward.adapters.rabbitmq.topology import Topology
from onward.cli.main import onward

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "compose.yaml"
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
DEFINITIONS = json.loads((ROOT / "deploy" / "rabbitmq" / "definitions.json").read_text())
ENVIRONMENT = {
    line.partition("=")[0]
    for line in (ROOT / "deploy" / "env.example").read_text().splitlines()
    if line and not line.startswith("#")
}
PROCESSES = ("worker", "scheduler", "master")


def read(path):
    return [one for one in YAML(typ="safe").load_all(path.read_text()) if one is not None]


def compose():
    return read(COMPOSE)[0]["services"]


def objects(kind):
    return {
        one["metadata"]["name"]: one
        for path in MANIFESTS
        for one in read(path)
        if kind == one["kind"]
    }


def pod(name):
    return objects("Deployment")[f"onward-{name}"]["spec"]["template"]["spec"]


def parsed(words):
    """Parse the words of a command as onward does, with its services named; it is not run."""
    name, command, rest = onward.resolve_command(
        onward.make_context("onward", ["x"], resilient_parsing=True), list(words)
    )
    places = ("--rabbitmq", "r", "--redis", "s", "--postgres", "p")
    return command.make_context(name, [*rest, *places]).params


@pytest.mark.parametrize("path", [COMPOSE, *MANIFESTS], ids=lambda path: path.name)
def test_the_file_parses(path):
    assert read(path)


@pytest.mark.parametrize("name", PROCESSES)
def test_commands_exist_and_their_options_too(name):
    for words in (compose()[name]["command"], pod(name)["containers"][0]["args"]):
        assert name == words[0]
        assert parsed(words)["log_json"]


def test_a_worker_has_more_time_to_end_than_it_takes():
    grace_s = parsed(pod("worker")["containers"][0]["args"])["grace_s"]
    assert pod("worker")["terminationGracePeriodSeconds"] > grace_s
    grace_s = parsed(compose()["worker"]["command"])["grace_s"]
    assert int(compose()["worker"]["stop_grace_period"].rstrip("s")) > grace_s


def test_every_service_of_compose_is_checked_before_others_need_it():
    services = compose()
    needed = {name for service in services.values() for name in service.get("depends_on", {})}
    healthy = {name for name, one in services.items() if "healthcheck" in one}

    assert {"rabbitmq", "redis", "postgres", "broker-users"} == needed
    assert {"rabbitmq", "redis", "postgres"} == healthy
    assert 2 == services["worker"]["deploy"]["replicas"]


def test_whoever_uses_our_image_can_build_it():
    ours = [one for one in compose().values() if one["image"] == "onward:local"]

    assert 4 == len(ours)
    assert all(our["build"] == "." for our in ours)


def test_redis_of_compose_is_durable_and_never_evicts():
    command = compose()["redis"]["command"][-1]
    for words in ("--appendonly yes", "--maxmemory-policy noeviction", "--maxmemory "):
        assert words in command


def test_every_variable_of_compose_is_in_the_example():
    assert ENVIRONMENT == set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))


@pytest.mark.parametrize("name", PROCESSES)
def test_each_process_uses_its_own_broker_user(name):
    users = {definition["name"] for definition in DEFINITIONS["users"]}
    url = compose()[name]["environment"]["ONWARD_RABBITMQ_URL"]
    keys = {
        one["name"]: one["valueFrom"]["secretKeyRef"]["key"]
        for one in pod(name)["containers"][0]["env"]
    }

    assert name in users
    assert url.startswith(f"amqp://{name}:")
    assert f"rabbitmq-{name}-url" == keys["ONWARD_RABBITMQ_URL"]
    assert set(keys.values()) <= set(objects("Secret")["onward-services"]["stringData"])


def test_workers_scale_on_the_queues_that_they_read():
    scaled = objects("ScaledObject")["onward-worker"]["spec"]
    queues = {one["metadata"]["queueName"] for one in scaled["triggers"]}

    assert {"workflow.execution", "workflow.timeout.process"} == queues
    assert queues <= {queue.name for queue in Topology().queues()}
    assert scaled["scaleTargetRef"]["name"] in objects("Deployment")
    assert "replicas" not in objects("Deployment")["onward-worker"]["spec"]


@pytest.mark.parametrize("name", PROCESSES)
def test_no_container_runs_as_root(name):
    assert pod(name)["securityContext"]["runAsNonRoot"]
    user = pod(name)["securityContext"]["runAsUser"]
    assert f"USER {user}" in (ROOT / "Dockerfile").read_text().splitlines()


@pytest.mark.parametrize("name", PROCESSES)
def test_the_one_writable_folder_is_the_home_of_the_image(name):
    container = pod(name)["containers"][0]
    mounted = [one["mountPath"] for one in container["volumeMounts"]]

    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert [f"WORKDIR {folder}" for folder in mounted] == [
        line
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.startswith("WORKDIR /var")
    ]


def test_the_image_takes_only_what_is_there():
    """
    What is copied from the checkout exists, and is let through by .dockerignore.
    """
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.M)
    names = {name for line in copied for name in line.split()}
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}

    assert allowed == names
    assert all((ROOT / name).exists() for name in names)


@pytest.mark.parametrize("name", PROCESSES)
def test_probes_and_prometheus_ask_where_the_process_listens(name):
    container = pod(name)["containers"][0]
    host, port = parsed(container["args"])["metrics"]
    template = objects("Deployment")[f"onward-{name}"]["spec"]["template"]
    asked = {probe: container[probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe")}

    assert "0.0.0.0" == host
    assert [{"name": "metrics", "containerPort": port}] == container["ports"]
    assert {"path": "/live", "port": "metrics"} == asked["livenessProbe"]
    assert {"path": "/ready", "port": "metrics"} == asked["readinessProbe"]
    assert {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(port),
        "prometheus.io/path": "/metrics",
    } == template["metadata"]["annotations"]

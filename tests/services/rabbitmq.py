"""A RabbitMQ to test with, and a virtual host of its own for each test.

Virtual hosts are made through the management API: a call takes milliseconds, `rabbitmqctl` seconds.
"""

import base64
import json
import os
import secrets
import signal
import subprocess
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote, urlsplit

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

SCRIPTS = "/usr/lib/rabbitmq/bin"
CONFIGURATION = """\
listeners.tcp.default = 127.0.0.1:{port}
management.tcp.ip = 127.0.0.1
management.tcp.port = {api_port}
management_agent.disable_metrics_collector = true
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = warning
log.file = false
"""


@dataclass(frozen=True)
class RabbitServer:
    """Where a RabbitMQ is: `url` without a virtual host, `api` of its management plugin."""

    url: str
    api: str
    environment: dict[str, str] | None = None
    """Of `rabbitmqctl`; only a private node has it."""

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Ask the management API; `path` begins after /api."""
        place = urlsplit(self.url)
        secret = base64.b64encode(f"{place.username}:{place.password}".encode()).decode()
        request = urllib.request.Request(
            f"{self.api}/api{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Basic {secret}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = answer.read()
        return json.loads(said) if said else None

    def ctl(self, *words: str) -> str:
        """Run `rabbitmqctl` on a private node."""
        assert self.environment is not None, "only a private node can be controlled"
        command = [str(program("rabbitmqctl", SCRIPTS)), "--quiet", *words]
        environment = {**os.environ, **self.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert 0 == done.returncode, done.stderr
        return done.stdout

    def new_host(self) -> str:
        """Make a virtual host; return the URL to connect to it."""
        name = f"onward-test-{secrets.token_hex(6)}"
        user = quote(str(urlsplit(self.url).username))
        self.call("PUT", f"/vhosts/{name}")
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        self.call("PUT", f"/permissions/{name}/{user}", everything)
        return f"{self.url}/{name}"

    def drop_host(self, url: str) -> None:
        """Remove a virtual host with all that is in it."""
        self.call("DELETE", f"/vhosts/{urlsplit(url).path[1:]}")

    def answers(self) -> bool:
        """Whether it takes orders."""
        try:
            self.call("GET", "/overview")
        except (OSError, urllib.error.URLError):
            return False
        return listening(int(urlsplit(self.url).port or 5672), str(urlsplit(self.url).hostname))


def find_rabbitmq(run_pid: int) -> dict[str, Any]:
    """Return a usable RabbitMQ as plain data: the named one, the one that runs here, or our own."""
    if named := os.environ.get("ONWARD_TEST_RABBITMQ_URL"):
        place = urlsplit(named)
        api = os.environ.get("ONWARD_TEST_RABBITMQ_API", f"http://{place.hostname}:15672")
        server = RabbitServer(f"{place.scheme}://{place.netloc}", api)
        if not server.answers():
            raise RuntimeError(
                f"ONWARD_TEST_RABBITMQ_URL: no management API answers at {api} for its user; "
                "enable rabbitmq_management there, or set ONWARD_TEST_RABBITMQ_API"
            )
        say(f"RabbitMQ: the one named by ONWARD_TEST_RABBITMQ_URL, {place.hostname}")
        return asdict(server)
    standard = RabbitServer("amqp://guest:guest@127.0.0.1:5672", "http://127.0.0.1:15672")
    if listening(5672) and standard.answers():
        say("RabbitMQ: the one that runs on 127.0.0.1:5672")
        return asdict(standard)
    return asdict(start_rabbitmq(run_pid)[0])


def start_rabbitmq(run_pid: int | None = None) -> tuple[RabbitServer, Kept]:
    """Start a node of our own, with its own name, ports, directories, cookie and epmd."""
    if program("rabbitmq-server", SCRIPTS) is None:
        install("rabbitmq-server")
    script, epmd = program("rabbitmq-server", SCRIPTS), program("epmd")
    if script is None or epmd is None:
        raise MissingError("rabbitmq-server or epmd is not on the search path: install RabbitMQ")
    port, api_port, epmd_port = free_port(), free_port(), free_port()
    directory = room("rabbitmq")
    configuration = CONFIGURATION.format(port=port, api_port=api_port)
    (directory / "rabbitmq.conf").write_text(configuration)
    (directory / "enabled_plugins").write_text("[rabbitmq_management].\n")
    environment = {
        "HOME": str(directory),
        "RABBITMQ_NODENAME": f"onward-{directory.name[-8:]}@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_PID_FILE": str(directory / "pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        "ERL_EPMD_PORT": str(epmd_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    # An epmd that the node starts itself is a daemon and would outlive it: ours is in the group.
    both = f'"{epmd}" & while ! "{epmd}" -names >/dev/null 2>&1; do sleep 0.05; done; "{script}"'
    # Nothing of it is wanted any more at the end, so there is no reason to let it tidy up.
    kept = keep(
        ["/bin/sh", "-c", both],
        directory,
        environment=environment,
        run_pid=run_pid,
        ending=signal.SIGKILL,
    )
    server = RabbitServer(
        f"amqp://guest:guest@127.0.0.1:{port}", f"http://127.0.0.1:{api_port}", environment
    )
    wait_until(server.answers, kept, "RabbitMQ")
    say(f"RabbitMQ: started a private node on 127.0.0.1:{port}")
    return server, kept

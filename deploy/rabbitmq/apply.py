"""Give a RabbitMQ its virtual host, queues and least-privilege users, through its management API.

    RABBITMQ_API=http://rabbitmq:15672 RABBITMQ_ADMIN_USER=... RABBITMQ_ADMIN_PASSWORD=... \
    WORKER_PASSWORD=... SCHEDULER_PASSWORD=... MASTER_PASSWORD=... OBSERVER_PASSWORD=... \
    python apply.py definitions.json

Safe to repeat: what is there stays, and passwords become those of the environment. Needs only
Python. The passwords are in no file.
"""

import base64
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def with_passwords(definitions: Mapping[str, Any], environment: Mapping[str, str]) -> Any:
    """Return the definitions with a password for each user; KeyError names one that is not set."""
    users = [
        {**user, "password": environment[f"{user['name'].upper()}_PASSWORD"]}
        for user in definitions["users"]
    ]
    return {**definitions, "users": users}


def apply(definitions: Any, api: str, user: str, password: str) -> None:
    """Import definitions into the broker whose management API is at `api`."""
    secret = base64.b64encode(f"{user}:{password}".encode()).decode()
    request = urllib.request.Request(  # noqa: S310  # the address is the operator's own
        f"{api.rstrip('/')}/api/definitions",
        method="POST",
        data=json.dumps(definitions).encode(),
        headers={"Authorization": f"Basic {secret}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30):  # noqa: S310  # as above
        pass


def main() -> str | None:
    """Apply the file that is named; return what went wrong."""
    if len(sys.argv) != 2:
        return "usage: apply.py DEFINITIONS"
    try:
        given = json.loads(Path(sys.argv[1]).read_text())
        apply(
            with_passwords(given, os.environ),
            os.environ["RABBITMQ_API"],
            os.environ["RABBITMQ_ADMIN_USER"],
            os.environ["RABBITMQ_ADMIN_PASSWORD"],
        )
    except KeyError as missing:
        return f"set {missing.args[0]} in the environment"
    except urllib.error.HTTPError as refused:
        return f"RabbitMQ refused the definitions: {refused.code} {refused.read().decode()}"
    except (OSError, ValueError) as problem:
        return f"cannot apply {sys.argv[1]}: {problem}"
    return None


if __name__ == "__main__":
    sys.exit(main())

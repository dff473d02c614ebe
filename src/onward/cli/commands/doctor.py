"""`onward doctor`: find what is wrong with this machine and the services of a cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.bootstrap.doctor import Finding

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command(
    epilog=examples(
        "onward doctor",
        "onward doctor --rabbitmq amqp://guest:guest@localhost/ --redis redis://localhost/0",
    )
)
@option("--rabbitmq", metavar="URL", envvar="ONWARD_RABBITMQ_URL", help="The broker.")
@option("--redis", metavar="URL", envvar="ONWARD_REDIS_URL", help="The coordinator.")
@option("--postgres", metavar="URL", envvar="ONWARD_POSTGRES_URL", help="The store.")
@option(
    "--queue-type",
    type=click.Choice(["classic", "quorum"]),
    default="classic",
    show_default=True,
    help="The kind that the broker's queues should be.",
)
@options.database
@options.as_json
def doctor(
    rabbitmq: str | None,
    redis: str | None,
    postgres: str | None,
    queue_type: Any,
    database: Path,
    as_json: bool,
) -> int:
    """Check this machine, and each service whose URL is given; tell what is wrong and the fix.

    It only looks. The exit code is 0 when there is no problem (warnings are none), otherwise 1.
    """
    from onward.bootstrap.doctor import DoctorTarget, examine, healthy
    from onward.cli.output.run_result import print_json

    patient = DoctorTarget(database, rabbitmq or None, redis or None, postgres or None, queue_type)
    findings = asyncio.run(examine(patient))
    good = healthy(findings)
    if as_json:
        print_json({"healthy": good, "findings": findings})
    else:
        for finding in findings:
            _print(finding)
    return 0 if good else 1


def _print(finding: Finding) -> None:
    from onward.cli.output.tables import print_line

    fix = f"; fix: {finding.fix}" if finding.fix else ""
    line = f"{finding.level:<8} {finding.check}: {finding.found}{fix}"
    print_line(line, _COLOURS[finding.level])

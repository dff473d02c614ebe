"""`onward doctor`: diagnose this machine and the services of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.engines.cluster import optional_services
from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.bootstrap.doctor import Finding

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command(
    epilog=examples(
        "onward doctor",
        "onward doctor --rabbitmq amqp://guest:guest@localhost/ --redis redis://localhost/0",
    )
)
@optional_services
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
    """Check this machine, and each service whose URL is given, and print how to fix problems.

    Nothing is changed. The exit code is 1 when there is a problem; warnings do not count.
    """
    import asyncio

    from onward.bootstrap.doctor import DoctorTarget, examine, healthy
    from onward.cli.output.console import print_json

    target = DoctorTarget(database, rabbitmq or None, redis or None, postgres or None, queue_type)
    findings = asyncio.run(examine(target))
    good = healthy(findings)
    if as_json:
        print_json({"healthy": good, "findings": findings})
    else:
        for finding in findings:
            _print(finding)
    return exit_codes.OK if good else exit_codes.FAILED


def _print(finding: Finding) -> None:
    from onward.cli.output.tables import print_line

    fix = f"; fix: {finding.fix}" if finding.fix else ""
    line = f"{finding.level:<8} {finding.check}: {finding.found}{fix}"
    print_line(line, _COLOURS[finding.level])

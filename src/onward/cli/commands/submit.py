"""`onward submit`: start a run on a cluster, and wait for its end with `--wait`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.commands.runs.selection import check_timeout, still_running
from onward.cli.engines.cluster import ClusterAddress, cluster_options
from onward.cli.options import examples
from onward.errors import StorageError

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster, ClusterSettings
    from onward.bootstrap.languages import AnyProgram
    from onward.cli.output.run_result import Result
    from onward.kernel.messages import CompletionMessage

_SHORTEST_POLL_S = 0.02
_LONGEST_POLL_S = 1.0


@click.command(
    epilog=examples(
        "onward submit order.yaml -i customer=Ada",
        "onward submit order.yaml --input @order.json --wait --timeout 60 --json | jq .output",
    )
)
@options.file_argument
@options.new_run
@options.wait
@options.timeout
@options.as_json
@cluster_options
def submit(
    file: Path,
    value: Any,
    execution_id: str | None,
    wait: bool,
    timeout_s: float | None,
    as_json: bool,
    cluster: ClusterAddress,
) -> int:
    """Start the workflow in FILE on a cluster and print the id of the run.

    With --wait the id goes to standard error, and the result is printed when the run has ended.
    """
    from onward.bootstrap.host import configure_log
    from onward.cli.input.documents import open_source
    from onward.cli.output.console import say
    from onward.ports.cluster.bus import BusError

    check_timeout(timeout_s, waits=wait)
    settings = cluster.settings()
    opened = open_source(file)
    for problem in opened.warnings:
        say(problem.describe(str(file)))
    configure_log(level="warning")
    submission = _Submission(settings, opened.program, value, execution_id)
    try:
        if not wait:
            return submission.start(as_json=as_json)
        return submission.wait(timeout_s, as_json=as_json, file=str(file))
    except (BusError, StorageError) as problem:
        say(f"Error: {problem}")
        return exit_codes.UNREACHABLE


class _Submission:
    """One run to start."""

    def __init__(
        self,
        settings: ClusterSettings,
        program: AnyProgram,
        value: Any,
        execution_id: str | None,
    ) -> None:
        self._settings = settings
        self._program = program
        self._value = value
        self._wanted_id = execution_id
        self._run_id = ""

    def start(self, *, as_json: bool) -> int:
        """Start the run and print its id."""
        from onward.cli.output.console import print_json

        asyncio.run(self._start())
        if as_json:
            print_json({"execution_id": self._run_id})
        else:
            click.echo(self._run_id)
        return exit_codes.OK

    def wait(self, timeout_s: float | None, *, as_json: bool, file: str) -> int:
        """Start the run, wait for its end, and print its result."""
        from onward.cli.output.console import say
        from onward.cli.output.run_result import exit_code, print_result, summary_of

        try:
            result = asyncio.run(self._result(timeout_s))
        except TimeoutError:
            return still_running(self._run_id, timeout_s)
        except KeyboardInterrupt:
            if not self._run_id:
                raise
            say(f"no longer waiting; {self._run_id} continues")
            return exit_codes.INTERRUPTED
        print_result(result, as_json=as_json)
        if result.status != "completed" or not as_json:
            say(summary_of(result, None, document=self._program.document, file=file))
        return exit_code(result)

    async def _start(self) -> None:
        from onward.bootstrap.cluster import open_cluster

        async with open_cluster(self._settings) as services:
            await self._start_on(services)

    async def _result(self, timeout_s: float | None) -> Result:
        from onward.bootstrap.cluster import open_cluster
        from onward.cli.output.console import say
        from onward.cli.output.run_result import result_of

        async with open_cluster(self._settings) as services:
            await self._start_on(services)
            say(f"started {self._run_id}")
            async with asyncio.timeout(timeout_s):
                message = await self._completion(services)
            return result_of(message, await _context(services, message))

    async def _start_on(self, services: Cluster) -> None:
        program = self._program
        self._run_id = await services.starter().start(
            program, program.document.source, self._value, self._wanted_id
        )

    async def _completion(self, services: Cluster) -> CompletionMessage:
        """Poll, at longer and longer intervals, until the run has ended."""
        from onward.kernel.messages import decode_completion

        pause_s = _SHORTEST_POLL_S
        while True:
            run = await services.store.execution(self._run_id)
            if run is not None and run.completion is not None:
                return decode_completion(run.completion)
            await asyncio.sleep(pause_s)
            pause_s = min(1.2 * pause_s, _LONGEST_POLL_S)


async def _context(services: Cluster, message: CompletionMessage) -> Mapping[str, Any]:
    """Return the whole final context of a run, with the values it refers to."""
    from onward.kernel.json import decode

    context = {name: decode(raw) for name, raw in message.final_context.items()}
    for name, ref in message.context_refs.items():
        context[name] = decode(await services.store.get(message.execution_id, ref))
    return context

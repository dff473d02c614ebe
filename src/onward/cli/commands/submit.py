"""`onward submit`: start a run on a cluster, and wait for it if asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.engines import cluster
from onward.cli.options import examples, option
from onward.errors import StorageError

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster, ClusterSettings
    from onward.bootstrap.languages import AnyProgram
    from onward.cli.output.run_result import Result
    from onward.kernel.messages import CompletionMessage

TIMED_OUT = 6
INTERRUPTED = 130
_SHORTEST_LOOK_S = 0.02
_LONGEST_LOOK_S = 1.0


@click.command(
    epilog=examples(
        "onward submit order.yaml -i customer=Ada",
        "onward submit order.yaml --input @order.json --wait --timeout 60 --json | jq .output",
    )
)
@options.starting
@option("--wait", is_flag=True, help="Wait for the end, and print what `onward run` prints.")
@option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="How long to wait; the run goes on.  [default: until it ends]",
)
@options.as_json
@cluster.services
def submit(
    file: Path,
    whole: str | None,
    pairs: tuple[str, ...],
    execution_id: str | None,
    wait: bool,
    timeout_s: float | None,
    as_json: bool,
    **places: Any,
) -> int:
    """Start the workflow in FILE on a cluster and print the id of the run.

    With --wait the id goes to standard error, and the result is printed when the run has ended.
    """
    from onward.bootstrap.host import configure_log
    from onward.cli.input.documents import open_source
    from onward.cli.input.run_input import read_run_input
    from onward.cli.output.run_result import say
    from onward.ports.cluster.bus import BusError

    if timeout_s is not None and not wait:
        raise click.UsageError("--timeout says how long to wait: add --wait")
    settings = cluster.settings_of(**places)
    opened = open_source(file)
    given = read_run_input(whole, pairs)
    for problem in opened.warnings:
        say(problem.describe(str(file)))
    configure_log(level="warning")
    one = _Submission(settings, opened.program, given, execution_id)
    try:
        if not wait:
            return one.start(as_json=as_json)
        return one.wait(timeout_s, as_json=as_json, file=str(file))
    except (BusError, StorageError) as problem:
        say(f"Error: {problem}")
        return cluster.UNAVAILABLE


class _Submission:
    """One run to start."""

    def __init__(
        self,
        settings: ClusterSettings,
        program: AnyProgram,
        given: Any,
        execution_id: str | None,
    ) -> None:
        self._settings = settings
        self._program = program
        self._given = given
        self._asked = execution_id
        self._run = ""

    def start(self, *, as_json: bool) -> int:
        """Start the run and print its id."""
        from onward.cli.output.run_result import print_json

        asyncio.run(self._started())
        if as_json:
            print_json({"execution_id": self._run})
        else:
            click.echo(self._run)
        return 0

    def wait(self, timeout_s: float | None, *, as_json: bool, file: str) -> int:
        """Start the run, wait for its end, and print what it came to."""
        from onward.cli.output.run_result import exit_code, print_result, say, story

        try:
            result = asyncio.run(self._ended(timeout_s))
        except TimeoutError:
            say(f"{self._run} has not ended after {timeout_s:g} s; it goes on")
            return TIMED_OUT
        except KeyboardInterrupt:
            if not self._run:
                raise
            say(f"not waiting any longer; {self._run} goes on")
            return INTERRUPTED
        print_result(result, as_json=as_json)
        if result.status != "completed" or not as_json:
            say(story(result, None, document=self._program.document, file=file))
        return exit_code(result)

    async def _started(self) -> None:
        from onward.bootstrap.cluster import open_cluster

        async with open_cluster(self._settings) as at:
            await self._start(at)

    async def _ended(self, timeout_s: float | None) -> Result:
        from onward.bootstrap.cluster import open_cluster
        from onward.cli.output.run_result import result_of, say

        async with open_cluster(self._settings) as at:
            await self._start(at)
            say(f"started {self._run}")
            async with asyncio.timeout(timeout_s):
                message = await self._completion(at)
            return result_of(message, await _context(at, message))

    async def _start(self, at: Cluster) -> None:
        program = self._program
        self._run = await at.starter().start(
            program, program.document.source, self._given, self._asked
        )

    async def _completion(self, at: Cluster) -> CompletionMessage:
        """Look again and again, at longer and longer intervals, until the run has ended."""
        from onward.kernel.messages import decode_completion

        pause_s = _SHORTEST_LOOK_S
        while True:
            execution = await at.store.execution(self._run)
            if execution is not None and execution.completion is not None:
                return decode_completion(execution.completion)
            await asyncio.sleep(pause_s)
            pause_s = min(1.2 * pause_s, _LONGEST_LOOK_S)


async def _context(at: Cluster, message: CompletionMessage) -> Mapping[str, Any]:
    """Return the whole final context of a run, with what it refers to."""
    from onward.kernel.json import decode

    context = {name: decode(raw) for name, raw in message.final_context.items()}
    for name, ref in message.context_refs.items():
        context[name] = decode(await at.store.get(message.execution_id, ref))
    return context

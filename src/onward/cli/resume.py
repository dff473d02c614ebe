"""`onward resume`: continue what a stopped or killed process left unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.options import examples

if TYPE_CHECKING:
    from pathlib import Path

    from onward.kernel.messages import NodeStatusMessage
    from onward.languages.graph.model import Document
    from onward.runtime.engine import Engine


@click.command(
    epilog=examples(
        "onward resume", "onward resume run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J --json | jq .output"
    )
)
@click.argument("execution_ids", nargs=-1, metavar="[EXECUTION_ID]...")
@options.serving
def resume(execution_ids: tuple[str, ...], **served: Any) -> int:
    """Continue the runs named, or every unfinished one, and wait for their end.

    Other runs that those wait for go on as well.

    A run that has ended already is only shown again. With --json one run gives one object, as
    `onward run` does; no run or several give an array of them.
    """
    from onward.bootstrap import open_history
    from onward.cli.answers import print_json, say
    from onward.cli.invocation import Invocation
    from onward.cli.past import statuses

    invocation = Invocation.of(**served)
    runs = _found(invocation.settings.database, tuple(dict.fromkeys(execution_ids)))
    if not runs:
        if invocation.as_json:
            print_json([])
        say(f"nothing to resume in {invocation.settings.database}: every run has ended")
        return 0

    with open_history(invocation.settings.database) as history:
        # Nobody else goes on with what they wait for.
        below = [one for run in runs for one in history.waited_for(run)]

    async def begin(engine: Engine) -> list[str]:
        unfinished = {one.execution_id for one in engine.unfinished()}
        for run in dict.fromkeys((*runs, *below)):
            if run in unfinished:
                engine.resume(run)
        return list(runs)

    def past() -> list[NodeStatusMessage]:
        with open_history(invocation.settings.database) as history:
            return [one for run in runs for one in statuses(history.node_runs(run), runs[run])]

    results = invocation.serve(begin, list(runs.values()), past)
    if len(results) == 1:
        return invocation.answer_one(results[0], runs[results[0].execution_id])
    return invocation.answer_all(results)


def _found(database: Path, named: tuple[str, ...]) -> dict[str, Document]:
    """Return the runs to wait for, each with its document."""
    from onward.bootstrap import compile_source, open_history
    from onward.errors import InputError, StorageError

    if not named and not database.exists():
        return {}
    found = {}
    with open_history(database) as history:
        executions = {one.execution_id: one for one in history.executions()}
        for name in named:
            if name not in executions:
                raise InputError(f"{database} has no run {name}: `onward runs` lists them")
        unfinished = [one for one in executions.values() if one.status == "running"]
        for one in [executions[name] for name in named] or reversed(unfinished):
            definition = history.definition(one.definition_ref)
            if definition is None:
                raise StorageError(f"the definition of {one.execution_id} is not in {database}")
            found[one.execution_id] = compile_source(definition.source).document
    return found

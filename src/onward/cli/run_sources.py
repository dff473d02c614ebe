"""`onward runs definition` and `family`: where a run comes from, and what came from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import remote
from onward.cli.choosing import RUN, execution
from onward.cli.options import examples
from onward.cli.questions import tell
from onward.cli.remote import output, place

if TYPE_CHECKING:
    from onward.api.client import AsyncEngine
    from onward.cli.tables import Cell


@click.command(
    epilog=examples(f"onward runs definition {RUN}", f"onward runs definition {RUN} | jq .nodes")
)
@execution
@place
def definition(execution_id: str, **given: Any) -> int:
    """Print the document of a run as it was when the run started, as JSON."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.answers import print_pretty

        print_pretty(await engine.run(execution_id).definition())
        return 0

    return remote.talk(remote.where(given), ask)


@click.command(epilog=examples(f"onward runs family {RUN}", f"onward runs family {RUN} -o json"))
@execution
@output
@place
def family(execution_id: str, output: str, **given: Any) -> int:
    """Show the run that started a run, and the runs that it started itself."""

    async def look(engine: AsyncEngine) -> dict[str, Any]:
        return {"execution_id": execution_id, **await engine.run(execution_id).family()}

    def people(found: Mapping[str, Any]) -> None:
        from onward.cli.tables import print_table

        above = [("parent", found["parent"])] if found["parent"] else []
        rows = [_row(word, one) for word, one in (*above, *(("child", c) for c in found["items"]))]
        print_table(("is its", "run", "started by", "status", "waited for"), rows)

    return tell(given, output, look, id_of="execution_id", people=people)


def _row(word: str, one: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.showing import COLOURS

    status = one["status"] or ""
    waits = "yes" if one["waits"] else "no"
    return [word, one["execution_id"], one["node_id"], (status, COLOURS.get(status, "")), waits]

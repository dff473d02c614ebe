"""Explaining a run in a file, without a server on it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from onward.adapters.sqlite.inspection import SqliteInspector
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.host import now_ms
from onward.bootstrap.languages import Languages
from onward.ports.nodes.node import Catalogue
from onward.runtime.explain.explain import RunExplanation
from onward.runtime.explain.facts import explain_in_journal


async def explain_in_file(
    execution_id: str, database: Path, catalogue: Catalogue = builtin
) -> RunExplanation | None:
    """Return what a run in a database of the embedded engine waits for; None if it is not there."""
    languages = Languages(catalogue)
    with closing(SqliteInspector(database)) as file:
        return await explain_in_journal(execution_id, file, file, languages.compile, now_ms())

"""Between the values of the ports and the rows of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from asyncpg import Record

from onward.kernel.context import Ref
from onward.kernel.lineage import Lineage
from onward.kernel.log_lines import write_lines
from onward.kernel.records import RunRecord, VisitRecord
from onward.ports.storage.history_store import Silence

_encode = msgspec.json.Encoder().encode
_lineage = msgspec.json.Decoder(Lineage)
_ref = msgspec.json.Decoder(Ref)


def columns(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return the rows turned round: an array for each column."""
    return list(zip(*rows, strict=True))


def row_of_visit(run: VisitRecord) -> tuple[Any, ...]:
    """Return the columns of a node run."""
    return (
        run.execution_id,
        run.token_id,
        run.node_id,
        run.status,
        run.attempt,
        run.at_ms,
        run.duration_ms,
        _encode(run.lineage) if run.lineage else None,
        bytes(run.output) if run.output is not None else None,
        _encode(run.output_ref) if run.output_ref else None,
        run.error,
    )


def row_of_lines(run: VisitRecord) -> tuple[Any, ...]:
    """Return the columns of what a node wrote to the log."""
    lineage = _encode(run.lineage) if run.lineage else None
    return (run.execution_id, run.node_id, run.attempt, lineage, write_lines(run.log))


def read_node_run(row: Record) -> VisitRecord:
    """Return the node run of a row."""
    return VisitRecord(
        execution_id=row["execution_id"],
        token_id=row["token_id"],
        node_id=row["node_id"],
        status=row["status"],
        attempt=row["attempt"],
        at_ms=row["at_ms"],
        duration_ms=row["duration_ms"],
        lineage=_lineage.decode(row["lineage"]) if row["lineage"] else (),
        output=msgspec.Raw(row["output"]) if row["output"] is not None else None,
        output_ref=_ref.decode(row["output_ref"]) if row["output_ref"] else None,
        error=row["error"],
    )


def read_execution(row: Record) -> RunRecord:
    """Return the run of a row."""
    return RunRecord(**row)


def read_silence(row: Record) -> Silence:
    """Return the silent run of a row."""
    fields = dict(row)
    return Silence(heard_ms=fields.pop("heard_ms"), execution=RunRecord(**fields))

"""Between the records of runs and the rows of tables, the same in both databases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from onward.kernel.context import Ref
from onward.kernel.lineage import Lineage
from onward.kernel.log_lines import write_lines
from onward.kernel.records import RunRecord, VisitRecord

_encode = msgspec.json.Encoder().encode
_lineage = msgspec.json.Decoder(Lineage)
_ref = msgspec.json.Decoder(Ref)

StructT = TypeVar("StructT", bound=msgspec.Struct)


def read_struct(kind: type[StructT], row: Iterable[Any]) -> StructT:
    """Return the struct whose first fields are the columns of a row; the others have defaults."""
    return kind(**dict(zip(kind.__struct_fields__, row, strict=False)))


def read_run(row: Iterable[Any]) -> RunRecord:
    """Return the run of a row, whose columns are the first fields of `RunRecord`."""
    return read_struct(RunRecord, row)


def read_lineage(text: bytes | None) -> Lineage:
    """Return a lineage that was written in a column."""
    return _lineage.decode(text) if text else ()


def read_visit(row: Any) -> VisitRecord:
    """Return the visit of a row, whose columns are the first fields of `VisitRecord`."""
    return VisitRecord(
        execution_id=row[0],
        token_id=row[1],
        node_id=row[2],
        status=row[3],
        attempt=row[4],
        at_ms=row[5],
        duration_ms=row[6],
        lineage=read_lineage(row[7]),
        output=msgspec.Raw(row[8]) if row[8] is not None else None,
        output_ref=_ref.decode(row[9]) if row[9] else None,
        error=row[10],
    )


def row_of_visit(visit: VisitRecord) -> tuple[Any, ...]:
    """Return the columns of a visit."""
    return (
        visit.execution_id,
        visit.token_id,
        visit.node_id,
        visit.status,
        visit.attempt,
        visit.at_ms,
        visit.duration_ms,
        _encode(visit.lineage) if visit.lineage else None,
        bytes(visit.output) if visit.output is not None else None,
        _encode(visit.output_ref) if visit.output_ref else None,
        visit.error,
    )


def row_of_lines(visit: VisitRecord) -> tuple[Any, ...]:
    """Return the columns of the lines that a visit logged."""
    lineage = _encode(visit.lineage) if visit.lineage else None
    return (visit.execution_id, visit.node_id, visit.attempt, lineage, write_lines(visit.log))

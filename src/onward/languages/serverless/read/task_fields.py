"""The parts that many tasks share: `then`, durations, time limits, schemas, shaped data."""

from __future__ import annotations

from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote, suggest
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.json_schemas import Schema
from onward.languages.serverless.model import AS_IT_IS, Duration, Shaping
from onward.languages.serverless.read.reader import DocumentReader
from onward.languages.serverless.templates import expression_in

NOTHING = Duration(0)


def read_duration(reader: DocumentReader, value: Any, at: str, allowed: frozenset[str]) -> Duration:
    """Return a duration; one that is wrong is reported and read as none."""
    if isinstance(value, str) and expression_in(value) is not None:
        return Duration(None, reader.template(value, at, allowed))
    try:
        return Duration(duration_ms(value))
    except ValueError as problem:
        hint = "write PT30S, {minutes: 5}, or an expression ${ ... }"
        reader.error("BAD_DURATION", f"this is not a duration: {problem}", at, hint)
        return NOTHING


def read_timeout(
    fields: Fields, reader: DocumentReader, allowed: frozenset[str]
) -> Duration | None:
    """Return the time limit of a workflow or a task: its own, or one of `use.timeouts`."""
    value = fields.value.get("timeout")
    at = join(fields.at, "timeout")
    if isinstance(value, str):
        name, value = value, reuse(reader, "timeouts", value, at)
        at = join("/use/timeouts", name)
    if value is None:
        return None
    if not isinstance(value, dict):
        reader.error("BAD_FIELD", "a timeout is a name or a mapping", at, "write {after: PT30S}")
        return None
    reader.fields(value, "timeout", at, ("after",))
    if value.get("after") is None:
        reader.error("MISSING_FIELD", 'the timeout has no "after"', at, "write {after: PT30S}")
        return None
    return read_duration(reader, value["after"], join(at, "after"), allowed)


def reuse(reader: DocumentReader, kind: str, name: str, at: str) -> Any:
    """Return a component of `use`, by its name; None when there is none, which is reported."""
    known: Any = getattr(reader.uses, kind)
    if name in known:
        reader.uses.used.add((kind, name))
        return known[name]
    hint = suggest(name, known) or f"define it under /use/{kind}"
    reader.error("UNKNOWN_NAME", f"use.{kind} has no {quote(name)}", at, hint)
    return None


def read_then(fields: Fields, reader: DocumentReader, targets: tuple[str, ...]) -> str | None:
    """Return where a task leads; None when it does not say."""
    value = fields.text("then")
    if value is None or value in targets:
        return value
    if "exit" in targets:
        message = f"{fields.owner} leads to {quote(value)}, and this list has no such task"
        hint = suggest(value, targets) or "name a task of the same list, or continue, exit, end"
    else:
        message = f"{fields.owner} leads to {quote(value)}, but the branches of a fork have no next"
        hint = "put the tasks that follow one another into a `do` inside the branch"
    reader.error("UNKNOWN_TASK", message, join(fields.at, "then"), hint)
    return None


def check_mapping(fields: Fields, name: str, reader: DocumentReader) -> None:
    """Report a field that is neither a mapping nor an expression."""
    value = fields.value.get(name)
    if value is not None and not isinstance(value, dict | str):
        message = f"{name} must be a mapping or an expression, not {kind_of(value)}"
        reader.error("BAD_FIELD", message, join(fields.at, name))


def read_shaping(
    fields: Fields, name: str, shape: str, reader: DocumentReader, allowed: frozenset[str]
) -> Shaping:
    """Return `input`, `output` or `export` of a workflow or a task. `shape` is `from` or `as`."""
    value = fields.value.get(name)
    if value is None:
        return AS_IT_IS
    at = join(fields.at, name)
    if not isinstance(value, dict):
        hint = f"write {{{shape}: .name}}"
        reader.error("BAD_FIELD", f"{name} must be a mapping with {shape} or schema", at, hint)
        return AS_IT_IS
    reader.fields(value, name, at, ("schema", shape))
    template = reader.shape(value.get(shape), join(at, shape), allowed)
    return Shaping(_schema(reader, value.get("schema"), join(at, "schema")), template)


def _schema(reader: DocumentReader, value: Any, at: str) -> Schema | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        reader.error("BAD_FIELD", "a schema must be a mapping", at, "write {document: {...}}")
        return None
    fields = reader.fields(value, "schema", at, ("format", "document", "resource"))
    form = fields.text("format") or "json"
    if form.partition(":")[0] != "json":
        reader.unsupported(f"the schema format {quote(form)}", join(at, "format"), "use json")
        return None
    if "resource" in value:
        if not isinstance(value["resource"], dict) or "endpoint" not in value["resource"]:
            hint = "write {endpoint: URL}"
            message = "the schema's resource has no endpoint"
            reader.error("BAD_FIELD", message, join(at, "resource"), hint)
        return None
    if "document" not in value:
        reader.error(
            "MISSING_FIELD", 'the schema has no "document"', at, "write a JSON Schema there"
        )
        return None
    try:
        return Schema(value["document"])
    except ValueError as problem:
        message = f"this is not a JSON Schema: {problem}"
        reader.error("BAD_SCHEMA", message, join(at, "document"))
        return None

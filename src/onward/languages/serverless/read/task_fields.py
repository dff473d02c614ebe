"""Reading the parts that many tasks share: durations, schemas, what shapes data, time limits."""

from __future__ import annotations

from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, quote, suggest
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.json_schemas import Schema
from onward.languages.serverless.model import AS_IT_IS, Duration, Shaping
from onward.languages.serverless.read.reader import DocumentReader
from onward.languages.serverless.templates import expression_in

NOTHING = Duration(0)


def read_duration(desk: DocumentReader, value: Any, at: str, allowed: frozenset[str]) -> Duration:
    """Return a duration; one that is wrong is reported, and then nothing."""
    if isinstance(value, str) and expression_in(value) is not None:
        return Duration(None, desk.template(value, at, allowed))
    try:
        return Duration(duration_ms(value))
    except ValueError as problem:
        hint = "write PT30S, {minutes: 5}, or an expression ${ ... }"
        desk.error("BAD_DURATION", f"this is not a duration: {problem}", at, hint)
        return NOTHING


def read_timeout(fields: Fields, desk: DocumentReader, allowed: frozenset[str]) -> Duration | None:
    """Return the time limit of a workflow or a task: its own, or one of `use.timeouts`."""
    value = fields.value.get("timeout")
    at = join(fields.at, "timeout")
    if isinstance(value, str):
        name, value = value, reuse(desk, "timeouts", value, at)
        at = join("/use/timeouts", name)
    if value is None:
        return None
    if not isinstance(value, dict):
        desk.error("BAD_FIELD", "a timeout is a name or a mapping", at, "write {after: PT30S}")
        return None
    inner = desk.fields(value, "timeout", at)
    inner.reject_unknown(("after",))
    if value.get("after") is None:
        desk.error("MISSING_FIELD", 'the timeout has no "after"', at, "write {after: PT30S}")
        return None
    return read_duration(desk, value["after"], join(at, "after"), allowed)


def reuse(desk: DocumentReader, kind: str, name: str, at: str) -> Any:
    """Return a component of `use`, by its name; None when there is none, which is reported."""
    known: Any = getattr(desk.uses, kind)
    if name in known:
        desk.uses.used.add((kind, name))
        return known[name]
    hint = suggest(name, known) or f"define it under /use/{kind}"
    desk.error("UNKNOWN_NAME", f"use.{kind} has no {quote(name)}", at, hint)
    return None


def read_shaping(
    fields: Fields, name: str, shape: str, desk: DocumentReader, allowed: frozenset[str]
) -> Shaping:
    """Return `input`, `output` or `export` of a workflow or a task. `shape` is `from` or `as`."""
    value = fields.value.get(name)
    if value is None:
        return AS_IT_IS
    at = join(fields.at, name)
    if not isinstance(value, dict):
        hint = f"write {{{shape}: .name}}"
        desk.error("BAD_FIELD", f"{name} must be a mapping with {shape} or schema", at, hint)
        return AS_IT_IS
    inner = desk.fields(value, name, at)
    inner.reject_unknown(("schema", shape))
    template = desk.shaped(value.get(shape), join(at, shape), allowed)
    return Shaping(_schema(desk, value.get("schema"), join(at, "schema")), template)


def _schema(desk: DocumentReader, value: Any, at: str) -> Schema | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        desk.error("BAD_FIELD", "a schema must be a mapping", at, "write {document: {...}}")
        return None
    fields = desk.fields(value, "schema", at)
    fields.reject_unknown(("format", "document", "resource"))
    form = fields.text("format") or "json"
    if form.partition(":")[0] != "json":
        desk.unsupported(f"the schema format {quote(form)}", join(at, "format"), "use json")
        return None
    if "resource" in value:
        if not isinstance(value["resource"], dict) or "endpoint" not in value["resource"]:
            hint = "write {endpoint: URL}"
            message = "the schema's resource has no endpoint"
            desk.error("BAD_FIELD", message, join(at, "resource"), hint)
        return None
    if "document" not in value:
        desk.error("MISSING_FIELD", 'the schema has no "document"', at, "write a JSON Schema there")
        return None
    try:
        return Schema(value["document"])
    except ValueError as problem:
        message = f"this is not a JSON Schema: {problem}"
        desk.error("BAD_SCHEMA", message, join(at, "document"))
        return None

"""The parts of a document about errors: raise, catch and retry."""

from __future__ import annotations

from typing import Any

from onward.kernel.retry import Backoff
from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote, suggest
from onward.languages.serverless.model import (
    Catch,
    Duration,
    Retry,
    Task,
    TaskList,
    TryTask,
)
from onward.languages.serverless.read.reader import DEFINITION, DocumentReader
from onward.languages.serverless.read.task_fields import NOTHING, read_duration, read_then, reuse
from onward.languages.serverless.templates import JsonTemplate, expression_in

_ERROR = ("type", "status", "title", "detail", "instance")
_FILTER = ("type", "status", "instance", "title", "detail", "details")
_RETRY = ("when", "exceptWhen", "delay", "backoff", "limit", "jitter")
_BACKOFFS: tuple[Backoff, ...] = ("constant", "linear", "exponential")


def read_error(value: Any, at: str, reader: DocumentReader) -> JsonTemplate | None:
    """Return the error that a task raises: its own, or one of `use.errors`."""
    if isinstance(value, str) and expression_in(value) is None:
        name, value = value, reuse(reader, "errors", value, at)
        at = join("/use/errors", name)
        if value is None:
            return None
    if not isinstance(value, dict):
        hint = "write a name of use.errors, or {type: ..., status: ...}"
        reader.error(
            "BAD_FIELD", f"an error is a name or a mapping, not {kind_of(value)}", at, hint
        )
        return None
    fields = reader.fields(value, "error", at, _ERROR)
    for name in ("type", "status"):
        if value.get(name) is None:
            reader.error(
                "MISSING_FIELD", f"the error has no {quote(name)}", at, f"write its {name}"
            )
    status = value.get("status")
    if status is not None and (isinstance(status, bool) or not isinstance(status, int | str)):
        message = f"status must be a whole number or an expression, not {kind_of(status)}"
        reader.error("BAD_FIELD", message, join(at, "status"))
    for name in ("type", "title", "detail", "instance"):
        fields.text(name)
    return reader.template({name: value[name] for name in _ERROR if name in value}, at, DEFINITION)


def read_catch(
    fields: Fields,
    base: dict[str, Any],
    tasks: TaskList,
    reader: DocumentReader,
    targets: tuple[str, ...],
) -> Task | None:
    """Return the whole try, of which the tasks are read already."""
    value, at = fields.value.get("catch"), join(fields.at, "catch")
    if not isinstance(value, dict):
        what = "has no" if value is None else "needs a mapping as"
        hint = "write catch: {} to continue after any error"
        reader.error("MISSING_FIELD", f'{fields.owner} {what} "catch"', fields.at, hint)
        return None
    inner = reader.fields(
        value,
        f'{fields.owner}: "catch"',
        at,
        ("errors", "as", "when", "exceptWhen", "retry", "do", "then"),
    )
    name = reader.variable(inner, "as", "error")
    within = reader.with_names(name)
    handlers: TaskList = ()
    if value.get("do") is not None:
        handlers = within.tasks(value["do"], join(at, "do"), fields.owner)
    return TryTask(
        **base,
        tasks=tasks,
        catch=Catch(
            filter=_filter(inner, reader),
            name=name,
            when=within.expression(value.get("when"), join(at, "when"), DEFINITION),
            except_when=within.expression(
                value.get("exceptWhen"), join(at, "exceptWhen"), DEFINITION
            ),
            retry=read_retry(value.get("retry"), join(at, "retry"), within),
            tasks=handlers,
            then=read_then(inner, reader, targets),
        ),
    )


def _filter(catch: Fields, reader: DocumentReader) -> dict[str, Any]:
    errors = catch.inside("errors", ("with",))
    found = errors.inside("with", _FILTER)
    if not errors.value.get("with") and "errors" in catch.value:
        hint = "write with: {type: ..., status: ...}, or leave `errors` out to catch all"
        reader.error("BAD_FIELD", "the filter of errors is empty", errors.at, hint)
    for name in ("type", "instance", "title", "detail", "details"):
        found.text(name)
    found.number("status", 100, 599, whole=True)
    return {"detail" if key == "details" else key: value for key, value in found.value.items()}


def read_retry(value: Any, at: str, reader: DocumentReader) -> Retry | None:
    """Return a retry policy: one of `use.retries`, or one written in place."""
    if isinstance(value, str):
        name, value = value, reuse(reader, "retries", value, at)
        at = join("/use/retries", name)
    if value is None:
        return None
    if not isinstance(value, dict):
        reader.error("BAD_FIELD", "a retry policy is a name or a mapping", at)
        return None
    fields = reader.fields(value, "retry policy", at, _RETRY)
    limit = fields.inside("limit", ("attempt", "duration"))
    attempt = limit.inside("attempt", ("count", "duration"))
    count = attempt.number("count", 0, 1_000_000, whole=True)
    return Retry(
        when=reader.expression(value.get("when"), join(at, "when"), DEFINITION),
        except_when=reader.expression(value.get("exceptWhen"), join(at, "exceptWhen"), DEFINITION),
        delay=_optional(fields, "delay", reader) or NOTHING,
        backoff=_backoff(fields, reader),
        count=None if count is None else int(count),
        attempt_limit=_optional(attempt, "duration", reader),
        limit=_optional(limit, "duration", reader),
        jitter=_jitter(fields, reader),
    )


def _optional(fields: Fields, name: str, reader: DocumentReader) -> Duration | None:
    value = fields.value.get(name)
    return (
        None if value is None else read_duration(reader, value, join(fields.at, name), DEFINITION)
    )


def _backoff(fields: Fields, reader: DocumentReader) -> Backoff:
    value = fields.mapping("backoff")
    found = [kind for kind in _BACKOFFS if kind in value]
    unknown = [key for key in value if key not in _BACKOFFS]
    at = join(fields.at, "backoff")
    for key in unknown:
        hint = suggest(key, _BACKOFFS) or f"known are: {', '.join(_BACKOFFS)}"
        reader.error("UNKNOWN_FIELD", f"there is no backoff {quote(key)}", join(at, key), hint)
    if len(found) > 1:
        reader.error("BAD_FIELD", f"the backoff is {' and '.join(found)} at once", at, "keep one")
    return found[0] if found else "constant"


def _jitter(fields: Fields, reader: DocumentReader) -> tuple[Duration, Duration] | None:
    value = fields.mapping("jitter")
    if not value:
        return None
    inner = fields.inside("jitter", ("from", "to"))
    ends = _optional(inner, "from", reader), _optional(inner, "to", reader)
    if ends[0] is None or ends[1] is None:
        reader.error("MISSING_FIELD", "jitter needs `from` and `to`", inner.at)
        return None
    return ends[0], ends[1]

"""Reading what is about errors: raise, catch and retry."""

from __future__ import annotations

from typing import Any, Protocol

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote, suggest
from onward.languages.serverless.model import (
    Backoff,
    Catch,
    Duration,
    Retry,
    Task,
    TaskList,
    TryTask,
)
from onward.languages.serverless.read.reader import DEFINITION, DocumentReader
from onward.languages.serverless.read.task_fields import NOTHING, read_duration, reuse
from onward.languages.serverless.templates import JsonTemplate, expression_in

_ERROR = ("type", "status", "title", "detail", "instance")
_FILTER = ("type", "status", "instance", "title", "detail", "details")
_RETRY = ("when", "exceptWhen", "delay", "backoff", "limit", "jitter")
_BACKOFFS: tuple[Backoff, ...] = ("constant", "linear", "exponential")


class ReadList(Protocol):
    """Reads a list of tasks."""

    def __call__(self, value: Any, at: str, owner: str, desk: DocumentReader) -> TaskList:
        """Return the tasks."""
        ...


class ReadThen(Protocol):
    """Reads where something leads."""

    def __call__(
        self, fields: Fields, desk: DocumentReader, targets: tuple[str, ...]
    ) -> str | None:
        """Return the name; None when nothing is said."""
        ...


def read_error(value: Any, at: str, desk: DocumentReader) -> JsonTemplate | None:
    """Return the error that a task raises: its own, or one of `use.errors`."""
    if isinstance(value, str) and expression_in(value) is None:
        name, value = value, reuse(desk, "errors", value, at)
        at = join("/use/errors", name)
        if value is None:
            return None
    if not isinstance(value, dict):
        hint = "write a name of use.errors, or {type: ..., status: ...}"
        desk.error("BAD_FIELD", f"an error is a name or a mapping, not {kind_of(value)}", at, hint)
        return None
    fields = desk.fields(value, "error", at)
    fields.reject_unknown(_ERROR)
    for name in ("type", "status"):
        if value.get(name) is None:
            desk.error("MISSING_FIELD", f"the error has no {quote(name)}", at, f"write its {name}")
    status = value.get("status")
    if status is not None and (isinstance(status, bool) or not isinstance(status, int | str)):
        message = f"status must be a whole number or an expression, not {kind_of(status)}"
        desk.error("BAD_FIELD", message, join(at, "status"))
    for name in ("type", "title", "detail", "instance"):
        fields.text(name)
    return desk.template({name: value[name] for name in _ERROR if name in value}, at, DEFINITION)


def read_catch(
    fields: Fields,
    base: dict[str, Any],
    tasks: TaskList,
    desk: DocumentReader,
    targets: tuple[str, ...],
    read_list: ReadList,
    read_then: ReadThen,
) -> Task | None:
    """Return the whole try, of which the tasks are read already."""
    value, at = fields.value.get("catch"), join(fields.at, "catch")
    if not isinstance(value, dict):
        what = "has no" if value is None else "needs a mapping as"
        hint = "write catch: {} to go on after any error"
        desk.error("MISSING_FIELD", f'{fields.owner} {what} "catch"', fields.at, hint)
        return None
    inner = desk.fields(value, f'{fields.owner}: "catch"', at)
    inner.reject_unknown(("errors", "as", "when", "exceptWhen", "retry", "do", "then"))
    name = desk.variable(inner, "as", "error")
    within = desk.with_names(name)
    handlers: TaskList = ()
    if value.get("do") is not None:
        handlers = read_list(value["do"], join(at, "do"), fields.owner, within)
    return TryTask(
        **base,
        tasks=tasks,
        catch=Catch(
            filter=_filter(inner, desk),
            name=name,
            when=within.expression(value.get("when"), join(at, "when"), DEFINITION),
            except_when=within.expression(
                value.get("exceptWhen"), join(at, "exceptWhen"), DEFINITION
            ),
            retry=read_retry(value.get("retry"), join(at, "retry"), within),
            tasks=handlers,
            then=read_then(inner, desk, targets),
        ),
    )


def _filter(catch: Fields, desk: DocumentReader) -> dict[str, Any]:
    errors = catch.inside("errors", catch.mapping("errors"))
    errors.reject_unknown(("with",))
    found = errors.inside("with", errors.mapping("with"))
    found.reject_unknown(_FILTER)
    if not errors.value.get("with") and "errors" in catch.value:
        hint = "write with: {type: ..., status: ...}, or leave `errors` out to catch all"
        desk.error("BAD_FIELD", "the filter of errors is empty", errors.at, hint)
    for name in ("type", "instance", "title", "detail", "details"):
        found.text(name)
    found.number("status", 100, 599, whole=True)
    return {"detail" if key == "details" else key: one for key, one in found.value.items()}


def read_retry(value: Any, at: str, desk: DocumentReader) -> Retry | None:
    """Return a retry policy: one of `use.retries`, or one written in place."""
    if isinstance(value, str):
        name, value = value, reuse(desk, "retries", value, at)
        at = join("/use/retries", name)
    if value is None:
        return None
    if not isinstance(value, dict):
        desk.error("BAD_FIELD", "a retry policy is a name or a mapping", at)
        return None
    fields = desk.fields(value, "retry policy", at)
    fields.reject_unknown(_RETRY)
    limit = fields.inside("limit", fields.mapping("limit"))
    limit.reject_unknown(("attempt", "duration"))
    attempt = limit.inside("attempt", limit.mapping("attempt"))
    attempt.reject_unknown(("count", "duration"))
    count = attempt.number("count", 0, 1_000_000, whole=True)
    return Retry(
        when=desk.expression(value.get("when"), join(at, "when"), DEFINITION),
        except_when=desk.expression(value.get("exceptWhen"), join(at, "exceptWhen"), DEFINITION),
        delay=_optional(fields, "delay", desk) or NOTHING,
        backoff=_backoff(fields, desk),
        count=None if count is None else int(count),
        attempt_limit=_optional(attempt, "duration", desk),
        limit=_optional(limit, "duration", desk),
        jitter=_jitter(fields, desk),
    )


def _optional(fields: Fields, name: str, desk: DocumentReader) -> Duration | None:
    value = fields.value.get(name)
    return None if value is None else read_duration(desk, value, join(fields.at, name), DEFINITION)


def _backoff(fields: Fields, desk: DocumentReader) -> Backoff:
    value = fields.mapping("backoff")
    found = [kind for kind in _BACKOFFS if kind in value]
    unknown = [key for key in value if key not in _BACKOFFS]
    at = join(fields.at, "backoff")
    for key in unknown:
        hint = suggest(key, _BACKOFFS) or f"known are: {', '.join(_BACKOFFS)}"
        desk.error("UNKNOWN_FIELD", f"there is no backoff {quote(key)}", join(at, key), hint)
    if len(found) > 1:
        desk.error("BAD_FIELD", f"the backoff is {' and '.join(found)} at once", at, "keep one")
    return found[0] if found else "constant"


def _jitter(fields: Fields, desk: DocumentReader) -> tuple[Duration, Duration] | None:
    value = fields.mapping("jitter")
    if not value:
        return None
    inner = fields.inside("jitter", value)
    inner.reject_unknown(("from", "to"))
    ends = _optional(inner, "from", desk), _optional(inner, "to", desk)
    if ends[0] is None or ends[1] is None:
        desk.error("MISSING_FIELD", "jitter needs `from` and `to`", inner.at)
        return None
    return ends[0], ends[1]

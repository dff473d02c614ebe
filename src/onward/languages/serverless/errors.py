"""Errors of a run, in the form of RFC 7807: type, status, title, detail, instance."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from onward.kernel.outcome import NodeError

TYPES = "https://serverlessworkflow.io/spec/1.0.0/errors/"
STANDARD = {
    "configuration": (400, "Configuration Error"),
    "validation": (400, "Validation Error"),
    "expression": (400, "Expression Error"),
    "authentication": (401, "Authentication Error"),
    "authorization": (403, "Authorization Error"),
    "timeout": (408, "Timeout Error"),
    "communication": (500, "Communication Error"),
    "runtime": (500, "Runtime Error"),
}
# The specification has had two homes, and its tools write the types in a third way.
_ALIAS = re.compile(
    r"https?://(?:www\.)?(?:serverlessworkflow\.io(?:\.io)?|open-workflow-specification\.org)"
    r"/(?:spec/[0-9.]+|dsl)/errors/(?:types/)?([a-z]+)/?"
)
# The error codes of activities, as a type and a status.
_CODES = {
    "NODE_TIMEOUT": ("timeout", 408),
    "CREDENTIAL": ("authorization", 403),
    "AUTHENTICATION": ("authentication", 401),
    "EXPRESSION_SYNTAX": ("expression", 400),
    "EXPRESSION_FAILED": ("expression", 400),
    "EXPRESSION_LIMIT": ("expression", 400),
    "HTTP_REQUEST": ("configuration", 400),
    "RUN_FORBIDDEN": ("configuration", 400),
    "RUN_INVALID": ("configuration", 400),
    "RUN_NOT_FOUND": ("configuration", 400),
    "NO_WORKFLOW": ("configuration", 400),
    "EVENT_INVALID": ("configuration", 400),
    "EVENT_NO_HUB": ("configuration", 400),
    "EVENT_SINK": ("communication", 500),
    "EVENT_STORE": ("communication", 503),
    "HTTP_CONNECT": ("communication", 503),
    "HTTP_TIMEOUT": ("communication", 504),
}


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One error."""

    type: str
    status: int
    title: str = ""
    detail: str = ""
    instance: str = ""

    def value(self) -> dict[str, Any]:
        """Return it as data, as expressions see it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class FaultError(Exception):
    """A fault on its way up from where it happened. It never leaves this package."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.type)


def standard_fault(kind: str, detail: str, at: str, *, status: int | None = None) -> Fault:
    """Return an error of one of the standard types, at the task with the pointer `at`."""
    default, title = STANDARD[kind]
    return Fault(
        type=TYPES + kind, status=status or default, title=title, detail=detail, instance=at
    )


def read_fault(value: Any) -> Fault:
    """Return the fault that `Fault.value` wrote."""
    return msgspec.convert(value, Fault)


def activity_fault(error: NodeError, at: str) -> Fault:
    """Return an activity's failure in the language's own terms."""
    status = error.details.get("status")
    if isinstance(status, int):
        return standard_fault("communication", error.message, at, status=status)
    kind, code = _CODES.get(error.code, ("", 500))
    if not kind:
        kind = "communication" if error.code.startswith("HTTP_") else "runtime"
    return standard_fault(kind, error.message, at, status=code)


def fault_of(error: NodeError, at: str) -> Fault:
    """Return an activity's failure as a fault; one that is a fault already keeps what it says."""
    if {"type", "status"} <= error.details.keys():
        return msgspec.convert({**error.details, "instance": at}, Fault)
    return activity_fault(error, at)


def child_fault(error: NodeError, at: str) -> Fault:
    """Return the error of a task whose own workflow did not complete: the one that ended that.

    It has the details of the other run's error, and the task here as its instance.
    """
    inner = error.details.get("error")
    details = inner.get("details") if isinstance(inner, dict) else None
    if isinstance(details, dict) and {"type", "status"} <= details.keys():
        return msgspec.convert({**details, "instance": at}, Fault)
    return standard_fault("runtime", error.message, at)


def to_error(fault: Fault) -> NodeError:
    """Return the fault as statuses and completions carry it."""
    kind = name_of(fault.type)
    text = ": ".join(filter(None, (fault.title or kind, fault.detail)))
    code = kind.upper() if kind in STANDARD else "FAULT"
    return NodeError(text, code, fault.value())


def timeout_fault(at: str, limit_ms: int) -> Fault:
    """Return the error of what took too long."""
    return standard_fault("timeout", f"it did not finish within {limit_ms / 1000:g} s", at)


def fault_to_raise(value: dict[str, Any], at: str) -> Fault:
    """Return the error that a task raises."""
    status = value.get("status")
    if isinstance(status, str) and status.isdecimal() and len(status) <= 3:
        status = int(status)
    if isinstance(status, bool) or not isinstance(status, int):
        detail = f"the error to raise has the status {str(status)[:40]!r}, which is no number"
        return standard_fault("expression", detail, at)
    texts = {name: str(value.get(name) or "") for name in ("type", "title", "detail")}
    return Fault(status=status, instance=str(value.get("instance") or at), **texts)


def name_of(type_: str) -> str:
    """Return the short name of a standard type however it is written; other types as they are."""
    found = _ALIAS.fullmatch(type_)
    return found[1] if found and found[1] in STANDARD else type_

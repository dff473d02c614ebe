"""Extensions, and the tasks that they extend."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote
from onward.languages.serverless.model import Extension, Task
from onward.languages.serverless.read.reader import TASK_INPUT, DocumentReader

_KINDS = (
    "call",
    "composite",
    "emit",
    "for",
    "listen",
    "raise",
    "run",
    "set",
    "switch",
    "try",
    "wait",
    "all",
)
_COMPOSITE = ("do", "fork")
_MOST_USES = 2_000


def read_extensions(use: Fields) -> tuple[tuple[str, str, Any], ...]:
    """Return every extension of a document: its name, its place and what is written there."""
    found = []
    for index, item in enumerate(use.items("extensions")):
        at = join(join(use.at, "extensions"), index)
        if not isinstance(item, dict) or len(item) != 1:
            message = f"an extension is a mapping with one key, its name, not {kind_of(item)}"
            hint = "write `- name: {extend: all, before: [...]}`"
            use.findings.error("BAD_FIELD", message, at=at, hint=hint)
            continue
        ((name, body),) = item.items()
        found.append((name, join(at, name), body))
    return tuple(found)


def check_extensions(reader: DocumentReader) -> None:
    """Report what is wrong with extensions, at the place of their definition."""
    for name, at, body in reader.uses.extensions:
        if not isinstance(body, dict):
            hint = "write {extend: all, before: [...]}"
            reader.error("BAD_FIELD", f"extension {quote(name)} must be a mapping", at, hint)
            continue
        fields = reader.fields(
            body, f"extension {quote(name)}", at, ("extend", "when", "before", "after")
        )
        fields.text("extend", required=f"one of: {', '.join(_KINDS)}")
        fields.choice("extend", _KINDS)
        if body.get("before") is None and body.get("after") is None:
            hint = "write the tasks that are to run"
            reader.error("MISSING_FIELD", f"{fields.owner} has neither before nor after", at, hint)
        _read(name, body, at, replace(reader, extending=True))


def extend(task: Task, kind: str, reader: DocumentReader) -> Task:
    """Return a task with the extensions of the document that are for its kind."""
    if reader.extending:
        return task
    found = []
    for name, _, body in reader.uses.extensions:
        if not isinstance(body, dict) or not _extends(body.get("extend"), kind):
            continue
        reader.uses.calls.append(task.at)
        if len(reader.uses.calls) > _MOST_USES:
            message = f"extensions and functions are used at more than {_MOST_USES} places"
            reader.refuse_call("TOO_LARGE", message, task.at, "extend fewer tasks")
            return task
        inner = reader.within_extension()
        at = join(join(task.at, "extensions"), name)
        found.append(_read(name, body, at, inner))
        for problem in inner.findings.problems:
            if problem.code == "TOO_DEEP":  # the one thing that depends on what is extended
                reader.refuse_call(problem.code, problem.message, task.at, problem.hint)
    return replace(task, extensions=tuple(found)) if found else task


def _extends(extend: Any, kind: str) -> bool:
    return extend in ("all", kind) or (extend == "composite" and kind in _COMPOSITE)


def _read(name: str, body: dict[str, Any], at: str, reader: DocumentReader) -> Extension:
    owner = f"extension {quote(name)}"
    lists = {
        side: reader.tasks(body[side], join(at, side), owner)
        for side in ("before", "after")
        if body.get(side) is not None
    }
    return Extension(
        name=name,
        when=reader.expression(body.get("when"), join(at, "when"), TASK_INPUT),
        before=lists.get("before", ()),
        after=lists.get("after", ()),
    )

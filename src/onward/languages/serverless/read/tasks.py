"""Lists of tasks: the kind of each, what all of them have, and the kinds that need few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote, suggest
from onward.languages.serverless.model import (
    CaseOfSwitch,
    DoTask,
    ForkTask,
    ForTask,
    Function,
    RaiseTask,
    SetTask,
    SwitchTask,
    Task,
    TaskList,
    WaitTask,
)
from onward.languages.serverless.read.calls import read_call
from onward.languages.serverless.read.errors import read_catch, read_error
from onward.languages.serverless.read.events import read_emit, read_listen
from onward.languages.serverless.read.extensions import extend
from onward.languages.serverless.read.reader import (
    DEFINITION,
    TASK_EXPORT,
    TASK_INPUT,
    TASK_OUTPUT,
    DocumentReader,
)
from onward.languages.serverless.read.run import read_run
from onward.languages.serverless.read.task_fields import (
    read_duration,
    read_shaping,
    read_then,
    read_timeout,
)

DIRECTIVES = ("continue", "exit", "end")
LONGEST_POINTER = 1000
"""In bytes: a task's place is its name in every message and in the history."""

DEEPEST_CALL = 10
MOST_CALLS = 2_000
"""A call is replaced by what it calls: functions that call functions could make a huge tree."""

_BASE = ("if", "input", "output", "export", "timeout", "then", "metadata")
_OWN = {
    "call": ("call", "with"),
    "do": ("do",),
    "emit": ("emit",),
    "for": ("for", "while", "do"),
    "fork": ("fork",),
    "listen": ("listen", "foreach"),
    "raise": ("raise",),
    "run": ("run",),
    "set": ("set",),
    "switch": ("switch",),
    "try": ("try", "catch"),
    "wait": ("wait",),
}


def read_list(
    value: Any,
    at: str,
    owner: str,
    reader: DocumentReader,
    *,
    directives: tuple[str, ...] = DIRECTIVES,
) -> TaskList:
    """Return the tasks of a list; `directives` are the words that `then` may hold there."""
    if not isinstance(value, list) or not value:
        what = "an empty list" if value == [] else kind_of(value)
        hint = "write a list of tasks, each `- name: {...}`"
        reader.error("BAD_FIELD", f"{owner} needs a list of tasks, not {what}", at, hint)
        return ()
    pairs = [_name_and_body(item, join(at, index), reader) for index, item in enumerate(value)]
    names = [name for name, _ in pairs if name]
    _check_names(names, at, reader)
    targets = (*directives, *names) if "exit" in directives else directives
    tasks = [
        _task(name, body, join(join(at, index), name), reader, targets)
        for index, (name, body) in enumerate(pairs)
        if name
    ]
    return tuple(task for task in tasks if task is not None)


def _name_and_body(item: Any, at: str, reader: DocumentReader) -> tuple[str, Any]:
    if isinstance(item, dict) and len(item) == 1:
        ((name, body),) = item.items()
        if name:
            return name, body
    found = f"{len(item)} keys" if isinstance(item, dict) else kind_of(item)
    hint = "write `- name: {...}`, one name for each item of the list"
    reader.error(
        "BAD_TASK", f"a task is a mapping with one key, its name; here is {found}", at, hint
    )
    return "", None


def _check_names(names: list[str], at: str, reader: DocumentReader) -> None:
    for index, name in enumerate(names):
        here = join(join(at, index), name)
        if name in names[:index]:
            message = f"two tasks of this list are called {quote(name)}"
            reader.error("DUPLICATE_NAME", message, here, "rename one: `then` could mean either")
        if name in DIRECTIVES:
            message = f"a task cannot be called {quote(name)}: that is where `then` can lead"
            reader.error("BAD_TASK", message, here, "rename it")


def _task(
    name: str, body: Any, at: str, reader: DocumentReader, targets: tuple[str, ...]
) -> Task | None:
    owner = f"task {quote(name)}"
    if len(at.encode()) > LONGEST_POINTER:
        message = f"the place of {owner} is longer than {LONGEST_POINTER} bytes"
        reader.error("TOO_DEEP", message, at, "use shorter names, or nest less")
        return None
    if not isinstance(body, dict):
        hint = f"write one of: {', '.join(_OWN)}"
        reader.error("BAD_TASK", f"{owner} must be a mapping, not {kind_of(body)}", at, hint)
        return None
    kind = _kind(body, owner, at, reader)
    if kind is None:
        return None
    fields = reader.fields(body, owner, at, (*_OWN[kind], *_BASE))
    base = _read_base(name, fields, reader, targets)
    task = _READERS[kind](fields, base, reader, targets)
    return None if task is None else extend(task, kind, reader)


def _kind(body: Mapping[str, Any], owner: str, at: str, reader: DocumentReader) -> str | None:
    found = [kind for kind in _OWN if kind in body]
    if "for" in found and "do" in found:
        found.remove("do")
    if len(found) == 1:
        return found[0]
    if found:
        message = f"{owner} is of several kinds at once: {', '.join(found)}"
        reader.error("BAD_TASK", message, at, "make a task of each")
        return None
    near = [suggest(key, tuple(_OWN)) for key in body if key not in _BASE]
    hint = next(filter(None, near), "") or f"write one of: {', '.join(_OWN)}"
    reader.error("BAD_TASK", f"{owner} does not say what kind of task it is", at, hint)
    return None


def _read_base(
    name: str, fields: Fields, reader: DocumentReader, targets: tuple[str, ...]
) -> dict[str, Any]:
    """Return what every kind of task has."""
    body, at = fields.value, fields.at
    return {
        "at": at,
        "name": name,
        "definition": body,
        "condition": reader.expression(body.get("if"), join(at, "if"), TASK_INPUT),
        "input": read_shaping(fields, "input", "from", reader, TASK_INPUT),
        "output": read_shaping(fields, "output", "as", reader, TASK_OUTPUT),
        "export": read_shaping(fields, "export", "as", reader, TASK_EXPORT),
        "timeout": read_timeout(fields, reader, TASK_INPUT),
        "then": read_then(fields, reader, targets) or "continue",
    }


def _read_do(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task:
    tasks = read_list(fields.value["do"], join(fields.at, "do"), fields.owner, reader)
    return DoTask(**base, tasks=tasks)


def _read_for(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task | None:
    at = join(fields.at, "for")
    inner = fields.inside("for", ("each", "in", "at"))
    each, index = reader.variable(inner, "each", "item"), reader.variable(inner, "at", "index")
    if inner.value.get("in") is None:
        reader.error("MISSING_FIELD", f'{fields.owner} has no "in"', at, "write in: .items")
    items = reader.expression(inner.value.get("in"), join(at, "in"), DEFINITION)
    within = reader.with_names(each, index)
    condition = within.expression(fields.value.get("while"), join(fields.at, "while"), DEFINITION)
    if "do" not in fields.value:
        reader.error("MISSING_FIELD", f'{fields.owner} has no "do"', fields.at, "write its tasks")
        return None
    tasks = read_list(fields.value["do"], join(fields.at, "do"), fields.owner, within)
    if items is None:
        return None
    return ForTask(
        **base, items=items, each=each, index=index, loop_condition=condition, tasks=tasks
    )


def _read_switch(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, targets: tuple[str, ...]
) -> Task:
    at = join(fields.at, "switch")
    cases: list[CaseOfSwitch] = []
    for index, item in enumerate(fields.items("switch")):
        name, body = _name_and_body(item, join(at, index), reader)
        here = join(join(at, index), name)
        if not name:
            continue
        if not isinstance(body, dict):
            reader.error("BAD_FIELD", f"case {quote(name)} must be a mapping", here)
            continue
        inner = reader.fields(body, f"case {quote(name)}", here, ("when", "then"))
        when = reader.expression(body.get("when"), join(here, "when"), DEFINITION)
        if body.get("then") is None:
            hint = "say where it leads: continue, exit, end or a task"
            reader.error("MISSING_FIELD", f'case {quote(name)} has no "then"', here, hint)
        cases.append(
            CaseOfSwitch(name=name, when=when, then=read_then(inner, reader, targets) or "continue")
        )
        if body.get("when") is None and [case.when for case in cases].count(None) > 1:
            reader.error("BAD_FIELD", f"{fields.owner} has two cases without `when`", here)
    if not fields.items("switch"):
        reader.error("BAD_FIELD", f"{fields.owner} has no case", at, "write `- name: {when, then}`")
    return SwitchTask(**base, cases=tuple(cases))


def _read_set(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task:
    value, at = fields.value["set"], join(fields.at, "set")
    if not isinstance(value, dict | str) or not value:
        message = f"{fields.owner} sets {kind_of(value) if value else 'nothing'}"
        reader.error(
            "BAD_FIELD", message, at, "write a mapping with at least one field, or ${ ... }"
        )
    return SetTask(**base, value=reader.template(value, at, DEFINITION))


def _read_raise(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task | None:
    at = join(fields.at, "raise")
    inner = fields.inside("raise", ("error",))
    error = read_error(inner.value.get("error"), join(at, "error"), reader)
    return None if error is None else RaiseTask(**base, error=error)


def _read_wait(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task:
    at = join(fields.at, "wait")
    return WaitTask(**base, duration=read_duration(reader, fields.value["wait"], at, DEFINITION))


def _read_fork(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task:
    at = join(fields.at, "fork")
    inner = fields.inside("fork", ("branches", "compete"))
    branches = read_list(
        inner.value.get("branches"),
        join(at, "branches"),
        fields.owner,
        reader,
        directives=("continue", "end"),
    )
    return ForkTask(**base, branches=branches, compete=inner.flag("compete"))


def _read_try(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, targets: tuple[str, ...]
) -> Task | None:
    tasks = read_list(fields.value["try"], join(fields.at, "try"), fields.owner, reader)
    return read_catch(fields, base, tasks, reader, targets)


def _read_call(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task | None:
    name = fields.value["call"]
    if not isinstance(name, str) or name not in reader.uses.functions:
        return read_call(fields, base, reader)
    at = join(fields.at, "call")
    reader.uses.used.add(("functions", name))
    if name in reader.calling or len(reader.calling) >= DEEPEST_CALL:
        way = " -> ".join((*reader.calling, name))
        message = f"the function {quote(name)} is part of itself, or of too many others: {way}"
        reader.refuse_call("TOO_DEEP", message, at, "let a function end without calling itself")
        return None
    reader.uses.calls.append(at)
    calls = len(reader.uses.calls)
    if calls > MOST_CALLS:
        if calls == MOST_CALLS + 1:
            message = f"functions are called at more than {MOST_CALLS} places, call within call"
            reader.refuse_call("TOO_LARGE", message, at, "call fewer functions from functions")
        return None
    arguments = None
    if fields.value.get("with") is not None:
        at_with = join(fields.at, "with")
        arguments = reader.template(fields.value["with"], at_with, DEFINITION)
    inner = reader.within_function(name)
    task = _task(name, reader.uses.functions[name], join(at, name), inner, DIRECTIVES)
    for problem in inner.findings.problems:
        if problem.code == "TOO_DEEP":  # the one thing that depends on where it is called
            reader.refuse_call(problem.code, problem.message, at, problem.hint)
    return Function(**base, arguments=arguments, tasks=() if task is None else (task,))


def check_function(name: str, reader: DocumentReader) -> None:
    """Report what is wrong with a function, at the place of its definition."""
    at = join("/use/functions", name)
    _task(name, reader.uses.functions[name], at, replace(reader, calling=(name,)), DIRECTIVES)


_READERS: dict[
    str, Callable[[Fields, dict[str, Any], DocumentReader, tuple[str, ...]], Task | None]
] = {
    "call": _read_call,
    "do": _read_do,
    "emit": read_emit,
    "for": _read_for,
    "fork": _read_fork,
    "listen": read_listen,
    "raise": _read_raise,
    "run": read_run,
    "set": _read_set,
    "switch": _read_switch,
    "try": _read_try,
    "wait": _read_wait,
}

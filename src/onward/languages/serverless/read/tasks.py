"""Reading tasks: which kind each is, what all of them have, and where they may lead."""

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
from onward.languages.serverless.read.extensions import extended
from onward.languages.serverless.read.reader import (
    DEFINITION,
    TASK_EXPORT,
    TASK_INPUT,
    TASK_OUTPUT,
    DocumentReader,
)
from onward.languages.serverless.read.run import read_run
from onward.languages.serverless.read.task_fields import read_duration, read_shaping, read_timeout

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
    desk: DocumentReader,
    *,
    directives: tuple[str, ...] = DIRECTIVES,
) -> TaskList:
    """Return the tasks of a list; `directives` are the words that `then` may hold there."""
    if not isinstance(value, list) or not value:
        what = "an empty list" if value == [] else kind_of(value)
        hint = "write a list of tasks, each `- name: {...}`"
        desk.error("BAD_FIELD", f"{owner} needs a list of tasks, not {what}", at, hint)
        return ()
    named = [_named(item, join(at, index), desk) for index, item in enumerate(value)]
    names = [name for name, _ in named if name]
    _check_names(names, at, desk)
    targets = (*directives, *names) if "exit" in directives else directives
    tasks = [
        _task(name, body, join(join(at, index), name), desk, targets)
        for index, (name, body) in enumerate(named)
        if name
    ]
    return tuple(task for task in tasks if task is not None)


def _named(item: Any, at: str, desk: DocumentReader) -> tuple[str, Any]:
    if isinstance(item, dict) and len(item) == 1:
        ((name, body),) = item.items()
        if name:
            return name, body
    found = f"{len(item)} keys" if isinstance(item, dict) else kind_of(item)
    hint = "write `- name: {...}`, one name for each item of the list"
    desk.error("BAD_TASK", f"a task is a mapping with one key, its name; here is {found}", at, hint)
    return "", None


def _check_names(names: list[str], at: str, desk: DocumentReader) -> None:
    for index, name in enumerate(names):
        here = join(join(at, index), name)
        if name in names[:index]:
            message = f"two tasks of this list are called {quote(name)}"
            desk.error("DUPLICATE_NAME", message, here, "rename one: `then` could mean either")
        if name in DIRECTIVES:
            message = f"a task cannot be called {quote(name)}: that is where `then` can lead"
            desk.error("BAD_TASK", message, here, "rename it")


def _task(
    name: str, body: Any, at: str, desk: DocumentReader, targets: tuple[str, ...]
) -> Task | None:
    owner = f"task {quote(name)}"
    if len(at.encode()) > LONGEST_POINTER:
        message = f"the place of {owner} is longer than {LONGEST_POINTER} bytes"
        desk.error("TOO_DEEP", message, at, "use shorter names, or nest less")
        return None
    if not isinstance(body, dict):
        hint = f"write one of: {', '.join(_OWN)}"
        desk.error("BAD_TASK", f"{owner} must be a mapping, not {kind_of(body)}", at, hint)
        return None
    kind = _kind(body, owner, at, desk)
    if kind is None:
        return None
    fields = desk.fields(body, owner, at)
    fields.reject_unknown((*_OWN[kind], *_BASE))
    base = _read_base(name, fields, desk, targets)
    task = _READERS[kind](fields, base, desk, targets)
    return None if task is None else extended(task, kind, desk, read_list)


def _kind(body: Mapping[str, Any], owner: str, at: str, desk: DocumentReader) -> str | None:
    found = [kind for kind in _OWN if kind in body]
    if "for" in found and "do" in found:
        found.remove("do")
    if len(found) == 1:
        return found[0]
    if found:
        message = f"{owner} is of several kinds at once: {', '.join(found)}"
        desk.error("BAD_TASK", message, at, "make a task of each")
        return None
    near = [suggest(key, tuple(_OWN)) for key in body if key not in _BASE]
    hint = next(filter(None, near), "") or f"write one of: {', '.join(_OWN)}"
    desk.error("BAD_TASK", f"{owner} does not say what kind of task it is", at, hint)
    return None


def _read_base(
    name: str, fields: Fields, desk: DocumentReader, targets: tuple[str, ...]
) -> dict[str, Any]:
    """Return what every kind of task has."""
    body, at = fields.value, fields.at
    return {
        "at": at,
        "name": name,
        "definition": body,
        "condition": desk.expression(body.get("if"), join(at, "if"), TASK_INPUT),
        "input": read_shaping(fields, "input", "from", desk, TASK_INPUT),
        "output": read_shaping(fields, "output", "as", desk, TASK_OUTPUT),
        "export": read_shaping(fields, "export", "as", desk, TASK_EXPORT),
        "timeout": read_timeout(fields, desk, TASK_INPUT),
        "then": read_then(fields, desk, targets) or "continue",
    }


def read_then(fields: Fields, desk: DocumentReader, targets: tuple[str, ...]) -> str | None:
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
    desk.error("UNKNOWN_TASK", message, join(fields.at, "then"), hint)
    return None


def _read_do(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task:
    tasks = read_list(fields.value["do"], join(fields.at, "do"), fields.owner, desk)
    return DoTask(**base, tasks=tasks)


def _read_for(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task | None:
    at = join(fields.at, "for")
    inner = desk.fields(fields.mapping("for"), f'{fields.owner}: "for"', at)
    inner.reject_unknown(("each", "in", "at"))
    each, index = desk.variable(inner, "each", "item"), desk.variable(inner, "at", "index")
    if inner.value.get("in") is None:
        desk.error("MISSING_FIELD", f'{fields.owner} has no "in"', at, "write in: .items")
    items = desk.expression(inner.value.get("in"), join(at, "in"), DEFINITION)
    within = desk.with_names(each, index)
    go_on = within.expression(fields.value.get("while"), join(fields.at, "while"), DEFINITION)
    if "do" not in fields.value:
        desk.error("MISSING_FIELD", f'{fields.owner} has no "do"', fields.at, "write its tasks")
        return None
    tasks = read_list(fields.value["do"], join(fields.at, "do"), fields.owner, within)
    if items is None:
        return None
    return ForTask(
        **base, items=items, each=each, index=index, condition_to_go_on=go_on, tasks=tasks
    )


def _read_switch(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, targets: tuple[str, ...]
) -> Task:
    at = join(fields.at, "switch")
    cases: list[CaseOfSwitch] = []
    for index, item in enumerate(fields.items("switch")):
        name, body = _named(item, join(at, index), desk)
        here = join(join(at, index), name)
        if not name:
            continue
        if not isinstance(body, dict):
            desk.error("BAD_FIELD", f"case {quote(name)} must be a mapping", here)
            continue
        inner = desk.fields(body, f"case {quote(name)}", here)
        inner.reject_unknown(("when", "then"))
        when = desk.expression(body.get("when"), join(here, "when"), DEFINITION)
        if body.get("then") is None:
            hint = "say where it leads: continue, exit, end or a task"
            desk.error("MISSING_FIELD", f'case {quote(name)} has no "then"', here, hint)
        cases.append(
            CaseOfSwitch(name=name, when=when, then=read_then(inner, desk, targets) or "continue")
        )
        if body.get("when") is None and [case.when for case in cases].count(None) > 1:
            desk.error("BAD_FIELD", f"{fields.owner} has two cases without `when`", here)
    if not fields.items("switch"):
        desk.error("BAD_FIELD", f"{fields.owner} has no case", at, "write `- name: {when, then}`")
    return SwitchTask(**base, cases=tuple(cases))


def _read_set(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task:
    value, at = fields.value["set"], join(fields.at, "set")
    if not isinstance(value, dict | str) or not value:
        message = f"{fields.owner} sets {kind_of(value) if value else 'nothing'}"
        desk.error("BAD_FIELD", message, at, "write a mapping with at least one field, or ${ ... }")
    return SetTask(**base, value=desk.template(value, at, DEFINITION))


def _read_raise(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task | None:
    at = join(fields.at, "raise")
    inner = desk.fields(fields.mapping("raise"), f'{fields.owner}: "raise"', at)
    inner.reject_unknown(("error",))
    error = read_error(inner.value.get("error"), join(at, "error"), desk)
    return None if error is None else RaiseTask(**base, error=error)


def _read_wait(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task:
    at = join(fields.at, "wait")
    return WaitTask(**base, duration=read_duration(desk, fields.value["wait"], at, DEFINITION))


def _read_fork(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task:
    at = join(fields.at, "fork")
    inner = desk.fields(fields.mapping("fork"), f'{fields.owner}: "fork"', at)
    inner.reject_unknown(("branches", "compete"))
    branches = read_list(
        inner.value.get("branches"),
        join(at, "branches"),
        fields.owner,
        desk,
        directives=("continue", "end"),
    )
    return ForkTask(**base, branches=branches, compete=inner.flag("compete"))


def _read_listen(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task:
    return read_listen(fields, base, desk, read_list)


def _read_try(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, targets: tuple[str, ...]
) -> Task | None:
    tasks = read_list(fields.value["try"], join(fields.at, "try"), fields.owner, desk)
    return read_catch(fields, base, tasks, desk, targets, read_list, read_then)


def _read_call(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task | None:
    name = fields.value["call"]
    if not isinstance(name, str) or name not in desk.uses.functions:
        return read_call(fields, base, desk, read_list)
    at = join(fields.at, "call")
    desk.uses.used.add(("functions", name))
    if name in desk.calling or len(desk.calling) >= DEEPEST_CALL:
        way = " -> ".join((*desk.calling, name))
        message = f"the function {quote(name)} is part of itself, or of too many others: {way}"
        desk.refuse_call("TOO_DEEP", message, at, "let a function end without calling itself")
        return None
    desk.uses.calls.append(at)
    calls = len(desk.uses.calls)
    if calls > MOST_CALLS:
        if calls == MOST_CALLS + 1:
            message = f"functions are called at more than {MOST_CALLS} places, call within call"
            desk.refuse_call("TOO_LARGE", message, at, "call fewer functions from functions")
        return None
    given = fields.value.get("with")
    arguments = None
    if given is not None:
        arguments = desk.template(given, join(fields.at, "with"), DEFINITION)
    inner = desk.within_function(name)
    task = _task(name, desk.uses.functions[name], join(at, name), inner, DIRECTIVES)
    for problem in inner.findings.problems:
        if problem.code == "TOO_DEEP":  # the one thing that depends on where it is called
            desk.refuse_call(problem.code, problem.message, at, problem.hint)
    return Function(**base, arguments=arguments, tasks=() if task is None else (task,))


def check_function(name: str, desk: DocumentReader) -> None:
    """Report what is wrong with a function, at the place of its definition."""
    at = join("/use/functions", name)
    _task(name, desk.uses.functions[name], at, replace(desk, calling=(name,)), DIRECTIVES)


_READERS: dict[
    str, Callable[[Fields, dict[str, Any], DocumentReader, tuple[str, ...]], Task | None]
] = {
    "call": _read_call,
    "do": _read_do,
    "emit": read_emit,
    "for": _read_for,
    "fork": _read_fork,
    "listen": _read_listen,
    "raise": _read_raise,
    "run": read_run,
    "set": _read_set,
    "switch": _read_switch,
    "try": _read_try,
    "wait": _read_wait,
}

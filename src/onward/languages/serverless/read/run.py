"""The task `run`: processes, and other workflows."""

from __future__ import annotations

import re
from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote
from onward.languages.serverless.model import RunTask, Task
from onward.languages.serverless.read.arguments import Arguments
from onward.languages.serverless.read.reader import DEFINITION, DocumentReader
from onward.languages.serverless.read.task_fields import read_duration

_KINDS = ("shell", "script", "container", "workflow")
_SHARED = ("stdin", "arguments", "environment")
_FIELDS = {
    "shell": ("command", *_SHARED),
    "script": ("language", "code", "source", *_SHARED),
    "container": (
        *("image", "name", "command", "ports", "volumes", "lifetime", "pullPolicy"),
        *_SHARED,
    ),
    "workflow": ("namespace", "name", "version", "input"),
}
_RETURNS = ("stdout", "stderr", "code", "all", "none")
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")


def read_run(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task | None:
    """Return what is to be run, or nothing after what is wrong with it was reported."""
    outer = fields.inside("run", (*_KINDS, "await", "return"))
    found = [kind for kind in _KINDS if kind in outer.value]
    if len(found) != 1:
        hint = f"write one of: {', '.join(_KINDS)}"
        reader.error(
            "BAD_FIELD", f"{fields.owner} must say exactly one thing to run", outer.at, hint
        )
        return None
    (kind,) = found
    awaited = True if outer.value.get("await") is None else outer.flag("await")
    returned = outer.choice("return", _RETURNS)
    inner = outer.inside(kind, _FIELDS[kind])
    arguments = Arguments(reader, inner.at)
    _READERS[kind](inner, reader, arguments)
    value = arguments.value
    if kind == "workflow":
        if returned is not None:
            message = f"{fields.owner}: only a process has something to return"
            reader.error("BAD_FIELD", message, join(outer.at, "return"), "leave it out")
    else:
        check_process(inner, reader)
        value |= {name: inner.value[name] for name in _SHARED if inner.value.get(name) is not None}
        value |= {} if returned is None else {"return": returned}
    value["await"] = awaited
    call = arguments.call(base, kind)
    return RunTask(
        **base,
        function=kind,
        arguments=call.arguments,
        secrets=call.secrets,
        awaited=awaited,
    )


def check_process(fields: Fields, reader: DocumentReader) -> None:
    """Report arguments and an environment that no process can have."""
    arguments = fields.value.get("arguments")
    if arguments is not None and not isinstance(arguments, list | str):
        message = f"arguments must be a list, not {kind_of(arguments)}"
        hint = "write arguments: [first, second]"
        reader.error("BAD_FIELD", message, join(fields.at, "arguments"), hint)
    environment = fields.value.get("environment")
    if environment is not None and not isinstance(environment, dict | str):
        message = f"environment must be a mapping, not {kind_of(environment)}"
        reader.error("BAD_FIELD", message, join(fields.at, "environment"), "write NAME: value")


def _shell(fields: Fields, _: DocumentReader, arguments: Arguments) -> None:
    arguments.value["shell"] = fields.text("command", required="write a command") or ""
    arguments.move("/shell", join(fields.at, "command"))


def _script(fields: Fields, reader: DocumentReader, arguments: Arguments) -> None:
    language = fields.text("language", required="write language: python, or js")
    if language is not None and language not in ("python", "js", "javascript"):
        at = join(fields.at, "language")
        reader.unsupported(f"the script language {quote(language)}", at, "use python or js")
    arguments.value["language"] = language
    if fields.value.get("source") is None:
        arguments.value["code"] = fields.text("code", required="write the script") or ""
        return
    if fields.value.get("code") is not None:
        message = f"{fields.owner} has both code and a source"
        reader.error("BAD_FIELD", message, fields.at, "leave one of them out")
    arguments.value["source"] = arguments.resource(fields, "source")


def _container(fields: Fields, reader: DocumentReader, arguments: Arguments) -> None:
    value = arguments.value
    value["image"] = fields.text("image", required="name an image, such as alpine:3") or ""
    value |= {
        name: fields.value[name]
        for name in ("name", "command", "ports", "volumes")
        if fields.value.get(name) is not None
    }
    pull = fields.choice("pullPolicy", ("ifNotPresent", "always", "never"))
    value |= {} if pull is None else {"pull": pull}
    lifetime = fields.inside("lifetime", ("cleanup", "after"))
    cleanup = lifetime.choice("cleanup", ("always", "never", "eventually"))
    value |= {} if cleanup is None else {"cleanup": cleanup}
    if ("after" in lifetime.value) != (cleanup == "eventually"):
        has_after = "after" in lifetime.value
        message = "`after` is only for" if has_after else "there is no `after` for"
        message += " a container that is removed eventually"
        hint = "write lifetime: {cleanup: eventually, after: PT1H}"
        reader.error("BAD_FIELD", message, lifetime.at, hint)
    elif cleanup == "eventually":
        at = join(lifetime.at, "after")
        length = read_duration(reader, lifetime.value["after"], at, DEFINITION)
        if length.fixed_ms is None:
            reader.unsupported("an expression as `after`", at, "write a duration such as PT1H")
        value["after_ms"] = length.fixed_ms


def _workflow(fields: Fields, _: DocumentReader, arguments: Arguments) -> None:
    namespace = fields.text("namespace", required="name the namespace of the other workflow")
    name = fields.text("name", required="name the other workflow")
    arguments.value |= {
        "workflow": f"{namespace}_{name}",
        "version": fields.text("version") or "latest",
        "input": fields.value.get("input"),
    }


_READERS = {"shell": _shell, "script": _script, "container": _container, "workflow": _workflow}

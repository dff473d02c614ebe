"""Reading `run`: processes of their own, and other workflows."""

from __future__ import annotations

import re
from typing import Any

from weft.languages.graph.fields import Fields
from weft.languages.graph.findings import join, kind_of, quote
from weft.languages.serverless.desk import CALL_DEFINITION, Desk
from weft.languages.serverless.model import Run, Task
from weft.languages.serverless.values import Template

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


def read_run(fields: Fields, base: dict[str, Any], desk: Desk, _: tuple[str, ...]) -> Task | None:
    """Return what is to be run, or nothing after what is wrong with it was reported."""
    outer = fields.inside("run", fields.mapping("run"))
    outer.reject_unknown((*_KINDS, "await", "return"))
    found = [kind for kind in _KINDS if kind in outer.value]
    if len(found) != 1:
        hint = f"write one of: {', '.join(_KINDS)}"
        desk.error("BAD_FIELD", f"{fields.owner} says not exactly one thing to run", outer.at, hint)
        return None
    (kind,) = found
    awaited = True if outer.value.get("await") is None else outer.flag("await")
    returned = outer.choice("return", _RETURNS)
    inner = outer.inside(kind, outer.mapping(kind))
    inner.reject_unknown(_FIELDS[kind])
    value = _READERS[kind](inner, desk)
    if kind == "workflow":
        if returned is not None:
            message = f"{fields.owner}: only a process has something to return"
            desk.error("BAD_FIELD", message, join(outer.at, "return"), "leave it out")
    else:
        _check_shared(inner, desk)
        value |= {name: inner.value[name] for name in _SHARED if inner.value.get(name) is not None}
        value |= {} if returned is None else {"return": returned}
    value["await"] = awaited
    template = Template(value, lambda text, at: desk.text(text, inner.at + at, CALL_DEFINITION))
    secrets = tuple(sorted(desk.uses.secrets)) if "secrets" in template.names else ()
    return Run(**base, function=kind, arguments=template, secrets=secrets, awaited=awaited)


def _check_shared(fields: Fields, desk: Desk) -> None:
    arguments = fields.value.get("arguments")
    if arguments is not None and not isinstance(arguments, list | str):
        message = f"arguments must be a list, not {kind_of(arguments)}"
        hint = "write arguments: [first, second]"
        desk.error("BAD_FIELD", message, join(fields.at, "arguments"), hint)
    environment = fields.value.get("environment")
    if environment is not None and not isinstance(environment, dict | str):
        message = f"environment must be a mapping, not {kind_of(environment)}"
        desk.error("BAD_FIELD", message, join(fields.at, "environment"), "write NAME: value")


def _shell(fields: Fields, _: Desk) -> dict[str, Any]:
    return {"shell": fields.text("command", required="write a command") or ""}


def _script(fields: Fields, desk: Desk) -> dict[str, Any]:
    language = fields.text("language", required="write language: python, or js")
    if language is not None and language not in ("python", "js", "javascript"):
        at = join(fields.at, "language")
        desk.unsupported(f"the script language {quote(language)}", at, "use python or js")
    if "source" in fields.value:
        hint = "write the script itself under `code`"
        desk.unsupported("a script in an external resource", join(fields.at, "source"), hint)
        return {"language": language, "code": ""}
    return {"language": language, "code": fields.text("code", required="write the script") or ""}


def _container(fields: Fields, desk: Desk) -> dict[str, Any]:
    value: dict[str, Any] = {
        "image": fields.text("image", required="name an image, such as alpine:3") or ""
    }
    value |= {
        name: fields.value[name]
        for name in ("name", "command", "ports", "volumes")
        if fields.value.get(name) is not None
    }
    pull = fields.choice("pullPolicy", ("ifNotPresent", "always", "never"))
    value |= {} if pull is None else {"pull": pull}
    lifetime = fields.inside("lifetime", fields.mapping("lifetime"))
    lifetime.reject_unknown(("cleanup", "after"))
    cleanup = lifetime.choice("cleanup", ("always", "never", "eventually"))
    if cleanup == "eventually" or "after" in lifetime.value:
        what = "removing a container some time after its end"
        desk.unsupported(what, lifetime.at, "write cleanup: always, or never")
    return {**value, "keep": cleanup == "never"}


def _workflow(fields: Fields, _: Desk) -> dict[str, Any]:
    namespace = fields.text("namespace", required="name the namespace of the other workflow")
    name = fields.text("name", required="name the other workflow")
    return {
        "workflow": f"{namespace}_{name}",
        "version": fields.text("version") or "latest",
        "input": fields.value.get("input"),
    }


_READERS = {"shell": _shell, "script": _script, "container": _container, "workflow": _workflow}

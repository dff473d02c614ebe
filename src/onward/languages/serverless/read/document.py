"""A whole document: from text or a decoded value to a workflow, with every problem at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from onward.errors import DefinitionError
from onward.languages.document.fields import Fields
from onward.languages.document.limits import Source, UnreadableError, check_plain
from onward.languages.document.problems import Findings, Place, join, kind_of, quote
from onward.languages.document.source import read
from onward.languages.serverless.model import Root, ServerlessWorkflow, Task, body_of, lists_of
from onward.languages.serverless.read.authentication import read_authentication
from onward.languages.serverless.read.bundle import Fetched, bundle
from onward.languages.serverless.read.errors import read_error, read_retry
from onward.languages.serverless.read.extensions import check_extensions, read_extensions
from onward.languages.serverless.read.reader import (
    DEFINITION,
    WORKFLOW_INPUT,
    WORKFLOW_OUTPUT,
    DocumentReader,
    Uses,
)
from onward.languages.serverless.read.schedule import read_schedule
from onward.languages.serverless.read.task_fields import read_shaping, read_timeout
from onward.languages.serverless.read.tasks import check_function, read_list

_TOP = ("document", "input", "output", "use", "do", "timeout", "schedule", "evaluate")
_HEAD = ("dsl", "namespace", "name", "version", "title", "summary", "tags", "metadata")
_USES = ("authentications", "errors", "retries", "timeouts", "functions", "secrets")
_LABEL = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")
_VERSION = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
    r"(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def parse(
    text: str | bytes, *, file: str = "", fetched: Fetched | None = None
) -> ServerlessWorkflow:
    """Return the workflow that `text` (JSON or YAML 1.2) holds; `file` names it in errors.

    `fetched` is what it takes from outside, which becomes a part of it. Raises DefinitionError
    with every problem it has.
    """
    return parse_source(read(text, file=file), file=file, fetched=fetched)


def parse_source(
    source: Source, *, file: str = "", fetched: Fetched | None = None
) -> ServerlessWorkflow:
    """Return the workflow of a text that was read already; raises like `parse`."""
    findings = Findings(source.places)
    findings.problems.extend(source.problems)
    value = bundle(source.value, fetched, findings)
    return _finish(value, source.places, findings, file)


def parse_definition(value: Any) -> ServerlessWorkflow:
    """Return the workflow that an already decoded value holds; raises like `parse`."""
    findings = Findings()
    try:
        plain = check_plain(value, findings)
    except UnreadableError as error:
        raise DefinitionError([error.problem]) from None
    return _finish(bundle(plain, None, findings), {}, findings, "")


def _finish(
    value: Any, places: Mapping[str, Place], findings: Findings, file: str
) -> ServerlessWorkflow:
    workflow = _read(value, findings)
    # A component that is used twice is read twice, and is wrong once.
    found = dict.fromkeys(findings.problems)
    in_order = sorted(found, key=lambda p: (p.line or 0, p.column or 0))
    if workflow is None or any(problem.severity == "error" for problem in in_order):
        raise DefinitionError(in_order, file)
    # The order of keys stays: it is the order of the fields that a `set` yields.
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return replace(workflow, source=text.encode(), places=places, warnings=tuple(in_order))


def _read(value: Any, findings: Findings) -> ServerlessWorkflow | None:
    if not isinstance(value, dict):
        message = f"a workflow must be a mapping, not {kind_of(value)}"
        findings.error("BAD_DOCUMENT", message, at="", hint="begin with document: {dsl: 1.0.3}")
        return None
    top = Fields(value, "the workflow", "", findings)
    top.reject_unknown(_TOP)
    head = top.inside("document")
    _check_head(head, findings)
    reader = DocumentReader(
        findings, read_list, _read_uses(top, findings), _is_loose(top, findings)
    )
    schedule = read_schedule(top, reader)
    if "do" not in value:
        hint = "write do: and a list of tasks"
        findings.error("MISSING_FIELD", 'the workflow has no "do"', at="", hint=hint)
        return None
    root = Root(
        at="",
        name=str(head.value.get("name")),
        definition=value,
        input=read_shaping(top, "input", "from", reader, WORKFLOW_INPUT),
        output=read_shaping(top, "output", "as", reader, WORKFLOW_OUTPUT),
        timeout=read_timeout(top, reader, WORKFLOW_INPUT),
        tasks=read_list(value["do"], "/do", "the workflow", reader),
    )
    _check_uses(reader)
    tasks = {task.at: task for task in _all(root)}
    lists = [inner for task in tasks.values() for inner in lists_of(task)]
    return ServerlessWorkflow(
        namespace=str(head.value.get("namespace")),
        name=root.name,
        version=str(head.value.get("version")),
        title=str(head.value.get("title") or ""),
        root=root,
        tasks=tasks,
        beside={
            task.at: {task.name: task.at for task in tasks} for tasks in lists for task in tasks
        },
        following={task.at: following.at for tasks in lists for task, following in pairwise(tasks)},
        value=value,
        schedule=schedule,
    )


def _all(task: Task) -> Iterator[Task]:
    yield task
    for inner in body_of(task):
        yield from _all(inner)


def _check_head(head: Fields, findings: Findings) -> None:
    head.reject_unknown(_HEAD)
    for name in ("namespace", "name"):
        text = head.text(name, required=f"give the workflow a {name}")
        if text is not None and not _LABEL.fullmatch(text):
            message = f"the {name} {quote(text)} is not letters, digits and dashes, 63 at most"
            findings.error("BAD_FIELD", message, at=join(head.at, name))
    for name in ("dsl", "version"):
        text = head.text(name, required="write a semantic version such as '1.0.0', in quotes")
        if text is None:
            continue
        at = join(head.at, name)
        if not _VERSION.fullmatch(text):
            message = f"the {name} {quote(text)} is not a semantic version"
            findings.error("BAD_FIELD", message, at=at, hint="write three numbers, such as 1.0.0")
        elif name == "dsl" and not text.startswith("1.0."):
            message = f"version {text} of the language is not supported"
            findings.error("UNSUPPORTED", message, at=at, hint="write a workflow for 1.0.x")
    for name in ("title", "summary"):
        head.text(name)
    for name in ("tags", "metadata"):
        head.mapping(name)


def _is_loose(top: Fields, findings: Findings) -> bool:
    evaluate = top.inside("evaluate", ("language", "mode"))
    language = evaluate.text("language")
    if language not in (None, "jq"):
        message = f"the expression language {quote(str(language))} is not supported"
        findings.error("UNSUPPORTED", message, at="/evaluate/language", hint="use jq")
    return evaluate.choice("mode", ("strict", "loose")) == "loose"


def _read_uses(top: Fields, findings: Findings) -> Uses:
    fields = top.inside("use", (*_USES, "catalogs", "extensions"))
    _check_catalogs(fields, findings)
    return Uses(
        authentications=fields.mapping("authentications"),
        errors=fields.mapping("errors"),
        retries=fields.mapping("retries"),
        timeouts=fields.mapping("timeouts"),
        functions=fields.mapping("functions"),
        secrets=fields.texts("secrets"),
        extensions=read_extensions(fields),
    )


def _check_catalogs(use: Fields, findings: Findings) -> None:
    catalogs = use.inside("catalogs")
    for name, value in catalogs.value.items():
        at = join(catalogs.at, name)
        if name == "default":
            message = 'the catalog "default" is the runtime\'s own, and this runtime has none'
            findings.error("UNSUPPORTED", message, at=at, hint="give it another name")
        if not isinstance(value, dict):
            message = f"the catalog {quote(name)} must be a mapping, not {kind_of(value)}"
            findings.error("BAD_FIELD", message, at=at, hint="write {endpoint: URL}")
            continue
        fields = Fields(value, f"catalog {quote(name)}", at, findings)
        fields.reject_unknown(("endpoint",))
        endpoint = value.get("endpoint")
        if isinstance(endpoint, dict):
            inner = fields.inside("endpoint", ("uri", "authentication"))
            inner.text("uri", required="write its URL")
            if endpoint.get("authentication") is not None:
                message = "the authentication of a catalog is not supported yet"
                hint = "fetch it yourself, and name it by a file: URL"
                there = join(inner.at, "authentication")
                findings.error("UNSUPPORTED", message, at=there, hint=hint)
        else:
            fields.text("endpoint", required="write its URL")


def _check_uses(reader: DocumentReader) -> None:
    """Read the components that nothing uses as well: a mistake in them is a mistake."""
    uses = reader.uses
    for name in uses.functions:
        check_function(name, reader)
    check_extensions(reader)
    unused = [(kind, name) for kind in _USES[:4] for name in getattr(uses, kind)]
    for kind, name in unused:
        if (kind, name) in uses.used:
            continue
        at = join(join("/use", kind), name)
        match kind:
            case "authentications":
                read_authentication({"use": name}, at, reader, set())
            case "errors":
                read_error(name, at, reader)
            case "retries":
                read_retry(name, at, reader.with_names("error"))
            case _:
                fields = Fields({"timeout": name}, "timeout", "", reader.findings)
                read_timeout(fields, reader, DEFINITION)

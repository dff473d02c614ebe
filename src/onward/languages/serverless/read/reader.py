"""The reader of a document: its findings, the variables in scope, the components of `use`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from onward.errors import ExpressionError
from onward.expressions import compile_jq
from onward.languages.document.fields import Fields
from onward.languages.document.problems import Findings, join, kind_of, quote, suggest
from onward.languages.serverless.model import TaskList
from onward.languages.serverless.templates import (
    ComputedText,
    Expression,
    JsonTemplate,
    expression_in,
)

EVERYWHERE = frozenset({"workflow", "runtime"})
WORKFLOW_INPUT = EVERYWHERE
TASK_INPUT = EVERYWHERE | {"context", "task"}
DEFINITION = TASK_INPUT | {"input", "authorization"}
CALL_DEFINITION = DEFINITION | {"secrets"}
TASK_OUTPUT = DEFINITION
TASK_EXPORT = DEFINITION | {"output"}
WORKFLOW_OUTPUT = EVERYWHERE | {"context"}
KNOWN = CALL_DEFINITION | {"output"}
"""Every variable of the language."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Uses:
    """The reusable components of a document, as written."""

    authentications: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict)
    retries: Mapping[str, Any] = field(default_factory=dict)
    timeouts: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    extensions: tuple[tuple[str, str, Any], ...] = ()
    """Of each: its name, its place, and what is written there."""
    calls: list[str] = field(default_factory=list, compare=False)
    """The places at which functions are called, those inside of functions included."""
    used: set[tuple[str, str]] = field(default_factory=set, compare=False)
    """Which of them, by kind and name, the document refers to."""


ReadList = Callable[[Any, str, str, "DocumentReader"], TaskList]
"""Reads a list of tasks: its value, its place, whose it is, and the reader around it."""


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads parts of a document. Each scope inside it has a reader of its own."""

    findings: Findings
    read_list: ReadList | None = None
    """Reads a list of tasks, wherever one is inside a task; None where there can be none."""
    uses: Uses = field(default_factory=Uses)
    loose: bool = False
    scoped: frozenset[str] = frozenset()
    """Variables that the loops and catches around this place define."""
    calling: tuple[str, ...] = ()
    """The functions that this place is part of, the outermost first."""
    whole: Findings | None = None
    """Inside of a function or an extension: the findings of the document."""
    extending: bool = False
    """Whether this place is part of an extension, which is not extended itself."""

    def with_names(self, *names: str) -> DocumentReader:
        """Return the reader inside a scope with more variables."""
        return replace(self, scoped=self.scoped | set(names))

    def within_function(self, name: str) -> DocumentReader:
        """Return the reader of the task of a function that is called.

        It sees nothing of its caller but its input. What is wrong with it is reported once, where
        it is defined, and not at every call.
        """
        calling = (*self.calling, name)
        whole = self.whole or self.findings
        return replace(self, findings=Findings(), scoped=frozenset(), calling=calling, whole=whole)

    def within_extension(self) -> DocumentReader:
        """Return the reader of the tasks of an extension, which see nothing but their input."""
        whole = self.whole or self.findings
        return replace(self, findings=Findings(), scoped=frozenset(), extending=True, whole=whole)

    def refuse_call(self, code: str, message: str, at: str, hint: str) -> None:
        """Report a problem of functions that call each other, which no definition has alone."""
        (self.whole or self.findings).error(code, message, at=at, hint=hint)

    def fields(
        self, value: Mapping[str, Any], owner: str, at: str, known: tuple[str, ...] | None = None
    ) -> Fields:
        """Return the fields of a mapping, which may have only the `known` ones."""
        fields = Fields(value, owner, at, self.findings)
        if known is not None:
            fields.reject_unknown(known)
        return fields

    def tasks(self, value: Any, at: str, owner: str) -> TaskList:
        """Return the tasks of a list."""
        if self.read_list is None:
            raise TypeError("this reader reads no tasks")
        return self.read_list(value, at, owner, self)

    def error(self, code: str, message: str, at: str, hint: str = "") -> None:
        """Report a problem."""
        self.findings.error(code, message, at=at, hint=hint)

    def unsupported(self, what: str, at: str, hint: str = "") -> None:
        """Report a part of the language that cannot run here."""
        self.error("UNSUPPORTED", f"{what} is not supported yet", at, hint)

    def expression(self, value: Any, at: str, allowed: frozenset[str]) -> Expression | None:
        """Return a property that is an expression, written bare or as ${ ... }."""
        if value is None:
            return None
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, str):
            hint = "write jq, such as .count > 3"
            self.error("BAD_FIELD", f"an expression must be text, not {kind_of(value)}", at, hint)
            return None
        return self._compile(expression_in(value) or value, at, allowed)

    def template(self, value: Any, at: str, allowed: frozenset[str]) -> JsonTemplate:
        """Return a value whose strings may be expressions."""
        return JsonTemplate(value, lambda text, inner: self.text(text, at + inner, allowed))

    def shape(self, value: Any, at: str, allowed: frozenset[str]) -> JsonTemplate | None:
        """Return `from` or `as`: one expression, bare or not, or an object with some inside."""
        if value is None:
            return None
        if isinstance(value, str):
            found = self.expression(value, at, allowed)
            return None if found is None else JsonTemplate(value, lambda text, inner: found)
        if not isinstance(value, dict):
            message = f"an expression or a mapping is needed here, not {kind_of(value)}"
            self.error("BAD_FIELD", message, at)
            return None
        return self.template(value, at, allowed)

    def text(self, text: str, at: str, allowed: frozenset[str]) -> ComputedText | str:
        """Return a text inside a value: an expression if it is one, else the text itself."""
        inner = expression_in(text)
        if inner is not None:
            return self._compile(inner, at, allowed) or text
        if self.loose:
            return self._attempt(text, allowed) or text
        if "${" in text:
            message = "the text holds ${ } but is not an expression from end to end: it stays text"
            hint = 'write the whole text as one expression: ${ "Hello \\(.name)" }'
            self.findings.warning("NOT_AN_EXPRESSION", message, at=at, hint=hint)
        return text

    def variable(self, fields: Fields, name: str, default: str) -> str:
        """Return the name that a document gives to a variable."""
        value = fields.text(name)
        if value is None:
            return default
        at = join(fields.at, name)
        if not _NAME.fullmatch(value):
            message = f"{quote(value)} cannot name a variable"
            hint = "use letters, digits and _, without the $"
            self.error("BAD_FIELD", message, at, hint)
        elif value in KNOWN:
            message = f"{quote(value)} is already a variable of the language"
            self.error("BAD_FIELD", message, at, "choose another name")
        return value

    def _attempt(self, text: str, allowed: frozenset[str]) -> Expression | None:
        """Return a text of a loose document as an expression, if it can be one."""
        try:
            jq = compile_jq(text)
        except ExpressionError:
            return None
        if jq.names - allowed - self.scoped:
            return None
        return Expression(jq, text, loose=True)

    def _compile(self, source: str, at: str, allowed: frozenset[str]) -> Expression | None:
        try:
            jq = compile_jq(source)
        except ExpressionError as problem:
            hint = (
                'put values into text with jq itself: "Hello \\(.name)"' if "${" in source else ""
            )
            self.error("BAD_EXPRESSION", str(problem), at, hint)
            return None
        for name in sorted(jq.names - allowed - self.scoped):
            self._unknown(name, at, allowed)
        return Expression(jq, source)

    def _unknown(self, name: str, at: str, allowed: frozenset[str]) -> None:
        here = sorted(allowed | self.scoped)
        if name == "secrets":
            message = "$secrets is only available in the definition of a call"
            hint = "a secret must not become data: use it in `with`, or in an authentication"
            self.error("UNKNOWN_VARIABLE", message, at, hint)
        elif name in KNOWN:
            message = f"${name} is not available here"
            hint = f"available are: {', '.join('$' + name for name in here)}"
            self.error("UNKNOWN_VARIABLE", message, at, hint)
        else:
            hint = suggest(name, here) or f"available are: {', '.join('$' + name for name in here)}"
            self.error("UNKNOWN_VARIABLE", f"there is no variable ${name} here", at, hint)

"""Every error onward raises, in one tree.

    OnwardError
    ├── DefinitionError     a workflow document is wrong (carries every problem found)
    ├── InputError          a caller's argument, input or file is wrong
    ├── ExpressionError     an expression does not parse, fails, or breaks its limits
    ├── MessageError        a message does not decode or breaks a limit: it goes to quarantine
    │   └── NewerMessageError   it is of a later version: left to a process that knows it
    ├── CredentialError     a credential reference cannot be resolved
    ├── StorageError        the store cannot be opened, is held by another process, or is damaged
    │   └── StorageUnavailableError   it cannot be reached now (also an UnavailableError)
    └── UnavailableError    a service cannot be reached now: trying again may help

A failing *node* is not an exception but a value (`onward.kernel.outcome.Failed`): an exception that
leaves a node is turned into one. What is raised here is always a mistake of the caller or a fault
of the environment, and its text says what is wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


class OnwardError(Exception):
    """The root: catch this to catch everything onward raises on purpose."""


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """One thing wrong with a document, with its place and its remedy."""

    code: str
    message: str
    hint: str = ""
    pointer: str = ""
    line: int | None = None
    column: int | None = None
    severity: Severity = "error"

    def describe(self, file: str = "") -> str:
        """Return the problem as people read it: place, severity, message, code, hint."""
        place = ":".join(str(part) for part in (file, self.line, self.column) if part)
        at = f" at {self.pointer}" if self.pointer else ""
        head = f"{place}: " if place else ""
        tail = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{head}{self.severity}: {self.message}{at} [{self.code}]{tail}"


class DefinitionError(OnwardError):
    """A document cannot be run; `problems` holds every reason at once."""

    def __init__(self, problems: Sequence[DocumentProblem], file: str = "") -> None:
        self.problems = tuple(problems)
        self.file = file
        super().__init__("\n".join(problem.describe(file) for problem in self.problems))


class InputError(OnwardError):
    """A caller's argument, input value or file is wrong."""


class ExpressionError(OnwardError):
    """An expression does not parse, fails on its data, or breaks its limits.

    `code` is one of EXPRESSION_SYNTAX, EXPRESSION_FAILED, EXPRESSION_LIMIT; `pointer` is the place
    of the expression inside the value it was found in (a JSON pointer, "" for the value itself).
    """

    def __init__(self, message: str, *, code: str = "EXPRESSION_FAILED", pointer: str = "") -> None:
        self.code = code
        self.pointer = pointer
        super().__init__(message)


class MessageError(OnwardError):
    """A message does not decode or breaks a limit; retrying it can never help."""


class NewerMessageError(MessageError):
    """A message of a later schema version: a process that knows it can handle it, this one not."""


class CredentialError(OnwardError):
    """A credential reference cannot be resolved; the text never holds a secret."""


class StorageError(OnwardError):
    """The store cannot be opened, is held by another process, or is damaged."""


class UnavailableError(OnwardError):
    """A service cannot be reached or used now; trying again may help."""


class StorageUnavailableError(StorageError, UnavailableError):
    """The store cannot be reached or used now."""


# -- Why something that was asked for is not done, though it was asked for correctly.


class NotThereError(OnwardError):
    """What was named does not exist."""


class StateConflictError(OnwardError):
    """It cannot be done in the state things are in; `code` says which rule stands against it."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


class StaleError(OnwardError):
    """It was changed meanwhile: read it again and decide again."""


class UnsupportedError(OnwardError):
    """This way of running onward has no such thing."""

"""Why something that was asked for is not done, though it was asked for correctly."""

from __future__ import annotations

from onward.errors import OnwardError


class NotThereError(OnwardError):
    """What was named does not exist."""


class ConflictError(OnwardError):
    """It cannot be done in the state things are in; `code` says which rule stands against it."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


class StaleError(OnwardError):
    """It was changed meanwhile: look again and decide again."""


class UnsupportedError(OnwardError):
    """This way of running onward has no such thing."""

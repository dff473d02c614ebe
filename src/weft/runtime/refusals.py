"""Why something that was asked for is not done, though it was asked for correctly."""

from __future__ import annotations

from weft.errors import WeftError


class NotThereError(WeftError):
    """What was named does not exist."""


class ConflictError(WeftError):
    """It cannot be done in the state things are in; `code` says which rule stands against it."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


class StaleError(WeftError):
    """It was changed meanwhile: look again and decide again."""


class UnsupportedError(WeftError):
    """This way of running weft has no such thing."""

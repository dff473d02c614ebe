"""What a client raises: a refusal with all its details, or a server that cannot be reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from onward.errors import OnwardError


class ProblemPlace(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a request, and where."""

    message: str
    pointer: str | None = None
    parameter: str | None = None
    code: str | None = None
    hint: str | None = None
    line: int | None = None
    column: int | None = None

    def describe(self) -> str:
        """Return the place as people read it."""
        at = self.pointer or self.parameter
        head = f"{at}: " if at else ""
        code = f" [{self.code}]" if self.code else ""
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{head}{self.message}{code}{hint}"


class _Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An RFC 9457 body."""

    detail: str = ""
    code: str = ""
    request_id: str = ""
    errors: tuple[ProblemPlace, ...] = ()


class ApiError(OnwardError):
    """A request was refused. `code` tells kinds apart, `errors` name the places and remedies."""

    def __init__(
        self,
        detail: str,
        *,
        status: int = 0,
        code: str = "",
        errors: Sequence[ProblemPlace] = (),
        request_id: str = "",
    ) -> None:
        self.detail = detail
        self.status = status
        self.code = code
        self.errors = tuple(errors)
        self.request_id = request_id
        super().__init__(f"{detail} [{code}]" if code else detail)

    @property
    def pointer(self) -> str | None:
        """Return the first place in the body or document that is wrong."""
        return next((error.pointer for error in self.errors if error.pointer is not None), None)

    @property
    def hint(self) -> str | None:
        """Return the first remedy that is known."""
        return next((error.hint for error in self.errors if error.hint), None)


class DeniedError(ApiError):
    """The caller is not logged in, or may not do this (401, 403)."""


class MissingError(ApiError):
    """What was named does not exist (404)."""


class ConflictError(ApiError):
    """It cannot be done in the state things are in, or it was changed meanwhile (409, 412)."""


class InvalidError(ApiError):
    """The request, the document or the input is wrong (400, 413, 415, 422)."""


class UnreachableError(ApiError):
    """The server cannot be reached, or cannot answer now: trying again may help."""


class RunFailedError(OnwardError):
    """A run ended, but was not completed. `status` and `error` say how; `execution_id` which."""

    def __init__(self, execution_id: str, status: str, error: dict[str, Any] | None) -> None:
        self.execution_id = execution_id
        self.status = status
        self.error = error
        why = f": {error.get('message')} [{error.get('code')}]" if error else ""
        super().__init__(f"run {execution_id} was {status}{why}")


_KINDS: dict[int, type[ApiError]] = {
    400: InvalidError,
    401: DeniedError,
    403: DeniedError,
    404: MissingError,
    409: ConflictError,
    412: ConflictError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
}


def refusal(status: int, body: bytes) -> ApiError:
    """Return what an answer that is not a success means."""
    kind = _KINDS.get(status, UnreachableError if status >= 500 else ApiError)
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return kind(f"the server answered {status}, and not as onward would", status=status)
    return kind(
        problem.detail or f"the server answered {status}",
        status=status,
        code=problem.code,
        errors=problem.errors,
        request_id=problem.request_id,
    )

"""The `http` node: call an endpoint, and which statuses are errors."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.failures import RefusedError
from onward.nodes.http.body import decode_body
from onward.nodes.http.request import build_request
from onward.nodes.http.url import public_url
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpAnswer, HttpRequest, OutsideError

_PATTERN = r"^[1-5](xx|[0-9]{2}(-[1-5][0-9]{2})?)$"
# Only shown in the schema: `check_pattern` says in words what a regular expression cannot.
StatusPattern = (
    Annotated[int, Meta(ge=100, le=599)]
    | Annotated[str, Meta(extra_json_schema={"pattern": _PATTERN})]
)

Scalar = str | int | float | bool | None
_LARGEST_ERROR_BODY = 8 * 1024


# -- patterns of statuses: `404`, `"5xx"`, `"400-499"` --------------------------------------------


def check_pattern(pattern: int | str) -> None:
    """Raise ValueError unless `pattern` holds at least one status."""
    if isinstance(pattern, str) and not re.fullmatch(_PATTERN[1:-1], pattern):
        raise ValueError(
            f"`raise_on_status`: {pattern[:40]!r} is not a status: write 404, '5xx' or '400-499'"
        )
    low, high = _bounds(pattern)
    if low > high:
        raise ValueError(f"`raise_on_status`: {pattern!r} holds no status: write '{high}-{low}'")


def matches_status(pattern: int | str, status: int) -> bool:
    """Return whether `status` is in `pattern`."""
    low, high = _bounds(pattern)
    return low <= status <= high


def _bounds(pattern: int | str) -> tuple[int, int]:
    if isinstance(pattern, int):
        return pattern, pattern
    if pattern.endswith("xx"):
        return int(pattern[0]) * 100, int(pattern[0]) * 100 + 99
    low, _, high = pattern.partition("-")
    return int(low), int(high or low)


# -- the node ------------------------------------------------------------------------------------


class HttpNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call an HTTP endpoint; the output is `{status, headers, body, duration_ms}`.

    An answer of any status is a success unless `raise_on_status` names it: a status, a class such
    as "5xx" or a range such as "400-499". A JSON body is parsed, other text is a string, and
    anything else is base64 with `body_encoding: "base64"` beside it.

    `body`: a string is sent as text, any other value as JSON, or as a form when the content type
    says so; null sends none. `timeout` covers the whole exchange, redirects included; an answer
    that unpacks to more than `max_bytes` is given up.
    """

    url: Annotated[str, Meta(min_length=1, description="an http or https URL")]
    method: Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    query: dict[str, Scalar | list[Scalar]] = {}
    headers: dict[str, Scalar] = {}
    body: Any = None
    timeout: Annotated[float, Meta(gt=0, le=86_400, description="seconds")] = 30.0
    raise_on_status: tuple[StatusPattern, ...] = ()
    verify_tls: bool = True
    follow_redirects: bool = True
    max_bytes: Annotated[int, Meta(ge=1, le=1024**3)] = 10 * 1024 * 1024

    def __post_init__(self) -> None:
        """Refuse a range of statuses that holds none."""
        for pattern in self.raise_on_status:
            check_pattern(pattern)

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Send the request once. Whether to try again is the retry policy's to decide."""
        try:
            request = build_request(
                tools,
                HttpRequest(
                    method=self.method,
                    url=self.url,
                    timeout_s=self.timeout,
                    verify_tls=self.verify_tls,
                    follow_redirects=self.follow_redirects,
                    max_bytes=self.max_bytes,
                ),
                headers=self.headers,
                credential=tools.credentials,
                query=self.query,
                body=self.body,
            )
            answer = await tools.http.send(request)
        except (RefusedError, OutsideError) as problem:
            return self._failed(problem.code, str(problem))
        return self._outcome(answer)

    def _outcome(self, answer: HttpAnswer) -> Succeeded | Failed:
        body, encoding = decode_body(answer.body, answer.headers.get("content-type", ""))
        if any(matches_status(pattern, answer.status) for pattern in self.raise_on_status):
            # An error travels in statuses and contexts, so it carries only a small body.
            shown = {"body": body} if len(answer.body) <= _LARGEST_ERROR_BODY else {}
            message = f"{self.method} {public_url(self.url)} answered {answer.status}"
            return self._failed(f"HTTP_{answer.status}", message, status=answer.status, **shown)
        output: dict[str, Any] = {
            "status": answer.status,
            "headers": dict(answer.headers),
            "body": body,
            "duration_ms": answer.duration_ms,
        }
        if encoding is not None:
            output["body_encoding"] = encoding
        return Succeeded(output)

    def _failed(self, code: str, message: str, **details: Any) -> Failed:
        place = {"method": self.method, "url": public_url(self.url)}
        return Failed(NodeError(message=message, code=code, details={**place, **details}))

"""Credentials in the store: changing and testing them, and finding the workflows that name them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from onward.errors import MessageError, NotThereError, StaleError, StateConflictError
from onward.kernel.json import decode
from onward.kernel.redaction import Redactor
from onward.ports.clock import Clock
from onward.ports.nodes.outside import Greeter, Http, HttpRequest, MailServer, OutsideError
from onward.ports.security.credential_types import TYPES
from onward.ports.security.credentials import Credential, CredentialBook
from onward.runtime.security.audit import note

TRIAL_S = 10.0
TRIAL_BYTES = 64 * 1024
_PORTS = {"none": "25", "starttls": "587", "tls": "465"}
_VERSIONS_PAGE = 200


class CredentialTest(msgspec.Struct, frozen=True, kw_only=True):
    """The result of testing a credential; `detail` holds none of its fields."""

    ok: bool
    detail: str
    status: int | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a workflow that names a credential."""

    workflow_id: str
    version: int
    published: bool
    allowed: bool


class CredentialService:
    """Creates, changes, tests and removes credentials."""

    def __init__(self, book: CredentialBook, http: Http, mail: Greeter, clock: Clock) -> None:
        self._book = book
        self._http = http
        self._mail = mail
        self._clock = clock

    async def known(self, name: str) -> Credential:
        """Return a credential that must exist."""
        found = await self._book.credential(name)
        if found is None:
            raise NotThereError(f"there is no credential called {name}")
        return found

    async def create(
        self,
        name: str,
        kind: str,
        fields: Mapping[str, str],
        workflows: tuple[str, ...] | None,
        by: str,
    ) -> Credential:
        """Store a new credential."""
        now_ms = self._clock.now_ms()
        credential = Credential(
            name=name,
            type=kind,
            workflows=workflows,
            revision=1,
            created_ms=now_ms,
            changed_ms=now_ms,
            changed_by=by,
        )
        if not await self._book.save(credential, fields):
            raise StateConflictError(f"there is a credential called {name}", "CREDENTIAL_EXISTS")
        note(f"credential {name}", None, _public(credential))
        return credential

    async def change(
        self,
        name: str,
        expected: int | None,
        by: str,
        *,
        fields: Mapping[str, str] | None,
        workflows: tuple[str, ...] | None,
    ) -> Credential:
        """Replace the fields, unless None, and who may use it."""
        found = await self._book.open(name)
        if found is None:
            raise NotThereError(f"there is no credential called {name}")
        before, current_fields = found
        after = msgspec.structs.replace(
            before,
            workflows=workflows,
            revision=before.revision + 1,
            changed_ms=self._clock.now_ms(),
            changed_by=by,
        )
        if expected not in (None, before.revision) or not await self._book.save(
            after, current_fields if fields is None else fields
        ):
            raise _stale(name)
        note(f"credential {name}", _public(before), _public(after))
        return after

    async def remove(self, name: str, expected: int | None) -> None:
        """Remove a credential."""
        before = await self.known(name)
        if not await self._book.remove(name, expected):
            raise _stale(name)
        note(f"credential {name}", _public(before), None)

    async def seal_anew(self) -> int:
        """Seal all credentials with the newest key."""
        count = await self._book.seal_anew()
        note("credentials", None, {"sealed_anew": count})
        return count

    async def usage(self, name: str) -> list[Usage]:
        """Return the newest and published versions of workflows whose documents name it."""
        credential = await self.known(name)
        found, after = [], ""
        while page := await self._book.documents(after=after, limit=_VERSIONS_PAGE):
            if len(page) == _VERSIONS_PAGE and page[0].workflow_id != page[-1].workflow_id:
                last = page[-1].workflow_id  # its other version may be on the next page
                page = [version for version in page if version.workflow_id != last]
            found += [
                Usage(
                    workflow_id=version.workflow_id,
                    version=version.number,
                    published=version.published,
                    allowed=credential.workflows is None
                    or version.workflow_id in credential.workflows,
                )
                for version in page
                if name in names_in(version.source)
            ]
            after = page[-1].workflow_id
        return found

    async def test(self, name: str, url: str | None) -> CredentialTest:
        """Test a credential against what it is for, within limits; the result holds no secret."""
        found = await self._book.open(name)
        if found is None:
            raise NotThereError(f"there is no credential called {name}")
        credential, fields = found
        try:
            trial = await self._try(TYPES[credential.type].trial, fields, url)
        except OutsideError as problem:
            trial = CredentialTest(ok=False, detail=str(problem))
        redactor = Redactor([fields])
        return msgspec.structs.replace(trial, detail=str(redactor.redact(trial.detail)))

    async def _try(self, how: str, fields: Mapping[str, str], url: str | None) -> CredentialTest:
        if how == "http":
            if url is None:
                raise StateConflictError(
                    "give the url of something that only this credential opens", "NEEDS_URL"
                )
            answer = await self._http.send(
                HttpRequest(
                    method="GET",
                    url=url,
                    headers=_headers(fields),
                    timeout_s=TRIAL_S,
                    follow_redirects=False,
                    max_bytes=TRIAL_BYTES,
                )
            )
            detail = f"the server answered {answer.status}"
            return CredentialTest(ok=answer.status < 400, detail=detail, status=answer.status)
        if how == "smtp":
            await self._mail.greet(_server(fields))
            return CredentialTest(ok=True, detail="the mail server let us in")
        raise StateConflictError("a credential of this type cannot be tried", "NO_TRIAL")


def names_in(source: bytes) -> set[str]:
    """Return the credentials that a document names, in any of the languages."""
    try:
        document = decode(source)
    except MessageError:
        return set()
    return set(_named(document)) if isinstance(document, dict) else set()


def _named(document: dict[str, Any]) -> Iterator[str]:
    nodes = document.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        named = node.get("credentials") if isinstance(node, dict) else None
        if isinstance(named, str):
            yield named
    use = document.get("use")
    declared = use.get("secrets") if isinstance(use, dict) else None
    yield from (name for name in declared or () if isinstance(name, str))


def _headers(fields: Mapping[str, str]) -> dict[str, str]:
    if "header" in fields:
        return {fields["header"]: fields["value"]}
    if "token" in fields:
        return {"Authorization": f"Bearer {fields['token']}"}
    pair = f"{fields['username']}:{fields['password']}".encode()
    return {"Authorization": f"Basic {b64encode(pair).decode()}"}


def _server(fields: Mapping[str, str]) -> MailServer:
    tls = fields.get("tls", "starttls")
    return MailServer(
        host=fields["host"],
        port=int(fields.get("port") or _PORTS[tls]),
        tls=tls,
        username=fields.get("username"),
        password=fields.get("password"),
        verify_tls=fields.get("verify_tls", "true") == "true",
        timeout_s=TRIAL_S,
    )


def _stale(name: str) -> StaleError:
    return StaleError(
        f"credential {name} was changed meanwhile: get it again and repeat the change"
    )


def _public(credential: Credential) -> dict[str, Any]:
    allowed = credential.workflows
    return {
        "type": credential.type,
        "workflows": sorted(allowed) if allowed is not None else None,
        "revision": credential.revision,
    }

"""Routes of credentials: they go in, can be tried and replaced, and never come out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from onward.api.http.authorization import asker
from onward.api.http.json_route import (
    StrictRoute,
    read_cursor,
    read_if_match,
    write_cursor,
    write_etag,
)
from onward.api.http.parameters import Cursor, Limit
from onward.api.http.problems import RequestRefusedError
from onward.api.security.views import (
    CredentialChange,
    CredentialFieldView,
    CredentialGiven,
    CredentialName,
    CredentialTypeView,
    CredentialView,
    RotatedView,
    TrialGiven,
    TrialView,
    UsageView,
)
from onward.api.views import Page, Place
from onward.api.workflows.routes import IfMatch
from onward.kernel.timestamps import to_iso
from onward.ports.security.credential_types import TYPES, faults
from onward.ports.security.credentials import Credential
from onward.runtime.backend import Backend
from onward.runtime.security.credentials import CredentialService
from onward.runtime.triggers.secrets import TriggerSecrets

Name = Annotated[CredentialName, Path(description="The credential's name.")]


def credential_routes(backend: Backend) -> APIRouter:
    """Return the routes of credentials."""
    at = backend.access
    desk = CredentialService(at.credentials, at.http, at.mail, backend.clock)
    routes = APIRouter(tags=["credentials"], route_class=StrictRoute)
    _add_reading(routes, backend, desk)
    _add_changing(routes, desk)
    _add_rotation(routes, backend, desk)
    return routes


def _add_reading(routes: APIRouter, backend: Backend, desk: CredentialService) -> None:
    @routes.get("/credential-types", summary="List types of credentials")
    async def list_credential_types() -> Page[CredentialTypeView]:
        """The types there are, and the fields of each."""
        views = [
            CredentialTypeView(
                type=kind.name,
                title=kind.title,
                fields=[
                    CredentialFieldView(
                        name=field.name,
                        title=field.title,
                        required=field.required,
                        secret=field.secret,
                        values=list(field.values),
                    )
                    for field in kind.fields
                ],
                open=kind.open,
                trial=kind.trial,
            )
            for kind in TYPES.values()
        ]
        return Page[CredentialTypeView](items=views, next_cursor=None)

    @routes.get("/credentials", summary="List credentials")
    async def list_credentials(limit: Limit = 50, cursor: Cursor = None) -> Page[CredentialView]:
        """Credentials by name, without what is in them."""
        (after,) = read_cursor(cursor, tuple[str]) or ("",)
        if "\0" in after:
            raise RequestRefusedError(422, "BAD_CURSOR", "cursor: it is no cursor of this list")
        found = await backend.access.credentials.credentials(after=after, limit=limit + 1)
        return Page[CredentialView](
            items=[credential_view(one) for one in found[:limit]],
            next_cursor=write_cursor(found[limit - 1].name) if len(found) > limit else None,
        )

    @routes.get("/credentials/{credential}", summary="Get a credential")
    async def get_credential(credential: Name, response: Response) -> CredentialView:
        """What is known of a credential, with its ETag; not what is in it."""
        return _tagged(response, await desk.known(credential))

    @routes.get("/credentials/{credential}/usage", summary="List who names a credential")
    async def list_credential_usage(credential: Name) -> Page[UsageView]:
        """The newest and the published versions of workflows whose documents name it."""
        views = [
            UsageView(
                workflow_id=one.workflow_id,
                version=one.version,
                published=one.published,
                allowed=one.allowed,
            )
            for one in await desk.usage(credential)
        ]
        return Page[UsageView](items=views, next_cursor=None)


def _add_changing(routes: APIRouter, desk: CredentialService) -> None:
    @routes.post("/credentials", status_code=201, summary="Keep a credential")
    async def create_credential(
        given: CredentialGiven, request: Request, response: Response
    ) -> CredentialView:
        """Seal and keep a credential. It can be used at once, by its name."""
        _check(given.type, given.fields)
        made = await desk.create(
            given.name, given.type, given.fields, _names(given.workflows), asker(request).actor
        )
        return _tagged(response, made)

    @routes.put("/credentials/{credential}", summary="Change a credential")
    async def change_credential(
        credential: Name,
        given: CredentialChange,
        request: Request,
        response: Response,
        if_match: IfMatch = None,
    ) -> CredentialView:
        """Replace what is in a credential, and who may use it. Runs that go on use it as it is."""
        expected = read_if_match(if_match)
        if given.fields is not None:
            _check((await desk.known(credential)).type, given.fields)
        changed = await desk.change(
            credential,
            expected,
            asker(request).actor,
            fields=given.fields,
            workflows=_names(given.workflows),
        )
        return _tagged(response, changed)

    @routes.delete("/credentials/{credential}", status_code=204, summary="Delete a credential")
    async def delete_credential(credential: Name, if_match: IfMatch = None) -> Response:
        """Forget a credential. Nodes that name it fail from now on."""
        await desk.remove(credential, read_if_match(if_match))
        return Response(status_code=204)

    @routes.post("/credentials/{credential}:test", summary="Try a credential")
    async def test_credential(credential: Name, given: TrialGiven) -> TrialView:
        """Use a credential once: a GET of `url`, or a greeting of the mail server; 10 s at most."""
        trial = await desk.test(credential, given.url)
        return TrialView(ok=trial.ok, detail=trial.detail, status=trial.status)


def _add_rotation(routes: APIRouter, backend: Backend, desk: CredentialService) -> None:
    secrets = TriggerSecrets(backend.triggers, backend.sealer)

    @routes.post("/credentials:rotate", summary="Seal credentials with the newest key")
    async def rotate_credentials() -> RotatedView:
        """Seal every credential with the newest key; embedded with a key file, with a new one.

        The secrets of webhooks are sealed with the same key, and with them.
        """
        sealed = await desk.seal_anew()
        return RotatedView(sealed_anew=sealed, triggers=await secrets.seal_all())


def _check(kind: str, fields: Mapping[str, str]) -> None:
    known = TYPES.get(kind)
    if known is None:
        message = f"there is no such type: there are {', '.join(TYPES)}"
        places = [Place(message=message, pointer="/type")]
    else:
        places = [
            Place(message=problem, pointer=f"/fields/{name}" if name else "/fields")
            for name, problem in faults(known, fields)
        ]
    if places:
        detail = f"{places[0].pointer}: {places[0].message}"
        raise RequestRefusedError(422, "INVALID_CREDENTIAL", detail, errors=places)


def _names(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(sorted(set(given)))


def _tagged(response: Response, credential: Credential) -> CredentialView:
    response.headers["etag"] = write_etag(credential.revision)
    return credential_view(credential)


def credential_view(credential: Credential) -> CredentialView:
    """Return a credential as the API tells it."""
    return CredentialView(
        name=credential.name,
        type=credential.type,
        workflows=None if credential.workflows is None else list(credential.workflows),
        revision=credential.revision,
        created_at=to_iso(credential.created_ms),
        changed_at=to_iso(credential.changed_ms),
        changed_by=credential.changed_by,
    )

"""Routes of credentials: they go in, can be tried and replaced, and never come out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from onward.api.routing.parameters import (
    Cursor,
    IfMatch,
    Limit,
    next_cursor,
    read_if_match,
    read_text_cursor,
    write_etag,
)
from onward.api.routing.refusals import RequestRefusedError
from onward.api.routing.routes import NO_CONTENT, Call, Reply, Routes, json_reply
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
from onward.kernel.timestamps import to_iso
from onward.ports.security.credential_types import TYPES, faults
from onward.ports.security.credentials import Credential
from onward.runtime.backend import Backend
from onward.runtime.security.credentials import CredentialService
from onward.runtime.triggers.secrets import TriggerSecrets

Name = Annotated[CredentialName, Meta(description="The credential's name.")]


def credential_routes(backend: Backend) -> Routes:
    """Return the routes of credentials."""
    access = backend.access
    service = CredentialService(access.credentials, access.http, access.mail, backend.clock)
    routes = Routes(tags=["credentials"])
    _add_reading(routes, backend, service)
    _add_changing(routes, service)
    _add_rotation(routes, backend, service)
    return routes


def _add_reading(routes: Routes, backend: Backend, service: CredentialService) -> None:
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
        after = read_text_cursor(cursor)
        found = await backend.access.credentials.credentials(after=after, limit=limit + 1)
        return Page[CredentialView](
            items=[credential_view(credential) for credential in found[:limit]],
            next_cursor=next_cursor(found, limit, lambda credential: (credential.name,)),
        )

    @routes.get("/credentials/{credential}", summary="Get a credential", view=CredentialView)
    async def get_credential(credential: Name) -> Reply:
        """What is known of a credential, with its ETag; not what is in it."""
        return _tagged(await service.known(credential))

    @routes.get("/credentials/{credential}/usage", summary="List who names a credential")
    async def list_credential_usage(credential: Name) -> Page[UsageView]:
        """The newest and the published versions of workflows whose documents name it."""
        views = [
            UsageView(
                workflow_id=use.workflow_id,
                version=use.version,
                published=use.published,
                allowed=use.allowed,
            )
            for use in await service.usage(credential)
        ]
        return Page[UsageView](items=views, next_cursor=None)


def _add_changing(routes: Routes, service: CredentialService) -> None:
    @routes.post("/credentials", status=201, summary="Keep a credential", view=CredentialView)
    async def create_credential(given: CredentialGiven, call: Call) -> Reply:
        """Seal and keep a credential. It can be used at once, by its name."""
        _check(given.type, given.fields)
        created = await service.create(
            given.name, given.type, given.fields, _names(given.workflows), call.principal.actor
        )
        return _tagged(created)

    @routes.put("/credentials/{credential}", summary="Change a credential", view=CredentialView)
    async def change_credential(
        credential: Name,
        given: CredentialChange,
        call: Call,
        if_match: IfMatch = None,
    ) -> Reply:
        """Replace what is in a credential, and who may use it. Runs that go on use it as it is."""
        expected = read_if_match(if_match)
        if given.fields is not None:
            _check((await service.known(credential)).type, given.fields)
        changed = await service.change(
            credential,
            expected,
            call.principal.actor,
            fields=given.fields,
            workflows=_names(given.workflows),
        )
        return _tagged(changed)

    @routes.delete("/credentials/{credential}", status=204, summary="Delete a credential")
    async def delete_credential(credential: Name, if_match: IfMatch = None) -> Reply:
        """Forget a credential. Nodes that name it fail from now on."""
        await service.remove(credential, read_if_match(if_match))
        return NO_CONTENT

    @routes.post("/credentials/{credential}:test", summary="Try a credential")
    async def test_credential(credential: Name, given: TrialGiven) -> TrialView:
        """Use a credential once: a GET of `url`, or a greeting of the mail server; 10 s at most."""
        trial = await service.test(credential, given.url)
        return TrialView(ok=trial.ok, detail=trial.detail, status=trial.status)


def _add_rotation(routes: Routes, backend: Backend, service: CredentialService) -> None:
    secrets = TriggerSecrets(backend.triggers, backend.sealer)

    @routes.post("/credentials:rotate", summary="Seal credentials with the newest key")
    async def rotate_credentials() -> RotatedView:
        """Seal every credential with the newest key; embedded with a key file, with a new one.

        The secrets of webhooks are sealed with the same key, and with them.
        """
        sealed = await service.seal_anew()
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


def _tagged(credential: Credential) -> Reply:
    headers = {"etag": write_etag(credential.revision)}
    return json_reply(credential_view(credential), headers=headers)


def credential_view(credential: Credential) -> CredentialView:
    """Return the view of a credential."""
    return CredentialView(
        name=credential.name,
        type=credential.type,
        workflows=None if credential.workflows is None else list(credential.workflows),
        revision=credential.revision,
        created_at=to_iso(credential.created_ms),
        changed_at=to_iso(credential.changed_ms),
        changed_by=credential.changed_by,
    )

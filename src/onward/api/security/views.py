"""What the API takes and tells of users, tokens, logins, credentials and the audit log."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from onward.api.views import Identifier, RequestBody, View
from onward.ports.security.accounts import Role

UserName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9._@+-]{1,100}\Z")]
CredentialName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,100}\Z")]
Password = Annotated[str, Meta(max_length=1000)]
Label = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,100}\Z")]
FieldName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,99}\Z")]
FieldValue = Annotated[str, Meta(max_length=16_384, pattern=r"^[^\x00]*\Z")]
Workflows = Annotated[list[Identifier], Meta(max_length=1000)]
LONGEST_S = 10 * 366 * 24 * 60 * 60


# -- whoever asks --------------------------------------------------------------------------------


class LoginGiven(RequestBody, kw_only=True):
    """A name and a password."""

    name: UserName
    password: Password


class MeView(View, kw_only=True):
    """Who asks. `csrf_token` goes into `X-CSRF-Token` of every change that a browser makes."""

    kind: Literal["local", "operator", "token", "user"]
    name: str
    role: Role
    workflows: Annotated[
        list[str] | None, Meta(description="The only ones it may touch; null: all.")
    ]
    csrf_token: str | None


class PasswordGiven(RequestBody, kw_only=True):
    """A new password, and the one before."""

    current: Password
    password: Password


# -- users and tokens ----------------------------------------------------------------------------


class UserGiven(RequestBody, kw_only=True):
    """A user to make."""

    name: UserName
    role: Role
    password: Annotated[Password, Meta(description="At least 12 characters.")]


class UserChange(RequestBody, kw_only=True):
    """What to change about a user; what is null stays."""

    role: Role | None = None
    enabled: bool | None = None
    password: Password | None = None


class UserView(View, kw_only=True):
    """A person who may log in."""

    name: str
    role: Role
    enabled: bool
    created_at: str
    changed_at: str


class TokenGiven(RequestBody, kw_only=True):
    """A token to make."""

    name: Annotated[Label, Meta(description="What it is for.")]
    role: Role
    workflows: Annotated[
        Workflows | None, Meta(description="The only ones it may touch; null: all of them.")
    ] = None
    expires_in_s: Annotated[
        Annotated[int, Meta(ge=60, le=LONGEST_S)] | None,
        Meta(description="For how long it counts; null: for ever."),
    ] = None


class TokenView(View, kw_only=True):
    """A token, without its secret."""

    token_id: str
    name: str
    role: Role
    workflows: list[str] | None
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    used_at: Annotated[str | None, Meta(description="When it was last used, to a minute.")]
    counts: Annotated[bool, Meta(description="Whether it still opens anything.")]


class NewTokenView(TokenView, kw_only=True):
    """A token with its secret, which is told only now."""

    token: str


# -- credentials ---------------------------------------------------------------------------------


class CredentialFieldView(View, kw_only=True):
    """One field of a type of credentials."""

    name: str
    title: str
    required: bool
    secret: bool
    values: Annotated[list[str], Meta(description="The only values it may have; none: any text.")]


class CredentialTypeView(View, kw_only=True):
    """A type of credentials."""

    type: str
    title: str
    fields: list[CredentialFieldView]
    open: Annotated[bool, Meta(description="Whether it may have other fields too.")]
    trial: Annotated[str, Meta(description="How it can be tried: `http`, `smtp`, or not at all.")]


class CredentialGiven(RequestBody, kw_only=True):
    """A credential to keep."""

    name: CredentialName
    type: str
    fields: Annotated[dict[FieldName, FieldValue], Meta(max_length=50)]
    workflows: Annotated[
        Workflows | None, Meta(description="Those that may use it; null: every one.")
    ] = None


class CredentialChange(RequestBody, kw_only=True):
    """New fields (null: the ones it has), and who may use it."""

    fields: Annotated[dict[FieldName, FieldValue], Meta(max_length=50)] | None = None
    workflows: Annotated[
        Workflows | None, Meta(description="Those that may use it; null: every one.")
    ]


class CredentialView(View, kw_only=True):
    """A credential. What is in it is never told."""

    name: str
    type: str
    workflows: list[str] | None
    revision: int
    created_at: str
    changed_at: str
    changed_by: str


class TrialGiven(RequestBody, kw_only=True):
    """What to try an HTTP credential on: something that only it opens."""

    url: Annotated[str, Meta(pattern=r"^https?://[^\s@]{1,2000}\Z")] | None = None


class TrialView(View, kw_only=True):
    """What came of trying a credential."""

    ok: bool
    detail: str
    status: Annotated[int | None, Meta(description="The HTTP status, if there was one.")]


class UsageView(View, kw_only=True):
    """A version of a workflow that names a credential."""

    workflow_id: str
    version: int
    published: bool
    allowed: Annotated[bool, Meta(description="Whether it may use it.")]


class RotatedView(View, kw_only=True):
    """How many credentials, and how many triggers, are sealed with another key now."""

    sealed_anew: int
    triggers: int


# -- the audit log -------------------------------------------------------------------------------


class AuditView(View, kw_only=True):
    """One change."""

    seq: int
    at: str
    actor: str
    action: str
    target: str
    origin: str
    request_id: str
    before: Annotated[str, Meta(description='A digest of what was there; "" for nothing.')]
    after: Annotated[str, Meta(description='A digest of what is there now; "" for nothing.')]

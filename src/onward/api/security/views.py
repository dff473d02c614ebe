"""What the API takes and tells of users, tokens, logins, credentials and the audit log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from onward.api.views import Identifier, RequestBody
from onward.ports.security.accounts import Role

UserName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9._@+-]{1,100}$")]
CredentialName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
Password = Annotated[str, StringConstraints(max_length=1000)]
Label = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,100}$")]
FieldName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,99}$")]
FieldValue = Annotated[str, StringConstraints(max_length=16_384, pattern=r"^[^\x00]*$")]
Workflows = Annotated[list[Identifier], Field(max_length=1000)]
LONGEST_S = 10 * 366 * 24 * 60 * 60


# -- whoever asks --------------------------------------------------------------------------------


class LoginGiven(RequestBody):
    """A name and a password."""

    name: UserName
    password: Password


class MeView(BaseModel):
    """Who asks. `csrf_token` goes into `X-CSRF-Token` of every change that a browser makes."""

    kind: Literal["local", "operator", "token", "user"]
    name: str
    role: Role
    workflows: list[str] | None = Field(description="The only ones it may touch; null: all.")
    csrf_token: str | None


class PasswordGiven(RequestBody):
    """A new password, and the one before."""

    current: Password
    password: Password


# -- users and tokens ----------------------------------------------------------------------------


class UserGiven(RequestBody):
    """A user to make."""

    name: UserName
    role: Role
    password: Password = Field(description="At least 12 characters.")


class UserChange(RequestBody):
    """What to change about a user; what is null stays."""

    role: Role | None = None
    enabled: bool | None = None
    password: Password | None = None


class UserView(BaseModel):
    """A person who may log in."""

    name: str
    role: Role
    enabled: bool
    created_at: str
    changed_at: str


class TokenGiven(RequestBody):
    """A token to make."""

    name: Label = Field(description="What it is for.")
    role: Role
    workflows: Workflows | None = Field(
        default=None, description="The only ones it may touch; null: all of them."
    )
    expires_in_s: int | None = Field(
        default=None, ge=60, le=LONGEST_S, description="For how long it counts; null: for ever."
    )


class TokenView(BaseModel):
    """A token, without its secret."""

    token_id: str
    name: str
    role: Role
    workflows: list[str] | None
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    used_at: str | None = Field(description="When it was last used, to a minute.")
    counts: bool = Field(description="Whether it still opens anything.")


class NewTokenView(TokenView):
    """A token with its secret, which is told only now."""

    token: str


# -- credentials ---------------------------------------------------------------------------------


class CredentialFieldView(BaseModel):
    """One field of a type of credentials."""

    name: str
    title: str
    required: bool
    secret: bool
    values: list[str] = Field(description="The only values it may have; none: any text.")


class CredentialTypeView(BaseModel):
    """A type of credentials."""

    type: str
    title: str
    fields: list[CredentialFieldView]
    open: bool = Field(description="Whether it may have other fields too.")
    trial: str = Field(description="How it can be tried: `http`, `smtp`, or not at all.")


class CredentialGiven(RequestBody):
    """A credential to keep."""

    name: CredentialName
    type: str
    fields: dict[FieldName, FieldValue] = Field(max_length=50)
    workflows: Workflows | None = Field(
        default=None, description="Those that may use it; null: every one."
    )


class CredentialChange(RequestBody):
    """New fields (null: the ones it has), and who may use it."""

    fields: dict[FieldName, FieldValue] | None = Field(default=None, max_length=50)
    workflows: Workflows | None = Field(description="Those that may use it; null: every one.")


class CredentialView(BaseModel):
    """A credential. What is in it is never told."""

    name: str
    type: str
    workflows: list[str] | None
    revision: int
    created_at: str
    changed_at: str
    changed_by: str


class TrialGiven(RequestBody):
    """What to try an HTTP credential on: something that only it opens."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s@]{1,2000}$")] | None = None


class TrialView(BaseModel):
    """What came of trying a credential."""

    ok: bool
    detail: str
    status: int | None = Field(description="The HTTP status, if there was one.")


class UsageView(BaseModel):
    """A version of a workflow that names a credential."""

    workflow_id: str
    version: int
    published: bool
    allowed: bool = Field(description="Whether it may use it.")


class RotatedView(BaseModel):
    """How many credentials, and how many triggers, are sealed with another key now."""

    sealed_anew: int
    triggers: int


# -- the audit log -------------------------------------------------------------------------------


class AuditView(BaseModel):
    """One change."""

    seq: int
    at: str
    actor: str
    action: str
    target: str
    origin: str
    request_id: str
    before: str = Field(description='A digest of what was there; "" for nothing.')
    after: str = Field(description='A digest of what is there now; "" for nothing.')

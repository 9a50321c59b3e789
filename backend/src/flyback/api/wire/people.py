"""Signing in, API keys, settings and operations on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue

from flyback.api.payloads import Answer, Name, Page, Payload, Time, WholeList
from flyback.services.actor import Right, Role


class SignInGiven(Payload):
    secret: Annotated[str, Field(min_length=1, max_length=200)]


class User(Answer):
    id: str
    name: str
    role: Role


class UserGiven(Payload):
    name: Name
    role: Role = "editor"


class RoleGiven(Payload):
    role: Role


class KnownUser(User):
    created_at: Time


class UserList(WholeList):
    items: list[KnownUser]


class Invitation(Answer):
    user: KnownUser
    secret: str = Field(description="For `/sign-in#secret=…`, once, within a day. Shown here only.")


class SignedInBrowser(Answer):
    id: str
    browser: str = Field(description="What the browser says of itself.")
    created_at: Time
    expires_at: Time
    is_this: bool = Field(description="Whether this call came with it.")


class SessionList(WholeList):
    items: list[SignedInBrowser]


class AuditEntry(Answer):
    at: Time
    actor_id: str
    actor_name: str | None
    action: str
    subject: str
    details: JsonValue


class AuditLog(Page):
    items: list[AuditEntry]


class Session(Answer):
    csrf_token: str | None = Field(
        description="What writing calls of the page send as `X-CSRF-Token`; null for an API key."
    )
    user: User


class ApiKeyGiven(Payload):
    name: Name
    scope: Right | None = Field(default=None, description="What the key is for; null for all that its maker may do.")
    expires_at: AwareDatetime | None = None


class ApiKey(Answer):
    id: str
    name: str
    hint: str = Field(description="Its first characters.")
    scope: Right
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None


class ApiKeyMade(ApiKey):
    key: str = Field(description="Shown once.")


class ApiKeyList(WholeList):
    items: list[ApiKey]


Language = Literal["en", "zh-CN"]


class Limits(Answer):
    max_visits: int = Field(description="Visits a run, at most 50.")
    parallel_nodes: int = Field(description="Nodes of one DAG run that work at once.")


class LimitsGiven(Payload):
    max_visits: Annotated[int, Field(ge=1, le=50)] | None = None
    parallel_nodes: Annotated[int, Field(ge=1, le=64)] | None = None


class Settings(Answer):
    default_model: str = Field(description="The name of the model entry that is used where none is named.")
    language: Language | None = Field(description="Null means the browser's own.")
    limits: Limits
    version: str = Field(description="Of the server.")


class SettingsGiven(Payload):
    """The settings to change; what is missing stays. A null puts the default back."""

    default_model: Name | None = None
    language: Language | None = None
    limits: LimitsGiven | None = None


class Health(Answer):
    status: Literal["ok"]


class ReadyPart(Answer):
    name: str
    ready: bool
    message: str | None


class Readiness(Answer):
    status: Literal["ready", "not_ready"]
    parts: list[ReadyPart]

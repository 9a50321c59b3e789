"""What a person's MCP servers are sent with each call: a token and headers. They go in and never come out.

They belong to the address that they were entered for: a server whose address changes loses them, unless new ones come with
the change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import InvalidError
from flyback.domain.json_value import dumps, loads
from flyback.domain.redaction import Redactor
from flyback.storage import secrets
from flyback.storage.secret_box import SecretBox

MOST_HEADERS = 20

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]{0,8000}")
_OURS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "last-event-id",
        "mcp-protocol-version",
        "mcp-session-id",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that the protocol sets itself."""
_AUTHORIZATION = "authorization"


@dataclass(frozen=True, slots=True)
class Credentials:
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def changed(self, token: str | None, headers: Mapping[str, str] | None) -> Credentials:
        """Return these with what is not None in place of theirs; an empty text or mapping takes away."""
        return Credentials(self.token if token is None else token, self.headers if headers is None else headers)

    @property
    def sent(self) -> Mapping[str, str]:
        """The headers that go with each call."""
        return {**self.headers, "Authorization": f"Bearer {self.token}"} if self.token else self.headers

    @property
    def shown(self) -> JsonValue:
        """What of them people may see."""
        return {"token": bool(self.token), "headers": list(self.headers)}


def check(credentials: Credentials) -> None:
    """Raises InvalidError: a header that cannot be sent."""
    if not _VALUE.fullmatch(credentials.token) or credentials.token != credentials.token.strip():
        raise InvalidError("The token cannot be sent in a header.", field="token", fix="Give the token alone.")
    if len(credentials.headers) > MOST_HEADERS:
        raise InvalidError(f"At most {MOST_HEADERS} headers are sent.", field="headers")
    names = [name.lower() for name in credentials.headers]
    for name, value in credentials.headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _OURS or names.count(name.lower()) > 1:
            fix = "Use a name such as X-Api-Key, once, that the protocol does not set itself."
            raise InvalidError(f"A header {name[:100]!r} cannot be given.", field="headers", fix=fix)
        if not _VALUE.fullmatch(value) or value != value.strip():
            fix = "Give one line of text, without blanks around it."
            raise InvalidError(f"The value of the header {name!r} cannot be sent.", field="headers", fix=fix)
    if credentials.token and _AUTHORIZATION in names:
        fix = "Give the token or the header, not both."
        raise InvalidError("The token is sent as the header 'Authorization'.", field="headers", fix=fix)


class CredentialBox:
    """Seals and opens them. Whoever opens them here has taught them to the redaction."""

    def __init__(self, box: SecretBox, redactor: Redactor) -> None:
        self._box = box
        self._redactor = redactor

    def seal(
        self, conn: Connection, credentials: Credentials, *, secret_id: str, owner_id: str, created_at: str
    ) -> str | None:
        """Store them under this id, which is returned; None where there is nothing to store."""
        if credentials == Credentials():
            return None
        self._learn(credentials)
        text = dumps({"token": credentials.token, "headers": dict(credentials.headers)})
        secrets.put(conn, self._box, text, secret_id=secret_id, owner_id=owner_id, created_at=created_at)
        return secret_id

    def open(self, conn: Connection, owner_id: str, secret_id: str | None) -> Credentials:
        """Raises SecretKeyMissingError."""
        sealed = None if secret_id is None else secrets.find(conn, owner_id, secret_id)
        if sealed is None:
            return Credentials()
        stored = cast("Mapping[str, JsonValue]", loads(sealed.open(self._box)))
        credentials = Credentials(cast("str", stored["token"]), cast("Mapping[str, str]", stored["headers"]))
        self._learn(credentials)
        return credentials

    def _learn(self, credentials: Credentials) -> None:
        self._redactor.learn(*_secret_texts(credentials))


def _secret_texts(credentials: Credentials) -> Sequence[str]:
    return [text for value in credentials.sent.values() for text in (value, *value.split())]

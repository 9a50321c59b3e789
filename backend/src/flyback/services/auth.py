"""Who may come in: the one-time sign-in link, the session it becomes, and API keys.

Authentication is on from the first start, when the first user is made, an administrator. There is no default password, no
signing key and no mode that signs everyone in. Secrets are random, and stored as hashes only.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from sqlalchemy import Connection

from flyback.domain.errors import InvalidError, NotFoundError, UnauthenticatedError
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import Clock, Ids
from flyback.services.actor import Actor, Right, Role, Via
from flyback.services.throttle import Throttle
from flyback.storage import audit
from flyback.storage import auth as stored
from flyback.storage.auth import ApiKeyRow, SessionRow, UserRow
from flyback.storage.database import Database

SESSION_LIFE = timedelta(days=30)
LINK_LIFE = timedelta(hours=24)
_KEY_PREFIX = "fb_"
_HINT_LENGTH = 8
_BROWSER_LENGTH = 200
_PUBLIC_ID_LENGTH = 24
_TOUCH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SignedIn:
    token: str
    """What the cookie holds."""
    actor: Actor


@dataclass(frozen=True, slots=True)
class ShownSession:
    id: str
    row: SessionRow
    is_this: bool
    """Whether the call that asks came with it."""


@dataclass(frozen=True, slots=True)
class MadeKey:
    key: str
    """Shown once."""
    row: ApiKeyRow


class Auth:
    def __init__(self, database: Database, *, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._throttle = Throttle(clock)
        self._touched: dict[str, float] = {}

    async def first_user(self) -> Actor:
        """Return the data folder's first user, who is made at the first start: the actor of the command line."""
        new = UserRow(self._ids.new(), "owner", "admin")

        def work(conn: Connection) -> UserRow:
            if stored.first_user(conn) is None:
                stored.add_user(conn, new, at=self._now())
            return stored.first_user(conn) or new

        user = await self._database.write(work)
        return _actor(user, via="local", credential_id="local", house_id=user.id)

    async def make_link(self, actor: Actor) -> str:
        """Return the secret of a new sign-in link, good for one sign-in within a day."""
        return await self._database.write(lambda conn: self.make_link_in(conn, actor.user_id))

    def make_link_in(self, conn: Connection, user_id: str) -> str:
        """Make a sign-in link for a user in the caller's transaction, and return its secret."""
        secret = secrets.token_urlsafe(32)
        stored.forget_links(conn, before=time_on_wire(self._clock.now() - LINK_LIFE))
        stored.add_link(conn, _hash(secret), user_id, at=self._now())
        return secret

    async def sign_in(self, secret: str, *, client: str, browser: str = "") -> SignedIn:
        """Turn a link's secret into a session. `client` is slowed down where it guesses, `browser` is shown to the person.

        Raises:
            UnauthenticatedError: the link was used, is too old, or never was.
            TooManyError: this client failed too often.
        """
        self._throttle.check(client)
        token, csrf_token = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
        now = self._clock.now()

        def work(conn: Connection) -> tuple[UserRow, str] | None:
            user = stored.use_link(conn, _hash(secret), at=time_on_wire(now), not_before=time_on_wire(now - LINK_LIFE))
            if user is not None:
                times = (time_on_wire(now), time_on_wire(now + SESSION_LIFE))
                row = SessionRow(_hash(token), csrf_token, browser[:_BROWSER_LENGTH], *times, user)
                stored.add_session(conn, row)
            who, what = ("", "sign_in.failed") if user is None else (user.id, "sign_in")
            audit.record(conn, at=time_on_wire(now), actor_id=who, action=what, subject="session")
            return None if user is None else (user, stored.house_of(conn, user.id))

        found = await self._database.write(work)
        if found is None:
            self._throttle.failed(client)
            raise UnauthenticatedError(
                "This sign-in link was used already, is older than a day, or is not complete.",
                fix="Run `flyback sign-in` for a new one.",
            )
        self._throttle.succeeded(client)
        user, house_id = found
        actor = _actor(user, via="session", credential_id=_hash(token), house_id=house_id, csrf_token=csrf_token)
        return SignedIn(token, actor)

    async def sign_out(self, actor: Actor) -> None:
        """End the actor's session. An API key is not ended by it."""
        if actor.via != "session":
            return

        def work(conn: Connection) -> None:
            stored.delete_session(conn, actor.credential_id)
            audit.record(conn, at=self._now(), actor_id=actor.user_id, action="sign_out", subject="session")

        await self._database.write(work)

    async def actor_of_session(self, token: str) -> Actor | None:
        def read(conn: Connection) -> Actor | None:
            row = stored.find_session(conn, _hash(token), at=self._now())
            if row is None:
                return None
            house_id = stored.house_of(conn, row.user.id)
            return _actor(
                row.user, via="session", credential_id=row.token_hash, house_id=house_id, csrf_token=row.csrf_token
            )

        return await self._database.read(read)

    async def actor_of_key(self, key: str) -> Actor | None:
        def read(conn: Connection) -> Actor | None:
            row = stored.find_api_key(conn, _hash(key), at=self._now())
            if row is None:
                return None
            house_id = stored.house_of(conn, row.user.id)
            return _actor(
                row.user, via="api_key", credential_id=row.id, house_id=house_id, scope=cast("Right", row.scope)
            )

        actor = await self._database.read(read)
        if actor is not None:
            await self._touch(actor.credential_id)
        return actor

    async def sessions(self, actor: Actor) -> Sequence[ShownSession]:
        """Return the browsers in which this person is signed in, the newest first."""
        rows = await self._database.read(lambda conn: stored.list_sessions(conn, actor.user_id, at=self._now()))
        return [ShownSession(_public_id(row), row, row.token_hash == actor.credential_id) for row in rows]

    async def end_session(self, actor: Actor, session_id: str) -> None:
        """Raises NotFoundError."""
        _check_keeper(actor)

        def work(conn: Connection) -> None:
            for row in stored.list_sessions(conn, actor.user_id, at=self._now()):
                if _public_id(row) == session_id:
                    stored.delete_session(conn, row.token_hash)
                    audit.record(
                        conn, at=self._now(), actor_id=actor.user_id, action="session.ended", subject=session_id
                    )
                    return
            raise NotFoundError(f"There is no session {session_id!r}.", fix="It may have ended already.")

        await self._database.write(work)

    async def make_key(
        self, actor: Actor, *, name: str, scope: Right | None = None, expires_at: datetime | None = None
    ) -> MadeKey:
        """Make an API key for what the actor may do, or less.

        Raises:
            ForbiddenError: the actor may not do so much.
            InvalidError: the time is past.
        """
        wanted = scope or actor.highest
        actor.check(wanted)
        _check_keeper(actor)
        now = self._clock.now()
        if expires_at is not None and expires_at <= now:
            raise InvalidError("expiresAt: this time is past.", field="expiresAt", fix="Give a time to come, or none.")
        key = _KEY_PREFIX + secrets.token_urlsafe(32)
        row = ApiKeyRow(
            id=self._ids.new(),
            user=UserRow(actor.user_id, actor.name, actor.role),
            name=name,
            hint=key[:_HINT_LENGTH],
            scope=wanted,
            created_at=time_on_wire(now),
            expires_at=None if expires_at is None else time_on_wire(expires_at),
            last_used_at=None,
        )

        def work(conn: Connection) -> None:
            stored.add_api_key(conn, row, _hash(key))
            audit.record(
                conn,
                at=row.created_at,
                actor_id=actor.user_id,
                action="api_key.made",
                subject=row.id,
                details={"name": name, "scope": wanted},
            )

        await self._database.write(work)
        return MadeKey(key, row)

    async def keys(self, actor: Actor) -> Sequence[ApiKeyRow]:
        return await self._database.read(lambda conn: stored.list_api_keys(conn, actor.user_id))

    async def revoke_key(self, actor: Actor, key_id: str) -> None:
        """Raises NotFoundError."""
        _check_keeper(actor)

        def work(conn: Connection) -> None:
            if not stored.delete_api_key(conn, actor.user_id, key_id):
                raise NotFoundError(f"There is no API key {key_id!r}.", fix="It may have been revoked already.")
            audit.record(conn, at=self._now(), actor_id=actor.user_id, action="api_key.revoked", subject=key_id)

        await self._database.write(work)

    async def _touch(self, key_id: str) -> None:
        """Note that a key was used, at most once a minute: it is for people, and not worth a write at every call."""
        now = self._clock.monotonic()
        if now - self._touched.get(key_id, -_TOUCH_SECONDS) < _TOUCH_SECONDS:
            return
        self._touched[key_id] = now
        await self._database.write(lambda conn: stored.touch_api_key(conn, key_id, at=self._now()))

    def _now(self) -> str:
        return time_on_wire(self._clock.now())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _check_keeper(actor: Actor) -> None:
    """A person looks after their own keys and sessions; a key that may only look must not lock its owner out."""
    if actor.via == "api_key":
        actor.check("write")


def _public_id(row: SessionRow) -> str:
    """What a session is called where people see it: enough to end it, and nothing to steal it with."""
    return _hash(row.token_hash)[:_PUBLIC_ID_LENGTH]


def _actor(
    user: UserRow,
    *,
    via: Via,
    credential_id: str,
    house_id: str,
    csrf_token: str | None = None,
    scope: Right = "admin",
) -> Actor:
    return Actor(user.id, user.name, cast("Role", user.role), via, credential_id, csrf_token, scope, house_id)

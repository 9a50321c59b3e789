"""The people of an installation: who is there, in which role, and how they come in.

An administrator adds a person and gets a sign-in link for them. What belongs to a person who is removed stays in the
database, under an owner that nobody is any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection

from flyback.domain.errors import InvalidError, NotFoundError
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import Clock, Ids
from flyback.services.actor import Actor, Role
from flyback.services.auth import Auth
from flyback.services.pages import Page, decode_cursor, page_of
from flyback.storage import audit
from flyback.storage import auth as stored
from flyback.storage.audit import AuditRow
from flyback.storage.auth import UserRow
from flyback.storage.database import Database


@dataclass(frozen=True, slots=True)
class Invited:
    user: UserRow
    secret: str
    """Of a sign-in link, good for one sign-in within a day. Shown once."""


class People:
    """Everything here is for administrators."""

    def __init__(self, database: Database, auth: Auth, *, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._auth = auth
        self._clock = clock
        self._ids = ids

    async def all(self, actor: Actor) -> Sequence[UserRow]:
        actor.check("admin")
        return await self._database.read(stored.list_users)

    async def add(self, actor: Actor, *, name: str, role: Role) -> Invited:
        """Raises InvalidError: somebody of that name is there."""
        actor.check("admin")
        user = UserRow(self._ids.new(), name, role, self._now())

        def work(conn: Connection) -> Invited:
            if not stored.add_user(conn, user, at=user.created_at):
                raise InvalidError(f"Somebody is called {name!r} already.", field="name", fix="Choose another name.")
            self._audit(conn, actor, "user.added", user)
            return Invited(user, self._auth.make_link_in(conn, user.id))

        return await self._database.write(work)

    async def invite(self, actor: Actor, user_id: str) -> Invited:
        """Make another sign-in link for somebody. Raises NotFoundError."""
        actor.check("admin")

        def work(conn: Connection) -> Invited:
            user = _found(conn, user_id)
            self._audit(conn, actor, "user.invited", user)
            return Invited(user, self._auth.make_link_in(conn, user.id))

        return await self._database.write(work)

    async def change_role(self, actor: Actor, user_id: str, role: Role) -> UserRow:
        """Raises NotFoundError, and InvalidError: nobody could administer the house any more."""
        actor.check("admin")

        def work(conn: Connection) -> UserRow:
            user = _found(conn, user_id)
            if role != "admin":
                _keep_an_administrator(conn, user)
            stored.change_role(conn, user_id, role)
            changed = UserRow(user.id, user.name, role, user.created_at)
            self._audit(conn, actor, "user.role_changed", changed)
            return changed

        return await self._database.write(work)

    async def remove(self, actor: Actor, user_id: str) -> None:
        """Remove somebody with their sessions and keys. Raises NotFoundError and InvalidError as above."""
        actor.check("admin")

        def work(conn: Connection) -> None:
            user = _found(conn, user_id)
            if user.id == stored.house_of(conn, user.id):
                raise InvalidError(
                    f"{user.name!r} is the first user, who owns what belongs to the house.",
                    fix="End their sessions and keys instead.",
                )
            _keep_an_administrator(conn, user)
            stored.delete_user(conn, user_id)
            self._audit(conn, actor, "user.removed", user)

        await self._database.write(work)

    async def audit_log(self, actor: Actor, *, cursor: str | None, limit: int) -> Page[AuditRow]:
        """Return what was done, the newest first."""
        actor.check("admin")
        before = None if cursor is None else cast("int", decode_cursor(cursor, int)[0])

        def read(conn: Connection) -> Page[AuditRow]:
            rows = audit.newest(conn, before=before, limit=limit + 1)
            return page_of(rows, audit.count(conn), limit=limit, position=lambda row: (row.number,))

        return await self._database.read(read)

    def _audit(self, conn: Connection, actor: Actor, action: str, user: UserRow) -> None:
        details = {"name": user.name, "role": user.role}
        audit.record(conn, at=self._now(), actor_id=actor.user_id, action=action, subject=user.id, details=details)

    def _now(self) -> str:
        return time_on_wire(self._clock.now())


def _found(conn: Connection, user_id: str) -> UserRow:
    user = stored.find_user(conn, user_id)
    if user is None:
        raise NotFoundError(f"There is no user {user_id!r}.", fix="They may have been removed.")
    return user


def _keep_an_administrator(conn: Connection, without: UserRow) -> None:
    if not any(user.role == "admin" and user.id != without.id for user in stored.list_users(conn)):
        raise InvalidError("Nobody could administer this installation any more.", fix="Make somebody an admin first.")

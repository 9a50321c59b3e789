"""Users, sign-in links, sessions and API keys. Secrets are here as hashes only.

A hash without salt or work factor is enough: every secret is 256 random bits of our own making.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from flyback.storage.tables import api_keys, sessions, sign_in_links, users
from flyback.storage.upsert import insert_unless_there


@dataclass(frozen=True, slots=True)
class UserRow:
    id: str
    name: str
    role: str

    created_at: str = ""


@dataclass(frozen=True, slots=True)
class SessionRow:
    token_hash: str
    csrf_token: str
    client: str
    """What the browser says of itself."""
    created_at: str
    expires_at: str
    user: UserRow


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    id: str
    user: UserRow
    name: str
    hint: str
    scope: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None


def first_user(conn: sa.Connection) -> UserRow | None:
    row = conn.execute(sa.select(users).order_by(users.c.created_at, users.c.id).limit(1)).first()
    return None if row is None else _user_row(row)


def house_of(conn: sa.Connection, user_id: str) -> str:
    """Return the owner of what belongs to the house: the first user, or the one given where none is stored."""
    first = first_user(conn)
    return user_id if first is None else first.id


def list_users(conn: sa.Connection) -> Sequence[UserRow]:
    return [_user_row(row) for row in conn.execute(sa.select(users).order_by(users.c.created_at, users.c.id))]


def find_user(conn: sa.Connection, user_id: str) -> UserRow | None:
    row = conn.execute(sa.select(users).where(users.c.id == user_id)).first()
    return None if row is None else _user_row(row)


def add_user(conn: sa.Connection, user: UserRow, *, at: str) -> bool:
    """Add a user; False where one of that name is there."""
    row = {"id": user.id, "name": user.name, "role": user.role, "created_at": at}
    return insert_unless_there(conn, users, row)


def change_role(conn: sa.Connection, user_id: str, role: str) -> None:
    conn.execute(sa.update(users).where(users.c.id == user_id).values(role=role))


def delete_user(conn: sa.Connection, user_id: str) -> None:
    """Delete a user with every session, key and link. What they made stays, under an owner that nobody is."""
    conn.execute(sa.delete(users).where(users.c.id == user_id))


def add_link(conn: sa.Connection, secret_hash: str, user_id: str, *, at: str) -> None:
    conn.execute(sa.insert(sign_in_links).values(secret_hash=secret_hash, user_id=user_id, created_at=at))


def use_link(conn: sa.Connection, secret_hash: str, *, at: str, not_before: str) -> UserRow | None:
    """Take a link that was never used and is not too old, once and for all. None where there is none."""
    taken = (
        sa.update(sign_in_links)
        .where(
            sign_in_links.c.secret_hash == secret_hash,
            sign_in_links.c.used_at.is_(None),
            sign_in_links.c.created_at >= not_before,
        )
        .values(used_at=at)
        .returning(sign_in_links.c.user_id)
    )
    user_id = conn.execute(taken).scalar_one_or_none()
    return None if user_id is None else _user(conn, user_id)


def forget_links(conn: sa.Connection, *, before: str) -> None:
    conn.execute(sa.delete(sign_in_links).where(sign_in_links.c.created_at < before))


def add_session(conn: sa.Connection, row: SessionRow) -> None:
    """Add a session, and forget those that have ended."""
    conn.execute(sa.delete(sessions).where(sessions.c.expires_at <= row.created_at))
    values = {"token_hash": row.token_hash, "user_id": row.user.id, "csrf_token": row.csrf_token, "client": row.client}
    conn.execute(sa.insert(sessions).values(**values, created_at=row.created_at, expires_at=row.expires_at))


def find_session(conn: sa.Connection, token_hash: str, *, at: str) -> SessionRow | None:
    row = conn.execute(_sessions(at).where(sessions.c.token_hash == token_hash)).first()
    return None if row is None else _session_row(row)


def list_sessions(conn: sa.Connection, user_id: str, *, at: str) -> Sequence[SessionRow]:
    query = _sessions(at).where(sessions.c.user_id == user_id).order_by(sessions.c.created_at.desc())
    return [_session_row(row) for row in conn.execute(query)]


def delete_session(conn: sa.Connection, token_hash: str) -> None:
    conn.execute(sa.delete(sessions).where(sessions.c.token_hash == token_hash))


def add_api_key(conn: sa.Connection, row: ApiKeyRow, key_hash: str) -> None:
    values = {"id": row.id, "user_id": row.user.id, "name": row.name, "key_hash": key_hash, "hint": row.hint}
    values["scope"] = row.scope
    conn.execute(sa.insert(api_keys).values(**values, created_at=row.created_at, expires_at=row.expires_at))


def find_api_key(conn: sa.Connection, key_hash: str, *, at: str) -> ApiKeyRow | None:
    alive = sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > at)
    row = conn.execute(_keys().where(api_keys.c.key_hash == key_hash, alive)).first()
    return None if row is None else _key_row(row)


def list_api_keys(conn: sa.Connection, user_id: str) -> Sequence[ApiKeyRow]:
    query = _keys().where(api_keys.c.user_id == user_id).order_by(api_keys.c.created_at.desc(), api_keys.c.id)
    return [_key_row(row) for row in conn.execute(query)]


def touch_api_key(conn: sa.Connection, key_id: str, *, at: str) -> None:
    conn.execute(sa.update(api_keys).where(api_keys.c.id == key_id).values(last_used_at=at))


def delete_api_key(conn: sa.Connection, user_id: str, key_id: str) -> bool:
    gone = conn.execute(sa.delete(api_keys).where(api_keys.c.user_id == user_id, api_keys.c.id == key_id))
    return gone.rowcount > 0


def _user(conn: sa.Connection, user_id: str) -> UserRow:
    return _user_row(conn.execute(sa.select(users).where(users.c.id == user_id)).one())


def _user_row(row: sa.Row[*tuple[Any, ...]]) -> UserRow:
    return UserRow(row.id, row.name, row.role, row.created_at)


def _sessions(at: str) -> sa.Select[*tuple[Any, ...]]:
    return (
        sa.select(sessions, users.c.name.label("user_name"), users.c.role.label("user_role"))
        .join(users, users.c.id == sessions.c.user_id)
        .where(sessions.c.expires_at > at)
    )


def _session_row(row: sa.Row[*tuple[Any, ...]]) -> SessionRow:
    user = UserRow(row.user_id, row.user_name, row.user_role)
    return SessionRow(row.token_hash, row.csrf_token, row.client, row.created_at, row.expires_at, user)


def _keys() -> sa.Select[*tuple[Any, ...]]:
    return sa.select(api_keys, users.c.name.label("user_name"), users.c.role.label("user_role")).join(
        users, users.c.id == api_keys.c.user_id
    )


def _key_row(row: sa.Row[*tuple[Any, ...]]) -> ApiKeyRow:
    user = UserRow(row.user_id, row.user_name, row.user_role)
    return ApiKeyRow(row.id, user, row.name, row.hint, row.scope, row.created_at, row.expires_at, row.last_used_at)

"""Which run an `Idempotency-Key` names. The row is part of the accepting transaction, so that of two at once one decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from flyback.domain.errors import IdempotencyMismatchError
from flyback.domain.run import RunId
from flyback.domain.wire import time_on_wire
from flyback.storage.tables import idempotency_keys
from flyback.storage.upsert import insert_unless_there

KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    path: str
    key: str
    body_hash: str
    """Of the body as canonical JSON."""


def find(conn: sa.Connection, owner_id: str, key: IdempotencyKey, *, now: datetime) -> RunId | None:
    """Return the run that a key names. Raises IdempotencyMismatchError as `claim` does."""
    alive = idempotency_keys.c.created_at >= time_on_wire(now - KEPT)
    return _named(conn, key, *_place(owner_id, key), alive)


def claim(conn: sa.Connection, owner_id: str, key: IdempotencyKey, run_id: RunId, *, now: datetime) -> RunId | None:
    """Take a key for a new run. Returns the run that it already names, or None where it is ours now.

    A second claim at the same time waits for the first one's commit.

    Raises:
        IdempotencyMismatchError: it names a run that was asked for with another body.
    """
    place = _place(owner_id, key)
    old = idempotency_keys.c.created_at < time_on_wire(now - KEPT)
    conn.execute(sa.delete(idempotency_keys).where(*place, old))
    row = {
        "owner_id": owner_id,
        "path": key.path,
        "key": key.key,
        "body_hash": key.body_hash,
        "run_uuid": run_id,
        "created_at": time_on_wire(now),
    }
    if insert_unless_there(conn, idempotency_keys, row):
        return None
    return _named(conn, key, *place)


def forget_old(conn: sa.Connection, *, now: datetime) -> None:
    """Delete keys whose time is over, of everybody."""
    conn.execute(sa.delete(idempotency_keys).where(idempotency_keys.c.created_at < time_on_wire(now - KEPT)))


def _place(owner_id: str, key: IdempotencyKey) -> Sequence[sa.ColumnElement[bool]]:
    keys = idempotency_keys.c
    return keys.owner_id == owner_id, keys.path == key.path, keys.key == key.key


def _named(conn: sa.Connection, key: IdempotencyKey, *where: sa.ColumnElement[bool]) -> RunId | None:
    keys = idempotency_keys.c
    row = conn.execute(sa.select(keys.body_hash, keys.run_uuid).where(*where)).one_or_none()
    if row is None:
        return None
    if row.body_hash != key.body_hash:
        raise IdempotencyMismatchError(
            f"The Idempotency-Key {key.key!r} was used with another body.",
            field="Idempotency-Key",
            fix="Send the same body again, or a new key.",
        )
    return RunId(row.run_uuid)

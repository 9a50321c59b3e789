"""Sealed secrets by owner. What goes in and out here is sealed; opening is the box's business."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from flyback.storage.secret_box import SecretBox
from flyback.storage.tables import secrets


@dataclass(frozen=True, slots=True)
class SealedSecret:
    id: str
    owner_id: str
    sealed: bytes
    key_id: str

    def open(self, box: SecretBox) -> str:
        """Raises SecretKeyMissingError."""
        return box.unseal(self.sealed, key_id=self.key_id, secret_id=self.id, owner_id=self.owner_id)


def put(conn: sa.Connection, box: SecretBox, text: str, *, secret_id: str, owner_id: str, created_at: str) -> None:
    """Seal and store a new secret."""
    sealed, key_id = box.seal(text, secret_id=secret_id, owner_id=owner_id)
    conn.execute(
        sa.insert(secrets).values(id=secret_id, owner_id=owner_id, sealed=sealed, key_id=key_id, created_at=created_at)
    )


def all_of(conn: sa.Connection, owner_id: str) -> Sequence[SealedSecret]:
    rows = conn.execute(
        sa.select(secrets.c.id, secrets.c.owner_id, secrets.c.sealed, secrets.c.key_id).where(
            secrets.c.owner_id == owner_id
        )
    )
    return [SealedSecret(id=id_, owner_id=owner, sealed=bytes(sealed), key_id=key) for id_, owner, sealed, key in rows]


def find(conn: sa.Connection, owner_id: str, secret_id: str) -> SealedSecret | None:
    query = sa.select(secrets.c.id, secrets.c.owner_id, secrets.c.sealed, secrets.c.key_id)
    row = conn.execute(query.where(secrets.c.owner_id == owner_id, secrets.c.id == secret_id)).one_or_none()
    return None if row is None else SealedSecret(row.id, row.owner_id, bytes(row.sealed), row.key_id)


def delete(conn: sa.Connection, owner_id: str, secret_id: str) -> None:
    conn.execute(sa.delete(secrets).where(secrets.c.owner_id == owner_id, secrets.c.id == secret_id))


def key_ids(conn: sa.Connection) -> set[str]:
    """Return the ids of all keys that stored secrets were sealed with, whoever owns them."""
    return set(conn.execute(sa.select(secrets.c.key_id).distinct()).scalars())


def seal_again(conn: sa.Connection, box: SecretBox) -> int:
    """Seal every secret with the box's newest key, and return how many there are. Raises SecretKeyMissingError."""
    rows = conn.execute(sa.select(secrets.c.id, secrets.c.owner_id, secrets.c.sealed, secrets.c.key_id)).all()
    for row in rows:
        text = SealedSecret(row.id, row.owner_id, bytes(row.sealed), row.key_id).open(box)
        sealed, key_id = box.seal(text, secret_id=row.id, owner_id=row.owner_id)
        conn.execute(sa.update(secrets).where(secrets.c.id == row.id).values(sealed=sealed, key_id=key_id))
    return len(rows)

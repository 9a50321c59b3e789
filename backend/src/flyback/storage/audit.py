"""The audit log: who changed what is security's business, in the transaction that changed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.json_value import dumps, loads
from flyback.storage.tables import audit_log, users


@dataclass(frozen=True, slots=True)
class AuditRow:
    number: int
    actor_id: str
    actor_name: str | None
    """None where they were removed, or nobody was known."""
    action: str
    subject: str
    details: JsonValue
    created_at: str


def record(
    conn: sa.Connection,
    *,
    at: str,
    actor_id: str,
    action: str,
    subject: str,
    details: Mapping[str, JsonValue] | None = None,
) -> None:
    """Note an action such as `api_key.made`. Details never hold a secret."""
    row = {
        "actor_id": actor_id,
        "action": action,
        "subject": subject,
        "details_json": dumps(dict(details or {})),
        "created_at": at,
    }
    conn.execute(sa.insert(audit_log).values(row))


def newest(conn: sa.Connection, *, limit: int, before: int | None = None) -> list[AuditRow]:
    """Return the last entries, or the last below a number."""
    query = sa.select(audit_log, users.c.name).outerjoin(users, users.c.id == audit_log.c.actor_id)
    if before is not None:
        query = query.where(audit_log.c.id < before)
    return [
        AuditRow(row.id, row.actor_id, row.name, row.action, row.subject, loads(row.details_json), row.created_at)
        for row in conn.execute(query.order_by(audit_log.c.id.desc()).limit(limit))
    ]


def count(conn: sa.Connection) -> int:
    return conn.execute(sa.select(sa.func.count()).select_from(audit_log)).scalar_one()

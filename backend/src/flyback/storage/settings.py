"""Settings by owner and name. A setting that is not stored has its default."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.json_value import dumps, loads
from flyback.storage.tables import settings
from flyback.storage.upsert import insert_or_replace


def all_of(conn: sa.Connection, owner_id: str) -> Mapping[str, JsonValue]:
    rows = conn.execute(sa.select(settings.c.name, settings.c.value_json).where(settings.c.owner_id == owner_id))
    return {name: loads(value) for name, value in rows}


def put(conn: sa.Connection, owner_id: str, name: str, value: JsonValue) -> None:
    """Store one setting; null forgets it."""
    if value is None:
        conn.execute(sa.delete(settings).where(settings.c.owner_id == owner_id, settings.c.name == name))
        return
    row = {"owner_id": owner_id, "name": name, "value_json": dumps(value)}
    insert_or_replace(conn, settings, row, key=("owner_id", "name"))

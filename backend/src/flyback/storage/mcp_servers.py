"""MCP servers that agents and tool nodes may use. Only those that are reached over HTTP are rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.json_value import dumps, loads
from flyback.storage.tables import mcp_servers
from flyback.storage.upsert import insert_unless_there


@dataclass(frozen=True, slots=True)
class McpServerRow:
    id: str
    owner_id: str
    name: str
    url: str
    secret_id: str | None
    created_at: str
    updated_at: str


def all_of(conn: sa.Connection, owner_id: str) -> Sequence[McpServerRow]:
    query = sa.select(mcp_servers).where(mcp_servers.c.owner_id == owner_id).order_by(mcp_servers.c.name)
    return [_row(row) for row in conn.execute(query)]


def find(conn: sa.Connection, owner_id: str, server_id: str) -> McpServerRow | None:
    here = (mcp_servers.c.owner_id == owner_id, mcp_servers.c.id == server_id)
    row = conn.execute(sa.select(mcp_servers).where(*here)).first()
    return None if row is None else _row(row)


def called(conn: sa.Connection, owner_id: str, name: str) -> McpServerRow | None:
    """Return the server of this name or id; a name goes before an id."""
    here = (mcp_servers.c.owner_id == owner_id, sa.or_(mcp_servers.c.name == name, mcp_servers.c.id == name))
    query = sa.select(mcp_servers).where(*here).order_by(mcp_servers.c.name != name)
    row = conn.execute(query).first()
    return None if row is None else _row(row)


def settings_of(conn: sa.Connection, owner_id: str, server_id: str) -> Mapping[str, JsonValue]:
    here = (mcp_servers.c.owner_id == owner_id, mcp_servers.c.id == server_id)
    text = conn.execute(sa.select(mcp_servers.c.settings_json).where(*here)).scalar_one_or_none()
    read = loads(text) if text is not None else None
    return read if isinstance(read, dict) else {}


def keep_settings(conn: sa.Connection, owner_id: str, server_id: str, values: Mapping[str, JsonValue]) -> None:
    """Keep settings of a server beside those that it has."""
    here = (mcp_servers.c.owner_id == owner_id, mcp_servers.c.id == server_id)
    kept = dumps({**settings_of(conn, owner_id, server_id), **values})
    conn.execute(sa.update(mcp_servers).where(*here).values(settings_json=kept))


def insert(conn: sa.Connection, row: McpServerRow) -> bool:
    """Add a server. False where the owner has one of that name already."""
    values = {"id": row.id, "owner_id": row.owner_id, "name": row.name, "url": row.url, "secret_id": row.secret_id}
    times = {"created_at": row.created_at, "updated_at": row.updated_at}
    return insert_unless_there(conn, mcp_servers, {**values, **times})


def update(conn: sa.Connection, row: McpServerRow) -> None:
    """Store a server's new address and secret."""
    here = (mcp_servers.c.owner_id == row.owner_id, mcp_servers.c.id == row.id)
    changed = {"url": row.url, "secret_id": row.secret_id, "updated_at": row.updated_at}
    conn.execute(sa.update(mcp_servers).where(*here).values(changed))


def delete(conn: sa.Connection, owner_id: str, server_id: str) -> None:
    conn.execute(sa.delete(mcp_servers).where(mcp_servers.c.owner_id == owner_id, mcp_servers.c.id == server_id))


def _row(row: sa.Row[*tuple[Any, ...]]) -> McpServerRow:
    return McpServerRow(row.id, row.owner_id, row.name, row.url, row.secret_id, row.created_at, row.updated_at)

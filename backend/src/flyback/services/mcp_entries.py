"""The MCP servers as runs find them: the operator's, then those that were added for the house, each with its pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.providers.mcp.servers import HttpServer, McpServer, Pins, Shown
from flyback.services.mcp_credentials import CredentialBox, Credentials
from flyback.storage import mcp_servers as stored
from flyback.storage import settings
from flyback.storage.auth import house_of
from flyback.storage.database import Database
from flyback.storage.mcp_servers import McpServerRow

_PINS_OF = "mcpTools:"
"""Before the id of a server of the operator: what was accepted of it is a setting of the owner."""
_SHOWN_OF = "mcpShown:"
"""Likewise: what a person was shown of it."""
_APPROVAL_OF = "mcpApproval:"
"""Likewise: before which of its tools the owner wants to be asked, beside those that the file names."""


class StoredServers:
    def __init__(self, database: Database, operators: Sequence[McpServer], credentials: CredentialBox) -> None:
        self._database = database
        self._credentials = credentials
        self.operators = operators

    async def find(self, name: str, *, owner_id: str) -> McpServer | None:
        """Raises SecretKeyMissingError: what it is sent with each call cannot be opened."""

        def read(conn: Connection) -> McpServer | None:
            house_id = house_of(conn, owner_id)
            for server in self.operators:
                if name in (server.name, server.id):
                    return replace(server, approval=approval_of_operators(conn, house_id, server))
            row = stored.called(conn, house_id, name)
            if row is None:
                return None
            credentials = self._credentials.open(conn, house_id, row.secret_id)
            return server_of(row, credentials, approval_of(conn, row))

        return await self._database.read(read)

    async def pins(self, server: McpServer, *, owner_id: str) -> Pins | None:
        def read(conn: Connection) -> Pins | None:
            house_id = house_of(conn, owner_id)
            if server.of_operator:
                return _pins(settings.all_of(conn, house_id).get(_PINS_OF + server.id))
            return _pins(stored.settings_of(conn, house_id, server.id).get("tools"))

        return await self._database.read(read)

    async def pin(self, server: McpServer, pins: Pins, shown: Shown, *, owner_id: str) -> None:
        value: JsonValue = dict(pins)
        seen: JsonValue = dict(shown)

        def work(conn: Connection) -> None:
            house_id = house_of(conn, owner_id)
            if server.of_operator:
                settings.put(conn, house_id, _PINS_OF + server.id, value)
                settings.put(conn, house_id, _SHOWN_OF + server.id, seen)
            else:
                stored.keep_settings(conn, house_id, server.id, {"tools": value, "shown": seen})

        await self._database.write(work)

    async def shown(self, server: McpServer, *, owner_id: str) -> Shown:
        def read(conn: Connection) -> Shown:
            house_id = house_of(conn, owner_id)
            if server.of_operator:
                kept = settings.all_of(conn, house_id).get(_SHOWN_OF + server.id)
            else:
                kept = stored.settings_of(conn, house_id, server.id).get("shown")
            return kept if isinstance(kept, Mapping) else {}

        return await self._database.read(read)


def server_of(row: McpServerRow, credentials: Credentials, approval: Sequence[str]) -> McpServer:
    at = HttpServer(row.url, credentials.sent)
    return McpServer(row.id, row.name, at, of_operator=False, approval=approval)


def approval_of(conn: Connection, row: McpServerRow) -> Sequence[str]:
    """The tools of a server before which its owner wants to be asked."""
    return _names(stored.settings_of(conn, row.owner_id, row.id).get("approval"))


def approval_of_operators(conn: Connection, owner_id: str, server: McpServer) -> Sequence[str]:
    """Those that the file names, and those that the owner adds."""
    added = _names(settings.all_of(conn, owner_id).get(_APPROVAL_OF + server.id))
    return list(dict.fromkeys([*server.approval, *added]))


def keep_approval_of_operators(conn: Connection, owner_id: str, server: McpServer, tools: Sequence[str]) -> None:
    settings.put(conn, owner_id, _APPROVAL_OF + server.id, list(tools) or None)


def _names(value: JsonValue) -> Sequence[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _pins(value: JsonValue) -> Pins | None:
    if not isinstance(value, Mapping):
        return None
    return {name: str(said) for name, said in value.items()}

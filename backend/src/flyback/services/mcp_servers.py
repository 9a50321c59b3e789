"""MCP servers: made, listed and deleted here. Nothing is connected to until a run or a person asks for its tools.

Those of the operator's file stand before the others; they are not changed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import urlsplit

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import InvalidError, NotFoundError
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import Clock, Ids, Tool
from flyback.providers.mcp.servers import HttpServer, McpServer
from flyback.providers.mcp.tools import McpTools
from flyback.services.actor import Actor
from flyback.services.mcp_credentials import CredentialBox, Credentials, check
from flyback.services.mcp_entries import approval_of_operators, keep_approval_of_operators
from flyback.storage import audit, secrets
from flyback.storage import mcp_servers as stored
from flyback.storage.database import Database
from flyback.storage.mcp_servers import McpServerRow


@dataclass(frozen=True, slots=True)
class McpServerView:
    """A server as people see it. One of the operator has no times; where it is a program, it has no address."""

    id: str
    name: str
    url: str
    of_operator: bool
    has_token: bool
    header_names: Sequence[str]
    approval: Sequence[str]
    """The tools before which a person is asked; `*` stands for all."""
    created_at: str | None
    updated_at: str | None


@dataclass(frozen=True, slots=True)
class ToolsShown:
    tools: Sequence[Tool]
    hash: str
    """What they are accepted by, exactly as they were shown."""


@dataclass(frozen=True, slots=True)
class McpServerChange:
    """What is to be different; None stays as it is."""

    url: str | None = None
    token: str | None = None
    """An empty text takes it away."""
    headers: Mapping[str, str] | None = None
    """All of them, in place of those that there are."""
    approval: Sequence[str] | None = None


class McpServers:
    def __init__(
        self,
        database: Database,
        tools: McpTools,
        *,
        operators: Sequence[McpServer],
        credentials: CredentialBox,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._database = database
        self._tools = tools
        self._credentials = credentials
        self._operators = operators
        self._clock = clock
        self._ids = ids

    async def all(self, actor: Actor) -> Sequence[McpServerView]:
        def work(conn: Connection) -> list[McpServerView]:
            operators = [_of_operator(conn, actor, server) for server in self._operators]
            return [*operators, *(_view(conn, row) for row in stored.all_of(conn, actor.house))]

        return await self._database.read(work)

    async def get(self, actor: Actor, server_id: str) -> McpServerView:
        """Raises NotFoundError."""

        def work(conn: Connection) -> McpServerView:
            operators = self._of_operator(server_id)
            return _of_operator(conn, actor, operators) if operators else _view(conn, _found(conn, actor, server_id))

        return await self._database.read(work)

    async def tools(self, actor: Actor, server_id: str) -> ToolsShown:
        """Connect to a server and ask for its tools. The first who asks accepts what there is.

        Raises:
            NotFoundError: there is no such server.
            NodeError: it cannot be asked.
        """
        await self.get(actor, server_id)
        return ToolsShown(*await self._tools.shown(server_id, owner_id=actor.house))

    async def accept_tools(self, actor: Actor, server_id: str, shown: str) -> ToolsShown:
        """Accept the tools of a server as they were shown, by their hash.

        Raises:
            NotFoundError, NodeError: as `tools`.
            InvalidError: they have changed again since.
        """
        await self.get(actor, server_id)
        await self._tools.accept(server_id, shown, owner_id=actor.house)
        at = time_on_wire(self._clock.now())

        def record(conn: Connection) -> None:
            audit.record(conn, at=at, actor_id=actor.user_id, action="mcp_server.tools_accepted", subject=server_id)

        await self._database.write(record)
        return await self.tools(actor, server_id)

    async def add(
        self,
        actor: Actor,
        *,
        name: str,
        url: str,
        credentials: Credentials | None = None,
        approval: Sequence[str] = (),
    ) -> McpServerView:
        """Add a server that is reached over HTTP.

        Raises:
            InvalidError: the address is none of http or https, the name is taken, or a header cannot be sent.
        """
        credentials = credentials or Credentials()
        _check_url(url)
        check(credentials)
        now = time_on_wire(self._clock.now())
        row = McpServerRow(self._ids.new(), actor.house, name, url, None, now, now)

        def work(conn: Connection) -> McpServerView:
            if any(name == server.name for server in self._operators) or not stored.insert(conn, row):
                raise InvalidError(
                    f"There is an MCP server {name!r} already.", field="name", fix="Choose another name."
                )
            kept = self._keep(conn, row, credentials, {"approval": list(approval)})
            audit.record(conn, at=now, actor_id=actor.user_id, action="mcp_server.added", subject=row.id)
            return _view(conn, kept)

        return await self._database.write(work)

    async def change(self, actor: Actor, server_id: str, change: McpServerChange) -> McpServerView:
        """Change a server. One whose address changes is another one: it loses its token, its headers and what was
        accepted of its tools. Of a server of the operator only the approval is changed here.

        Raises:
            NotFoundError, InvalidError.
        """
        if change.url is not None:
            _check_url(change.url)
        now = time_on_wire(self._clock.now())
        of_operator = self._of_operator(server_id)
        if of_operator is not None and (change.url, change.token, change.headers) != (None, None, None):
            raise _only_in_the_file("The operator changes it in the file there.")

        def work(conn: Connection) -> McpServerView:
            audit.record(conn, at=now, actor_id=actor.user_id, action="mcp_server.changed", subject=server_id)
            if of_operator is not None:
                if change.approval is not None:
                    keep_approval_of_operators(conn, actor.house, of_operator, change.approval)
                return _of_operator(conn, actor, of_operator)
            row = replace(_found(conn, actor, server_id), updated_at=now)
            moved = change.url is not None and change.url != row.url
            before = Credentials() if moved else self._credentials.open(conn, actor.house, row.secret_id)
            credentials = before.changed(change.token, change.headers)
            check(credentials)
            settings: dict[str, JsonValue] = {"tools": None} if moved else {}
            if change.approval is not None:
                settings["approval"] = list(change.approval)
            return _view(conn, self._keep(conn, replace(row, url=change.url or row.url), credentials, settings))

        return await self._database.write(work)

    async def delete(self, actor: Actor, server_id: str) -> None:
        """Raises NotFoundError, and InvalidError for a server of the operator."""
        if self._of_operator(server_id) is not None:
            raise _only_in_the_file("The operator takes it out of the file there.")

        def work(conn: Connection) -> None:
            row = _found(conn, actor, server_id)
            stored.delete(conn, actor.house, server_id)
            if row.secret_id is not None:
                secrets.delete(conn, actor.house, row.secret_id)
            at = time_on_wire(self._clock.now())
            audit.record(conn, at=at, actor_id=actor.user_id, action="mcp_server.deleted", subject=server_id)

        await self._database.write(work)

    def _of_operator(self, server_id: str) -> McpServer | None:
        return next((server for server in self._operators if server.id == server_id), None)

    def _keep(
        self, conn: Connection, row: McpServerRow, credentials: Credentials, settings: Mapping[str, JsonValue]
    ) -> McpServerRow:
        """Store a server's address, what it is sent, and its settings."""
        if row.secret_id is not None:
            secrets.delete(conn, row.owner_id, row.secret_id)
        secret_id = self._credentials.seal(
            conn, credentials, secret_id=self._ids.new(), owner_id=row.owner_id, created_at=row.updated_at
        )
        kept = replace(row, secret_id=secret_id)
        stored.update(conn, kept)
        stored.keep_settings(conn, row.owner_id, row.id, {**settings, "sends": credentials.shown})
        return kept


def _view(conn: Connection, row: McpServerRow) -> McpServerView:
    settings = stored.settings_of(conn, row.owner_id, row.id)
    sends = cast("Mapping[str, JsonValue]", settings.get("sends") or {})
    return McpServerView(
        row.id,
        row.name,
        row.url,
        of_operator=False,
        has_token=sends.get("token") is True,
        header_names=cast("Sequence[str]", sends.get("headers") or ()),
        approval=cast("Sequence[str]", settings.get("approval") or ()),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _of_operator(conn: Connection, actor: Actor, server: McpServer) -> McpServerView:
    at = server.at if isinstance(server.at, HttpServer) else None
    return McpServerView(
        server.id,
        server.name,
        at.url if at is not None else "",
        of_operator=True,
        has_token=False,
        header_names=list(at.headers) if at is not None else (),
        approval=approval_of_operators(conn, actor.house, server),
        created_at=None,
        updated_at=None,
    )


def _only_in_the_file(fix: str) -> InvalidError:
    return InvalidError("This MCP server is named in the operator's file.", fix=fix)


def _found(conn: Connection, actor: Actor, server_id: str) -> McpServerRow:
    row = stored.find(conn, actor.house, server_id)
    if row is None:
        raise NotFoundError(f"There is no MCP server {server_id!r}.", fix="See those that there are.")
    return row


def _check_url(url: str) -> None:
    fix = "Give an address such as https://tools.example.org/mcp, without user and password."
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        )
    except ValueError:
        usable = False
    if not usable or any(char.isspace() for char in url):
        raise InvalidError("The address of an MCP server is an http or https URL.", field="url", fix=fix)

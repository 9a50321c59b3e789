"""The tools of MCP servers, as the engine asks for them.

A tool is what it said of itself when it was accepted. The first look at a server accepts what it has; a tool that says
something else later, or that came later, cannot be used until a person has looked at it and accepted it. That is checked
at each call, on the connection that the call then goes over.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from pydantic import JsonValue

from flyback.domain.errors import (
    EgressLimitError,
    InvalidError,
    ToolFailedError,
    ToolNotAcceptedError,
    ToolUnknownError,
)
from flyback.domain.json_value import dumps
from flyback.engine.ports import Clock, Tool, ToolAnswer
from flyback.providers.egress.egress import HttpEgress
from flyback.providers.mcp.limits import McpLimits
from flyback.providers.mcp.pins import Said, hash_of, pins_of
from flyback.providers.mcp.servers import HttpServer, McpServer, ServerBook, Shown

if TYPE_CHECKING:  # loaded with the first server
    from flyback.providers.mcp.session import Session

T = TypeVar("T")
_MOST_SHOWN = 20_000
"""Characters of a tool's description and schema that are kept to be shown."""


class McpTools:
    def __init__(
        self,
        book: ServerBook,
        *,
        egress: HttpEgress,
        operator_egress: HttpEgress,
        clock: Clock,
        log_folder: Path,
        limits: McpLimits | None = None,
    ) -> None:
        """`operator_egress` carries calls to servers of the operator's file, which may be local."""
        self._book = book
        self._egress = egress
        self._operator_egress = operator_egress
        self._clock = clock
        self._log_folder = log_folder
        self.limits = limits or McpLimits()

    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:
        tools, _ = await self.shown(server, owner_id=owner_id)
        return tools

    async def shown(self, server: str, *, owner_id: str) -> tuple[Sequence[Tool], str]:
        """Return a server's tools, and the hash by which exactly these can be accepted."""
        found = await self._found(server, owner_id)
        said = await self._ask(found)
        current = pins_of(said)
        pins = await self._book.pins(found, owner_id=owner_id)
        if pins is None:
            await self._book.pin(found, current, self._shown(said), owner_id=owner_id)
            pins = current
        tools = [self._tool(found, one, accepted=pins.get(_name(one)) == current[_name(one)]) for one in said]
        if not all(tool.accepted for tool in tools):
            before = await self._book.shown(found, owner_id=owner_id)
            tools = [
                tool if tool.accepted else replace(tool, accepted_as=_as_shown(before.get(tool.name))) for tool in tools
            ]
        return tools, hash_of(current)

    async def accept(self, server: str, shown: str, *, owner_id: str) -> None:
        """Accept the tools of a server as they were shown.

        Raises:
            InvalidError: they have changed again since.
        """
        found = await self._found(server, owner_id)
        said = await self._ask(found)
        current = pins_of(said)
        if hash_of(current) != shown:
            raise InvalidError(
                f"The tools of {found.name!r} have changed since they were shown.",
                field="hash",
                fix="Look at them again, and accept those.",
            )
        await self._book.pin(found, current, self._shown(said), owner_id=owner_id)

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:
        return (await self._found(server, owner_id)).asks_before(tool)

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, JsonValue], *, owner_id: str, key: str
    ) -> ToolAnswer:
        found = await self._found(server, owner_id)
        pins = await self._book.pins(found, owner_id=owner_id)

        async def work(session: Session, said: Sequence[Said]) -> ToolAnswer:
            current = pins_of(said)
            if tool not in current:
                raise _unknown_tool(found, tool, list(current))
            if pins is None:
                await self._book.pin(found, current, self._shown(said), owner_id=owner_id)
            elif pins.get(tool) != current[tool]:
                raise _not_accepted(found, tool)
            try:
                async with self._clock.timeout(self.limits.call_seconds):
                    return await session.call(tool, arguments, key)
            except TimeoutError:
                raise self._slow_tool(found, tool) from None

        return await self._connected(found, work)

    async def _found(self, server: str, owner_id: str) -> McpServer:
        found = await self._book.find(server, owner_id=owner_id)
        if found is None:
            raise ToolUnknownError(
                f"there is no MCP server {server!r}", field="server", fix="Add it, or choose one that there is."
            )
        return found

    async def _ask(self, server: McpServer) -> Sequence[Said]:
        async def listed(_: Session, said: Sequence[Said]) -> Sequence[Said]:
            return said

        return await self._connected(server, listed)

    async def _connected(self, server: McpServer, work: Callable[[Session, Sequence[Said]], Awaitable[T]]) -> T:
        """Connect, hear what tools there are, and do the work."""
        await asyncio.to_thread(importlib.import_module, "flyback.providers.mcp.session")
        from flyback.providers.mcp.session import connected

        connections = None
        if isinstance(server.at, HttpServer):
            egress = self._operator_egress if server.of_operator else self._egress
            connections = await egress.connections()
        log_file = str(self._log_folder / f"mcp-{server.name}.log")
        try:
            async with (
                self._clock.timeout(self.limits.listing_seconds) as until_listed,
                connected(server, connections, log_file, self.limits) as session,
            ):
                said = await session.tools()
                until_listed.reschedule(None)
                seen = [tool for tool in said if server.tools is None or _name(tool) in server.tools]
                return await work(session, seen)
        except TimeoutError:
            raise self._slow(server) from None

    def _slow(self, server: McpServer) -> EgressLimitError:
        return EgressLimitError(
            f"the MCP server {server.name!r} did not say what tools it has within {self.limits.listing_seconds:g} s",
            fix="Check that it runs.",
        )

    def _slow_tool(self, server: McpServer, tool: str) -> ToolFailedError:
        return ToolFailedError(
            f"the tool {tool!r} of {server.name!r} did not answer within {self.limits.call_seconds:g} s",
            fix="Give it less to do at once.",
        )

    def _tool(self, server: McpServer, said: Said, *, accepted: bool) -> Tool:
        description = said.get("description") or said.get("title") or ""
        schema = said.get("inputSchema")
        return Tool(
            server.name,
            _name(said),
            str(description)[: self.limits.description_characters],
            cast("Mapping[str, JsonValue]", schema) if isinstance(schema, dict) else {"type": "object"},
            accepted,
            approval=server.asks_before(_name(said)),
        )

    def _shown(self, said: Sequence[Said]) -> Shown:
        """What is kept of tools for a later comparison, as far as it is not too long for that."""
        shown: dict[str, JsonValue] = {}
        for one in said:
            kept: dict[str, JsonValue] = {
                "description": str(one.get("description") or "")[: self.limits.description_characters],
                "inputSchema": one.get("inputSchema"),
            }
            if len(dumps(kept)) <= _MOST_SHOWN:
                shown[_name(one)] = kept
        return shown


def _as_shown(kept: JsonValue) -> Mapping[str, JsonValue] | None:
    return kept if isinstance(kept, Mapping) else None


def _name(said: Said) -> str:
    return str(said["name"])


def _unknown_tool(server: McpServer, tool: str, names: Sequence[str]) -> ToolUnknownError:
    known = ", ".join(repr(name) for name in names[:20]) or "none"
    return ToolUnknownError(
        f"the MCP server {server.name!r} has no tool {tool!r}", field="tool", fix=f"It has: {known}."
    )


def _not_accepted(server: McpServer, tool: str) -> ToolNotAcceptedError:
    return ToolNotAcceptedError(
        f"the tool {tool!r} of {server.name!r} says something else of itself than what was accepted",
        field="tool",
        fix="Look at the server's tools, and accept them if they are what you want.",
    )

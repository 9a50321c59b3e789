"""MCP servers that agents and tool nodes may use. Only those that are reached over HTTP are made here."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from flyback.api.deps import All, Caller
from flyback.api.json_body import router
from flyback.api.payloads import Id
from flyback.api.wire.equipment import (
    McpServer,
    McpServerChanged,
    McpServerGiven,
    McpServerList,
    McpTool,
    McpToolList,
    McpToolsAccepted,
    ToolAccepted,
)
from flyback.services.mcp_credentials import Credentials
from flyback.services.mcp_servers import McpServerChange, McpServerView, ToolsShown

routes = router(prefix="/api/mcp-servers", tag="mcp servers")


@routes.get("")
async def list_mcp_servers(caller: Caller, services: All) -> McpServerList:
    items = [_server(view) for view in await services.mcp_servers.all(caller)]
    return McpServerList(items=items, total=len(items))


@routes.post("", status_code=201)
async def add_mcp_server(body: McpServerGiven, caller: Caller, services: All) -> McpServer:
    """Add a server. Nothing is connected to."""
    credentials = Credentials(body.token or "", body.headers or {})
    added = await services.mcp_servers.add(
        caller, name=body.name, url=body.url, credentials=credentials, approval=body.approval
    )
    return _server(added)


@routes.get("/{server_id}")
async def read_mcp_server(server_id: Id, caller: Caller, services: All) -> McpServer:
    return _server(await services.mcp_servers.get(caller, server_id))


@routes.patch("/{server_id}")
async def change_mcp_server(server_id: Id, body: McpServerChanged, caller: Caller, services: All) -> McpServer:
    """Change a server's address, what it is sent, or before which of its tools a person is asked."""
    change = McpServerChange(body.url, body.token, body.headers, body.approval)
    return _server(await services.mcp_servers.change(caller, server_id, change))


@routes.delete("/{server_id}", status_code=204)
async def delete_mcp_server(server_id: Id, caller: Caller, services: All) -> None:
    await services.mcp_servers.delete(caller, server_id)


@routes.get("/{server_id}/tools")
async def list_mcp_tools(server_id: Id, caller: Caller, services: All) -> McpToolList:
    """Connect to a server and ask for its tools. The first who asks accepts what there is; a tool that says something
    else of itself later cannot be used until it is accepted again."""
    return _tools(await services.mcp_servers.tools(caller, server_id))


@routes.post("/{server_id}/tools/accept")
async def accept_mcp_tools(server_id: Id, body: McpToolsAccepted, caller: Caller, services: All) -> McpToolList:
    """Accept a server's tools as they were shown."""
    return _tools(await services.mcp_servers.accept_tools(caller, server_id, body.hash))


def _server(view: McpServerView) -> McpServer:
    return McpServer(
        id=view.id,
        name=view.name,
        url=view.url,
        of_operator=view.of_operator,
        has_token=view.has_token,
        header_names=list(view.header_names),
        approval=list(view.approval),
        created_at=view.created_at,
        updated_at=view.updated_at,
    )


def _tools(shown: ToolsShown) -> McpToolList:
    items = [
        McpTool(
            name=tool.name,
            qualified_name=tool.qualified_name,
            description=tool.description,
            input_schema=dict(tool.schema),
            accepted=tool.accepted,
            accepted_as=_accepted_as(tool.accepted_as),
            approval=tool.approval,
        )
        for tool in shown.tools
    ]
    return McpToolList(items=items, total=len(items), hash=shown.hash)


def _accepted_as(kept: Mapping[str, JsonValue] | None) -> ToolAccepted | None:
    if kept is None:
        return None
    return ToolAccepted(description=str(kept.get("description")), input_schema=kept.get("inputSchema"))

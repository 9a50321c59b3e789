"""One connection to an MCP server. Imported with the first one: the library takes its time.

A connection is made for each piece of work and closed after it: what a server keeps for one run is never seen by another,
and a process of a stdio server lives no longer than its work. Whatever goes wrong inside comes out as the engine's error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import JsonValue

from flyback.domain.errors import (
    BadJsonError,
    EgressLimitError,
    FlybackError,
    NodeError,
    ToolFailedError,
    ToolUnavailableError,
)
from flyback.domain.json_value import loads_mended, mend
from flyback.engine.ports import ToolAnswer
from flyback.providers.mcp.limits import McpLimits
from flyback.providers.mcp.pins import Said
from flyback.providers.mcp.program import program
from flyback.providers.mcp.servers import HttpServer, McpServer, StdioServer

_KEY = "idempotencyKey"
_SAID_CHARACTERS = 500
_GOODBYE_SECONDS = 5.0
_CLIENT = mcp.Implementation(name="flyback", version="1")


class Session:
    """A server that is connected."""

    def __init__(self, client: mcp.Client, server: McpServer, limits: McpLimits) -> None:
        self._client = client
        self._server = server
        self._limits = limits
        self.called = False
        """Whether a tool may have worked."""

    async def tools(self) -> Sequence[Said]:
        """What every tool says of itself, page by page."""
        found: list[Said] = []
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            for tool in page.tools:
                said = tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "icons"})
                found.append(_plain(said))
            cursor = page.next_cursor
            if cursor is None or len(found) > self._limits.tools:
                return found[: self._limits.tools]

    async def call(self, tool: str, arguments: Mapping[str, JsonValue], key: str) -> ToolAnswer:
        self.called = True
        result = await self._client.call_tool(tool, dict(arguments), meta={_KEY: key})
        answer = _answer(result)
        if result.is_error:
            said = _cut(answer.text) or "it said nothing more"
            raise ToolFailedError(
                f"the tool {tool!r} of {self._server.name!r} failed: {said}", fix="Look at what it was given."
            )
        return answer


@asynccontextmanager
async def connected(
    server: McpServer, connections: httpx2.AsyncBaseTransport | None, log_file: str, limits: McpLimits
) -> AsyncGenerator[Session]:
    """Connect to a server. `connections` carry the calls to one that is reached over HTTP.

    Raises:
        ToolUnavailableError: it cannot be talked to; before a tool was called.
        ToolFailedError: it broke off while a tool was called.
        EgressRefusedError, EgressLimitError.
    """
    session: Session | None = None
    allowance = _Allowance(server, limits)
    try:
        async with _client(server, connections, log_file, allowance) as client:
            session = Session(client, server, limits)
            yield session
    except (Exception, BaseExceptionGroup) as error:
        known = _known(error) or allowance.fault
        if known is not None:
            raise known from error
        raise _broken(server, error, called=session is not None and session.called) from error


@asynccontextmanager
async def _client(
    server: McpServer, connections: httpx2.AsyncBaseTransport | None, log_file: str, allowance: _Allowance
) -> AsyncGenerator[mcp.Client]:
    match server.at:
        case HttpServer(url, headers):
            assert connections is not None, "a server that is reached over HTTP has connections"
            counted = _Counted(connections, allowance)
            timeout = httpx2.Timeout(allowance.limits.call_seconds, connect=10.0)
            async with (
                httpx2.AsyncClient(transport=counted, headers=dict(headers), timeout=timeout, trust_env=False) as http,
                mcp.Client(streamable_http_client(url, http_client=http), cache=None, client_info=_CLIENT) as client,
            ):
                yield client
        case StdioServer() as at:
            said = await asyncio.to_thread(open, log_file, "w", encoding="utf-8", errors="replace")
            try:
                spoken = program(at, said, allowance.take)
                async with mcp.Client(spoken, cache=None, client_info=_CLIENT) as client:
                    yield client
            finally:
                said.close()


class _Allowance:
    """How much a server may still say, and the fault that the protocol's library would put in its own words."""

    def __init__(self, server: McpServer, limits: McpLimits) -> None:
        self._server = server
        self._left = limits.answer_bytes
        self.limits = limits
        self.fault: NodeError | None = None

    def take(self, size: int) -> None:
        """Raises EgressLimitError."""
        self._left -= size
        if self._left < 0:
            self.fault = _too_much(self._server, self.limits)
            raise self.fault


class _Counted(httpx2.AsyncBaseTransport):
    """Lets a server that is reached over HTTP say no more than it may."""

    def __init__(self, connections: httpx2.AsyncBaseTransport, allowance: _Allowance) -> None:
        self._connections = connections
        self._allowance = allowance

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        if request.method == "DELETE":  # a goodbye, which nobody waits long for
            request.extensions["timeout"] = httpx2.Timeout(_GOODBYE_SECONDS).as_dict()
        try:
            response = await self._connections.handle_async_request(request)
        except NodeError as error:
            self._allowance.fault = error
            raise httpx2.ConnectError(error.message) from error
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_CountedStream(response, self._allowance),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """The connections are shared: they stay."""


class _CountedStream(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, allowance: _Allowance) -> None:
        self._response = response
        self._allowance = allowance

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._response.aiter_raw():
            try:
                self._allowance.take(len(part))
            except NodeError as error:
                raise httpx2.ReadError(error.message) from error
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()


def _plain(said: Mapping[str, Any]) -> dict[str, JsonValue]:
    plain, _ = mend(dict(said))
    assert isinstance(plain, dict), "mending keeps an object an object"
    return plain


def _answer(result: CallToolResult) -> ToolAnswer:
    text = "\n".join(_texts(result))
    if result.structured_content is not None:
        return ToolAnswer(text, *mend(result.structured_content))
    return ToolAnswer(text, *_json_in(text))


def _texts(result: CallToolResult) -> Iterator[str]:
    for block in result.content:
        match block:
            case TextContent():
                yield block.text
            case ImageContent() | AudioContent():
                yield f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
            case ResourceLink():
                yield str(block.uri)
            case EmbeddedResource(resource=TextResourceContents() as inner):
                yield inner.text
            case _:
                yield f"[{block.type}]"


def _json_in(text: str) -> tuple[JsonValue, Sequence[str]]:
    """Return what a text holds as JSON, with notes on what was mended; null where it holds none."""
    if not text.lstrip().startswith(("{", "[")):
        return None, ()
    try:
        return loads_mended(text)
    except BadJsonError:
        return None, ()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        for inner in group.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _known(error: BaseException) -> BaseException | None:
    """What is to go up as it is: our own errors, and being cancelled."""
    passing = (FlybackError, asyncio.CancelledError, TimeoutError)
    return next((leaf for leaf in _leaves(error) if isinstance(leaf, passing)), None)


def _broken(server: McpServer, error: BaseException, *, called: bool) -> NodeError:
    first = next(_leaves(error))
    said = _cut(str(first)) or type(first).__name__
    if called:
        return ToolFailedError(
            f"the call to {server.name!r} failed: {said}", fix="Look at what it was given, and at the server's own log."
        )
    return ToolUnavailableError(
        f"the MCP server {server.name!r} cannot be talked to: {said}", fix="Check its address, and that it runs."
    )


def _too_much(server: McpServer, limits: McpLimits) -> EgressLimitError:
    size = f"{limits.answer_bytes / 1024 / 1024:g} MiB"
    return EgressLimitError(f"the MCP server {server.name!r} said more than {size}", fix="Ask it for less.")


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SAID_CHARACTERS else line[: _SAID_CHARACTERS - 1] + "…"

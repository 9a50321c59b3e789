"""An MCP server that is a program: started for one piece of work, spoken to line by line, and ended with all its children.

Everything that it writes is counted before it is kept, so that a program that never ends a line fills no memory.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TextIO

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from flyback.domain.errors import NodeError
from flyback.providers.mcp.servers import StdioServer

Heard = MemoryObjectReceiveStream[SessionMessage | Exception]
Said = MemoryObjectSendStream[SessionMessage]

_READ_BYTES = 64 * 1024
_FLUSH_SECONDS = 0.5
_GOODBYE_SECONDS = 2.0
"""For the program to end by itself when its input is closed, and again when it is told to."""
_POLL_SECONDS = 0.01
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError)


@asynccontextmanager
async def program(at: StdioServer, log: TextIO, count: Callable[[int], None]) -> AsyncGenerator[tuple[Heard, Said]]:
    """Start the program and yield what it says and where it is spoken to. `count` is told of every byte it writes, and
    raises NodeError where they are too many: then it is heard no more.

    Raises:
        OSError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        at.command,
        *at.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=log,
        env={**get_default_environment(), **at.env},
        cwd=at.cwd,
        start_new_session=True,
    )
    hear, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, says = anyio.create_memory_object_stream[SessionMessage](0)
    reading = asyncio.create_task(_read(process, hear, count), name="mcp program says")
    writing = asyncio.create_task(_write(process, says, hear), name="mcp program is told")
    try:
        yield heard, said
    finally:
        heard.close()
        said.close()
        ending = asyncio.create_task(_end(process, reading, writing), name="mcp program ends")
        with anyio.CancelScope(shield=True):
            await asyncio.wait([ending])


async def _read(
    process: Process, hear: MemoryObjectSendStream[SessionMessage | Exception], count: Callable[[int], None]
) -> None:
    """Hand on line by line what the program says; what nobody hears any more is thrown away, so that it can end."""
    assert process.stdout is not None, "it was started with a pipe"
    rest = b""
    is_heard = True
    while piece := await process.stdout.read(_READ_BYTES):
        if not is_heard:
            continue
        try:
            count(len(piece))
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                await hear.send(_message(line))
        except (NodeError, *_GONE):
            is_heard, rest = False, b""
            hear.close()
    hear.close()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(
    process: Process,
    says: MemoryObjectReceiveStream[SessionMessage],
    hear: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None, "it was started with a pipe"
    try:
        async with says:
            async for message in says:
                process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()
    except (*_GONE, OSError):
        hear.close()  # so that nobody waits for the answer


async def _end(process: Process, reading: asyncio.Task[None], writing: asyncio.Task[None]) -> None:
    """Close its input, wait, then tell it and at last make it end; with it whatever it started."""
    await asyncio.wait([writing], timeout=_FLUSH_SECONDS)
    writing.cancel()
    assert process.stdin is not None, "it was started with a pipe"
    process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        if await _has_ended(process):
            break
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # children that outlived it
    await asyncio.wait([reading], timeout=_GOODBYE_SECONDS)
    reading.cancel()
    await asyncio.gather(reading, writing, return_exceptions=True)


async def _has_ended(process: Process) -> bool:
    """Look for a while. Waiting for the process itself would wait for whoever inherited its output, too."""
    for _ in range(round(_GOODBYE_SECONDS / _POLL_SECONDS)):
        if process.returncode is not None:
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None

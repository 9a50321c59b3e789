"""Limits that only a real server can show: sizes and times of what comes over a connection."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from flyback.api.access import Access
from flyback.api.app import create_app
from flyback.api.server import BoundedProtocol, server_config
from kit.door import Door, open_door


class Hasty(BoundedProtocol):
    header_seconds = 0.2


class Wire:
    """One connection, spoken to in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self) -> tuple[int, dict[str, object]]:
        head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), 20)
        status = int(head.split(b" ")[1])
        lines = [line.partition(b":") for line in head.lower().split(b"\r\n")]
        length = next(int(value) for name, _, value in lines if name == b"content-length")
        return status, json.loads(await asyncio.wait_for(self._reader.readexactly(length), 20))

    async def closed(self) -> bool:
        return await asyncio.wait_for(self._reader.read(), 20) == b""


class Served:
    def __init__(self, door: Door, port: int, key: str) -> None:
        self.door, self.port, self.key = door, port, key

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Wire]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Wire(reader, writer)
        finally:
            writer.close()

    def head(self, method: str, path: str, *more: str) -> bytes:
        lines = (
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Authorization: Bearer {self.key}",
            *more,
        )
        return "\r\n".join((*lines, "", "")).encode()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncGenerator[Served]:
    async with open_door(tmp_path) as door:
        listening = socket.create_server(("127.0.0.1", 0))
        port = int(listening.getsockname()[1])
        app = create_app(door.services, access=Access.at(port), page=tmp_path / "no-page", body_seconds=0.5)
        server = uvicorn.Server(server_config(app, protocol=Hasty))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        made = await door.services.auth.make_key(door.owner, name="limits")
        try:
            yield Served(door, port, made.key)
        finally:
            server.should_exit = True
            await serving
            listening.close()


async def test_a_request_is_answered(served: Served) -> None:
    async with served.connection() as wire:
        await wire.send(served.head("GET", "/api/auth/me"))
        status, body = await wire.answer()
        assert (status, body["csrfToken"]) == (200, None)
        # and the connection is good for another
        await wire.send(served.head("GET", "/healthz"))
        assert await wire.answer() == (200, {"status": "ok"})


async def test_headers_beyond_16_kib_are_refused_while_they_come(served: Served) -> None:
    async with served.connection() as wire:
        await wire.send(b"GET / HTTP/1.1\r\nX-Filler: " + b"x" * 200_000)
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (431, "HEADERS_TOO_LARGE")


async def test_what_is_no_http_is_refused(served: Served) -> None:
    for nonsense in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        async with served.connection() as wire:
            await wire.send(nonsense)
            status, problem = await wire.answer()
            assert (status, problem["code"]) == (400, "BAD_REQUEST")


async def test_a_connection_that_never_asks_is_closed(served: Served) -> None:
    async with served.connection() as silent, served.connection() as slow:
        await slow.send(b"GET / HTTP/1.1\r\nHos")
        assert await silent.closed()
        assert await slow.closed()


async def test_a_body_that_does_not_come_is_given_up(served: Served) -> None:
    async with served.connection() as wire:
        await wire.send(served.head("POST", "/api/workflows", "Content-Type: application/json", "Content-Length: 100"))
        await wire.send(b'{"name"')
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (408, "BODY_TIMEOUT")
        assert await wire.closed()


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_read(served: Served) -> None:
    size = 5 * 1024 * 1024 + 1
    async with served.connection() as wire:
        length = f"Content-Length: {size}"
        await wire.send(
            served.head("POST", "/api/workflows", "Content-Type: application/json", length, "Expect: 100-continue")
        )
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (413, "TOO_LARGE")


async def test_a_body_that_grows_too_large_is_refused_while_it_is_read(served: Served) -> None:
    async with served.connection() as wire:
        await wire.send(
            served.head("POST", "/api/workflows", "Content-Type: application/json", "Transfer-Encoding: chunked")
        )
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(81):
            await wire.send(chunk)
        await wire.send(b"0\r\n\r\n")
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (413, "TOO_LARGE")


async def test_five_mebibytes_are_taken(served: Served) -> None:
    body = json.dumps({"name": "Large", "note": "x" * (5 * 1024 * 1024 - 100)}).encode()
    async with served.connection() as wire:
        length = f"Content-Length: {len(body)}"
        await wire.send(served.head("POST", "/api/workflows", "Content-Type: application/json", length) + body)
        status, made = await wire.answer()
        assert (status, made["name"]) == (201, "Large")


async def test_a_form_may_be_larger_but_only_where_files_are_taken(served: Served) -> None:
    content = b'{"graphData": {"nodes": [], "edges": []}, "note": "' + b"x" * (6 * 1024 * 1024) + b'"}'
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="w.json"\r\n\r\n' + content + b"\r\n--b--\r\n"
    kind, length = "Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(form)}"
    async with served.connection() as wire:
        await wire.send(served.head("POST", "/api/workflows/import", kind, length) + form)
        assert (await wire.answer())[0] == 201
    async with served.connection() as wire:
        await wire.send(served.head("POST", "/api/workflows", kind, length) + form)
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (413, "TOO_LARGE")


async def test_a_form_that_does_not_come_is_given_up_too(served: Served) -> None:
    kind = "Content-Type: multipart/form-data; boundary=b"
    async with served.connection() as wire:
        await wire.send(served.head("POST", "/api/workflows/import", kind, "Content-Length: 1000") + b"--b\r\n")
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (408, "BODY_TIMEOUT")


async def test_a_body_whose_framing_breaks_is_refused_and_the_server_goes_on(served: Served) -> None:
    async with served.connection() as wire:
        await wire.send(
            served.head("POST", "/api/workflows", "Content-Type: application/json", "Transfer-Encoding: chunked")
        )
        await wire.send(b"zz\r\n")
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (400, "BAD_REQUEST")
    async with served.connection() as wire:
        await wire.send(served.head("GET", "/healthz"))
        assert (await wire.answer())[0] == 200

"""A small HTTP server on this machine that answers as a test says and keeps what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    breaks_off: bool = False
    """Promises more than it sends."""
    hangs: bool = False
    """Sends nothing and waits."""


def redirect(to: str, status: int = 302) -> Answer:
    return Answer(status, {"Location": to})


Handler = Callable[[Asked], Answer]


class WebServer:
    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.asked: list[Asked] = []
        self.hung_up = asyncio.Event()
        """Set when somebody who was kept waiting has gone."""
        self.came = asyncio.Event()
        """Set when somebody has asked."""
        self._working: dict[asyncio.Task[object], asyncio.StreamWriter] = {}
        self.port = 0
        self.scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._working[task] = writer
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        finally:
            writer.close()
            del self._working[task]

    async def hang_up(self) -> None:
        """Close every connection, and wait until nobody works on one."""
        working = dict(self._working)
        for writer in working.values():
            writer.close()
        await asyncio.gather(*working)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            asked = Asked(method, path, headers, body)
            self.asked.append(asked)
            self.came.set()
            answer = self.handler(asked)
            if answer.hangs:
                await reader.read()
                self.hung_up.set()
                return
            length = len(answer.body) + (10 if answer.breaks_off else 0)
            lines = [f"HTTP/1.1 {answer.status} So", f"Content-Length: {length}"]
            lines += [f"{name}: {value}" for name, value in answer.headers.items()]
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
            if method != "HEAD":
                writer.write(answer.body)
            await writer.drain()
            if answer.breaks_off:
                return


@asynccontextmanager
async def web_server(handler: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncGenerator[WebServer]:
    server = WebServer(handler)
    server.scheme = "https" if tls else "http"
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.hang_up()


class NameServer:
    """Resolves the names it was told, and counts how often it was asked. A name may change its mind: each list is given
    once, the last one again and again."""

    def __init__(self, names: Mapping[str, list[list[str]]]) -> None:
        self._names = names
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self._names.get(host)
        if answers is None:
            raise OSError(f"no such name: {host}")
        return answers.pop(0) if len(answers) > 1 else answers[0]

"""A real server of Flyback's in a process of its own, as little of an HTTP client as is needed, and what the process uses."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from flyback.main.address import ServerAddress, read_address

_SEQ = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_TERMINAL = re.compile(rb"^event: (workflow_complete|workflow_error|run_cancelled)$", re.MULTILINE)


class Server:
    """`flyback serve` over a data folder. Use it as a context; it may be killed and started again."""

    def __init__(self, folder: Path, *, streams: int = 1_000, database_url: str | None = None) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "FLYBACK_STREAMS": str(streams),
            "FLYBACK_STREAMS_PER_CLIENT": str(streams),
            **({"FLYBACK_DATABASE_URL": database_url} if database_url else {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def client(self) -> Client:
        address = read_address(self._folder)
        assert address is not None, "the server was started"
        return Client(address)

    def start(self) -> None:
        """Start the process and return when it answers."""
        command = [sys.executable, "-m", "flyback.main", "serve", "--data", str(self._folder), "--port", "0"]
        log_file = self._folder / "server.log"
        with log_file.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)
        while b"Sign in: " not in log_file.read_bytes():
            if self._process.poll() is not None:
                raise SystemExit(log_file.read_text())
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()


@dataclass(slots=True)
class Stream:
    """What one reader has seen."""

    seen: list[int] = field(default_factory=list[int])
    ended: bool = False

    @property
    def is_whole(self) -> bool:
        return self.ended and self.seen == list(range(1, len(self.seen) + 1))


@dataclass(frozen=True, slots=True)
class Client:
    """As little of HTTP as this needs: a library's own work would be measured too."""

    address: ServerAddress

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        reader, writer = await self._ask(method, path, body, accept="application/json")
        try:
            answer = await reader.read()
        finally:
            writer.close()
        head, _, content = answer.partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" in head.lower():
            content = b"".join(content.split(b"\r\n")[1::2])
        return int(head.split(b" ", 2)[1]), json.loads(content or b"null")

    async def watch(self, run_id: str, stream: Stream, opened: asyncio.Event | None = None) -> None:
        """Read a run's events until its end."""
        async with self.streaming(f"/api/runs/{run_id}/events") as reader:
            while line := await reader.readline():
                if opened is not None and line.startswith(b"retry:"):
                    opened.set()
                if found := _SEQ.match(line.rstrip()):
                    stream.seen.append(int(found[1]))
                if _TERMINAL.match(line.rstrip()):
                    stream.ended = True

    async def read_all(self, path: str) -> bytes:
        """Read a stream of events to its end, without the answer's head; how it was cut into chunks stays in it."""
        async with self.streaming(path) as reader:
            return (await reader.read()).partition(b"\r\n\r\n")[2]

    @asynccontextmanager
    async def streaming(self, path: str) -> AsyncGenerator[asyncio.StreamReader]:
        reader, writer = await self._ask("GET", path, None, accept="text/event-stream")
        try:
            yield reader
        finally:
            writer.close()

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, *, accept: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        at = urlsplit(self.address.base_url)
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        content = b"" if body is None else json.dumps(body).encode()
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {at.netloc}",
            f"Authorization: Bearer {self.address.key}",
            f"Accept: {accept}",
            "Connection: close",
            *(["Content-Type: application/json", f"Content-Length: {len(content)}"] if body is not None else []),
        ]
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + content)
        await writer.drain()
        return reader, writer


def megabytes(pid: int) -> int:
    return _status_kilobytes(pid, "VmRSS") // 1024


def peak_megabytes(pid: int) -> int:
    return _status_kilobytes(pid, "VmHWM") // 1024


def cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _status_kilobytes(pid: int, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


def loop_of(visits: int, *, delay_ms: int = 0) -> Mapping[str, Any]:
    """Two model nodes that are visited in turn, so often that the run has so many visits."""
    nodes: list[dict[str, Any]] = [
        {"id": "ask", "type": "userInput", "data": {"variables": []}},
        {"id": "draft", "type": "llm", "data": {"userPrompt": "Write."}},
        {"id": "review", "type": "llm", "data": {"userPrompt": "Judge {{draft.text}}."}},
        {"id": "answer", "type": "output", "data": {"template": "{{draft.text}}"}},
    ]
    edges = [
        {"id": f"e{place}", "source": source, "target": target}
        for place, (source, target) in enumerate([("ask", "draft"), ("draft", "review"), ("review", "answer")])
    ]
    route = [("draft", "review")[place % 2] for place in range(visits - 2)] + ["answer"]
    script = [
        *(
            {"for": {"node": node}, "replies": [{"text": "words " * 20, "delayMs": delay_ms}], "repeatLast": True}
            for node in ("draft", "review")
        ),
        {"for": {"role": "planner"}, "replies": [{"next": node, "reason": "on"} for node in route]},
    ]
    return {"name": "load", "mode": "AGENTIC", "graphData": {"nodes": nodes, "edges": edges}, "script": script}

"""`python -m bench.load`: a server under load. Many runs at once, many who watch, many streams on which nothing happens.

It starts a server of its own, and says what it saw: whether every run ended well and every stream was whole, how long calls
took meanwhile, how much memory the process had before, during and after. On PostgreSQL with `--database-url`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from flyback.main.address import ServerAddress, read_address

_POSTING = 50
"""Connections that start runs, or open streams, at the same time."""
_PROBE_SECONDS = 0.05
_SEQ = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_TERMINAL = re.compile(rb"^event: (workflow_complete|workflow_error|run_cancelled)$", re.MULTILINE)
_VISITS = 10


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
        reader, writer = await self._ask("GET", f"/api/runs/{run_id}/events", None, accept="text/event-stream")
        try:
            while line := await reader.readline():
                if opened is not None and line.startswith(b"retry:"):
                    opened.set()
                if found := _SEQ.match(line.rstrip()):
                    stream.seen.append(int(found[1]))
                if _TERMINAL.match(line.rstrip()):
                    stream.ended = True
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


def main() -> int:
    given = _arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="flyback-load-") as folder:
        process = _start(Path(folder), given)
        try:
            seen = asyncio.run(_load(_address(Path(folder), process), process.pid, given))
        finally:
            process.terminate()
            process.wait()
    for name, value in seen.items():
        print(f"{name:32} {value}")
    if given.json:
        Path(given.json).write_text(json.dumps(seen, indent=2))
    return 0 if seen["runs that ended well"] == given.runs and not seen["streams with a gap"] else 1


def _arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(
        prog="python -m bench.load", description=__doc__.split("\n", 1)[0] if __doc__ else ""
    )
    words.add_argument("--runs", type=int, default=1_000)
    words.add_argument("--watchers", type=int, default=200)
    words.add_argument("--idle", type=int, default=1_000)
    words.add_argument("--database-url")
    words.add_argument("--json", help="Write what was seen into this file too.")
    return words.parse_args()


def _start(folder: Path, given: argparse.Namespace) -> subprocess.Popen[bytes]:
    streams = str(given.watchers + given.idle + 100)
    environment = {**os.environ, "FLYBACK_STREAMS": streams, "FLYBACK_STREAMS_PER_CLIENT": streams}
    if given.database_url:
        environment["FLYBACK_DATABASE_URL"] = given.database_url
    command = [sys.executable, "-m", "flyback.main", "serve", "--data", str(folder), "--port", "0"]
    with (folder / "server.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


def _address(folder: Path, process: subprocess.Popen[bytes]) -> ServerAddress:
    while b"Sign in: " not in (folder / "server.log").read_bytes():
        if process.poll() is not None:
            raise SystemExit((folder / "server.log").read_text())
        time.sleep(0.1)
    address = read_address(folder)
    assert address is not None
    return address


async def _load(address: ServerAddress, pid: int, given: argparse.Namespace) -> dict[str, float]:
    client = Client(address)
    await client.call("GET", "/api/runs")
    before = _megabytes(pid)
    idle = await _open_idle(client, given.idle)
    with_idle = _megabytes(pid)
    probing, latencies = asyncio.Event(), list[float]()
    prober = asyncio.create_task(_probe(client, probing, latencies))
    began, cpu_before = time.perf_counter(), _cpu_seconds(pid)
    run_ids, accepting = await _start_runs(client, given.runs)
    streams = [Stream() for _ in range(given.watchers)]
    watched = (run_ids[place % len(run_ids)] for place in range(given.watchers))
    watching = [client.watch(run_id, stream) for run_id, stream in zip(watched, streams, strict=False)]
    followed = asyncio.gather(*watching)
    ended = await _all_ended(client)
    took = time.perf_counter() - began
    await followed
    probing.set()
    await prober
    cpu = _cpu_seconds(pid) - cpu_before
    peak, after = _peak_megabytes(pid), _megabytes(pid)
    for task in idle:
        task.cancel()
    await asyncio.gather(*idle, return_exceptions=True)
    return {
        "runs that ended well": ended["SUCCESS"],
        "seconds": round(took, 2),
        "visits a second": round(given.runs * _VISITS / took),
        "CPU of the server, s": round(cpu, 1),
        "CPU of the server a visit, ms": round(cpu * 1000 / (given.runs * _VISITS), 2),
        "accepted in, p50 ms": _percentile(accepting, 50),
        "accepted in, p99 ms": _percentile(accepting, 99),
        "calls meanwhile": len(latencies),
        "calls meanwhile, p50 ms": _percentile(latencies, 50),
        "calls meanwhile, p99 ms": _percentile(latencies, 99),
        "streams with a gap": sum(not stream.is_whole for stream in streams),
        "idle streams": given.idle,
        "memory before, MB": before,
        "memory with the idle streams, MB": with_idle,
        "memory at its highest, MB": peak,
        "memory after, MB": after,
    }


async def _open_idle(client: Client, count: int) -> Sequence[asyncio.Task[None]]:
    """Open streams of a run that waits for a person."""
    nodes = [
        {"id": "form", "type": "humanInput", "data": {"form": [{"name": "word", "required": True}]}},
        {"id": "answer", "type": "output", "data": {"template": "{{form.word}}"}},
    ]
    edges = [{"id": "e", "source": "form", "target": "answer"}]
    document = {"name": "waits", "mode": "DAG", "graphData": {"nodes": nodes, "edges": edges}}
    _, started = await client.call("POST", "/api/runs", {"workflow": document})
    tasks: list[asyncio.Task[None]] = []
    for first in range(0, count, _POSTING):
        opened = [asyncio.Event() for _ in range(min(_POSTING, count - first))]
        tasks += [asyncio.create_task(client.watch(started["runId"], Stream(), event)) for event in opened]
        await asyncio.gather(*(event.wait() for event in opened))
    return tasks


async def _start_runs(client: Client, count: int) -> tuple[list[str], list[float]]:
    run_ids, latencies = list[str](), list[float]()
    left = iter(range(count))

    async def post() -> None:
        for _ in left:
            began = time.perf_counter()
            status, answer = await client.call("POST", "/api/runs", {"workflow": _DOCUMENT})
            latencies.append(time.perf_counter() - began)
            if status != 202:
                raise SystemExit(f"A run was refused: {answer}")
            run_ids.append(answer["runId"])

    await asyncio.gather(*(post() for _ in range(_POSTING)))
    return run_ids, latencies


async def _all_ended(client: Client) -> Counter[str]:
    while await _count(client, "PENDING") or await _count(client, "RUNNING"):  # noqa: ASYNC110 -- it asks as people do
        await asyncio.sleep(0.2)
    return Counter({status: await _count(client, status) for status in ("SUCCESS", "FAILED", "CANCELLED")})


async def _count(client: Client, status: str) -> int:
    _, page = await client.call("GET", f"/api/runs?limit=1&status={status}")
    return page["total"]


async def _probe(client: Client, enough: asyncio.Event, latencies: list[float]) -> None:
    """Ask for the newest runs, as a page does that is open meanwhile."""
    while not enough.is_set():
        began = time.perf_counter()
        await client.call("GET", "/api/runs?limit=50")
        latencies.append(time.perf_counter() - began)
        with suppress(TimeoutError):
            await asyncio.wait_for(enough.wait(), _PROBE_SECONDS)


def _percentile(seconds: Sequence[float], percent: int) -> float:
    ordered = sorted(seconds)
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000, 1)


def _megabytes(pid: int) -> int:
    return _status_kilobytes(pid, "VmRSS") // 1024


def _peak_megabytes(pid: int) -> int:
    return _status_kilobytes(pid, "VmHWM") // 1024


def _cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _status_kilobytes(pid: int, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


def _loop_of(visits: int) -> Mapping[str, Any]:
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
            {"for": {"node": node}, "replies": [{"text": "words " * 20}], "repeatLast": True}
            for node in ("draft", "review")
        ),
        {"for": {"role": "planner"}, "replies": [{"next": node, "reason": "on"} for node in route]},
    ]
    return {"name": "load", "mode": "AGENTIC", "graphData": {"nodes": nodes, "edges": edges}, "script": script}


_DOCUMENT = _loop_of(_VISITS)


if __name__ == "__main__":
    sys.exit(main())

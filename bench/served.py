"""W9: what a server costs, and how soon it answers: `flyback serve` over HTTP, and a bare stream of Starlette's beside it."""

from __future__ import annotations

import asyncio
import resource
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.case import Sizes
from bench.environments import ROOT
from bench.flyback_cases import fill_with_runs
from bench.server import Client, Server, Stream, loop_of, megabytes
from flyback.main.address import ServerAddress

CASE = "W9 server"
_STARTS = 20
_LISTS = 50
_READERS = 500
_ALONE = 20
"""How often one client reads the whole stream."""
_SETTLED_SECONDS = 2.0
_DELAY_MS = 100
_STREAM_VISITS = 50


def sample(*, quick: bool = False) -> dict[str, float]:
    """Return megabytes when idle, and in seconds how long things take, or events a second."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    sizes = Sizes.of(["--quick"] if quick else [])
    return asyncio.run(_measured(sizes.listed, 5 if quick else _READERS))


async def _measured(listed: int, readers: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="flyback-bench-") as name:
        folder = Path(name)
        with Server(folder, streams=readers + 100) as server:
            await server.client.call("GET", "/api/runs")
            await asyncio.sleep(_SETTLED_SECONDS)
            facts: dict[str, float] = {"idle megabytes": megabytes(server.pid)}
            facts["start"] = await _start_latency(server.client)
            facts |= await _streams(server.client, folder, readers)
            facts["restart"] = await _restart(server)
        await _fill(folder / "flyback.sqlite", listed)
        with Server(folder) as server:
            facts["list"] = await _list_latency(server.client)
    return facts


async def _start_latency(client: Client) -> float:
    """From before the request that starts a run until its first visit has been read in its stream."""
    return median([await _first_visit(client) for _ in range(_STARTS)])


async def _first_visit(client: Client) -> float:
    began = time.perf_counter()
    run_id = await _start(client, loop_of(3))
    await _until(client, run_id, b"event: node_status", after=0)
    return time.perf_counter() - began


async def _start(client: Client, document: Mapping[str, Any]) -> str:
    status, answer = await client.call("POST", "/api/runs", {"workflow": document})
    if status != 202:
        raise SystemExit(f"A run was refused: {answer}")
    return answer["runId"]


async def _until(client: Client, run_id: str, mark: bytes, *, after: int) -> None:
    async with client.streaming(f"/api/runs/{run_id}/events?after={after}") as reader:
        while not (line := await reader.readline()).startswith(mark):
            assert line, "the stream ended before it"


async def _list_latency(client: Client) -> float:
    async def once() -> float:
        began = time.perf_counter()
        await client.call("GET", "/api/runs?limit=50")
        return time.perf_counter() - began

    return median([await once() for _ in range(_LISTS)])


async def _fill(file: Path, runs: int) -> None:
    with sqlite3.connect(file) as connection:
        (owner_id,) = connection.execute("SELECT id FROM users").fetchone()
    connection.close()
    await fill_with_runs(file, owner_id, runs)


async def _restart(server: Server) -> float:
    """From the start of a new process, after the old one was killed at work, until a run of it has its next event."""
    run_id = await _start(server.client, loop_of(_STREAM_VISITS, delay_ms=_DELAY_MS))
    await _until(server.client, run_id, b"event: visit_recorded", after=0)
    server.kill()
    began = time.perf_counter()
    server.start()
    _, page = await server.client.call("GET", f"/api/runs/{run_id}/events")
    seen = page["items"][-1]["seq"]
    if not any(item["data"].get("recovered") for item in page["items"]):
        await _until(server.client, run_id, b"id: ", after=seen)
    return time.perf_counter() - began


# Streams: the events of one run that has ended, as this server sends them and as a bare one does.


async def _streams(client: Client, folder: Path, readers: int) -> dict[str, float]:
    run_id = await _start(client, loop_of(_STREAM_VISITS))
    stream = Stream()
    await client.watch(run_id, stream)
    assert stream.is_whole, "a run's stream is whole"
    path, count = f"/api/runs/{run_id}/events", len(stream.seen)
    file = folder / "events"
    file.write_bytes((await client.read_all(path)).partition(b"\n\n")[2])
    mine = await _rates(client, path, count, readers)
    async with _bare(file) as bare:
        theirs = await _rates(bare, "/", count, readers)
    return {
        f"{name} {what}": rate for name, rates in (("flyback", mine), ("bare", theirs)) for what, rate in rates.items()
    }


async def _rates(client: Client, path: str, count: int, readers: int) -> dict[str, float]:
    async def read() -> None:
        events = (await client.read_all(path)).count(b"\nevent: ")
        assert events >= count - 1, f"a reader got {events} of {count} events"

    async def alone() -> None:
        for _ in range(_ALONE):
            await read()

    async def together() -> None:
        await asyncio.gather(*(read() for _ in range(readers)))

    await read()
    return {"alone": count * _ALONE / await _seconds(alone), "together": count * readers / await _seconds(together)}


async def _seconds(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


@asynccontextmanager
async def _bare(file: Path) -> AsyncGenerator[Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.bare_stream", str(file), str(port), cwd=ROOT
    )
    client = Client(ServerAddress(f"http://127.0.0.1:{port}", "none"))
    try:
        while True:
            try:
                await client.read_all("/")
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
        yield client
    finally:
        process.terminate()
        await process.wait()

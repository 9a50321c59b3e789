"""`python -m bench.load`: a server under load. Many runs at once, many who watch, many streams on which nothing happens.

It starts a server of its own, and says what it saw: whether every run ended well and every stream was whole, how long calls
took meanwhile, how much memory the process had before, during and after. On PostgreSQL with `--database-url`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.server import Client, Server, Stream, cpu_seconds, loop_of, megabytes, peak_megabytes

_POSTING = 50
"""Connections that start runs, or open streams, at the same time."""
_PROBE_SECONDS = 0.05
_VISITS = 10
_TELLING_SECONDS = 5.0


def main() -> int:
    given = _arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="flyback-load-") as folder:
        streams = given.watchers + given.idle + 100
        with Server(Path(folder), streams=streams, database_url=given.database_url) as server:
            seen = asyncio.run(_load(server.client, server.pid, given))
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


async def _load(client: Client, pid: int, given: argparse.Namespace) -> dict[str, float]:
    await client.call("GET", "/api/runs")
    before = megabytes(pid)
    _say(f"opening {given.idle:,} streams on which nothing happens")
    idle = await _open_idle(client, given.idle)
    with_idle = megabytes(pid)
    probing, latencies = asyncio.Event(), list[float]()
    prober = asyncio.create_task(_probe(client, probing, latencies))
    began, cpu_before = time.perf_counter(), cpu_seconds(pid)
    _say(f"starting {given.runs:,} runs")
    run_ids, accepting = await _start_runs(client, given.runs)
    streams = [Stream() for _ in range(given.watchers)]
    watched = (run_ids[place % len(run_ids)] for place in range(given.watchers))
    watching = [client.watch(run_id, stream) for run_id, stream in zip(watched, streams, strict=False)]
    followed = asyncio.gather(*watching)
    _say(f"watching {given.watchers:,} of them until all have ended")
    ended = await _all_ended(client)
    took = time.perf_counter() - began
    await followed
    probing.set()
    await prober
    cpu = cpu_seconds(pid) - cpu_before
    peak, after = peak_megabytes(pid), megabytes(pid)
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
    told = time.perf_counter()
    while left := await _count(client, "PENDING") + await _count(client, "RUNNING"):
        if time.perf_counter() - told > _TELLING_SECONDS:
            told = time.perf_counter()
            _say(f"{left:,} runs to go")
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


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _percentile(seconds: Sequence[float], percent: int) -> float:
    ordered = sorted(seconds)
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000, 1)


_DOCUMENT = loop_of(_VISITS)


if __name__ == "__main__":
    sys.exit(main())

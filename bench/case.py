"""One workload as one engine runs it, and how one sample of it is taken.

This module is loaded in every engine's own environment, so it knows nothing but the standard library. A worker is told a
case's name by a line, takes one sample and answers by a line of JSON, so that samples of all engines can take turns: what
the machine does beside the benchmark then hits all of them alike.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

Facts = Mapping[str, float]

TEXT_200 = 200
TEXT_500 = 500


@dataclass(frozen=True, slots=True)
class Ready:
    """A case that is set up: only `work` is measured."""

    work: Callable[[], Awaitable[object]]
    facts: Callable[[], Awaitable[Facts]] | None = None
    """What else is to be known of it, asked afterwards."""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    """The workload, then how it is stored: `W3 memory`, `W3 full`."""
    units: int
    """How many visits, nodes or runs one sample makes."""
    open: Callable[[], AbstractAsyncContextManager[Ready]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the workloads are; the short ones only show that everything works."""

    chain: int = 50
    fan: int = 100
    visits: int = 50
    runs: int = 200
    growth: tuple[tuple[int, int], ...] = ((500, 50), (500, 500))
    """Visits and variables of the long loops."""
    listed: int = 10_000

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Sizes:
        if "--quick" not in arguments:
            return cls()
        return cls(chain=5, fan=5, visits=10, runs=5, growth=((20, 5), (20, 20)), listed=100)


def text(number: int, length: int) -> str:
    """Return a text of its own for each number: some stores keep equal values once."""
    return f"{number:08d}".ljust(length, "x")


def fixed(work: Callable[[], Awaitable[object]]) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    """Open a case that needs nothing set up."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        yield Ready(work)

    return opened


def serve(cases: Sequence[Case]) -> None:
    """Say which cases there are, then take a sample for each name that comes in, until none comes."""
    known = {case.name: case for case in cases}
    print(json.dumps({case.name: case.units for case in cases}), flush=True)
    asyncio.run(_serve(known))


async def _serve(known: Mapping[str, Case]) -> None:
    while name := sys.stdin.readline().strip():
        sample = await _sample(known[name])
        print(json.dumps(sample), flush=True)


async def _sample(case: Case) -> dict[str, float]:
    async with case.open() as ready:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        await ready.work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        facts: Facts = await ready.facts() if ready.facts is not None else {}
    return {"wall": wall, "cpu": cpu, **facts}


@asynccontextmanager
async def scratch_folder() -> AsyncGenerator[Path]:
    with tempfile.TemporaryDirectory(prefix="flyback-bench-", dir=os.environ.get("BENCH_TMP")) as folder:
        yield Path(folder)

"""Writes `results.md`, for people, and `results.json`, for machines."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.environments import ENGINES
from bench.figures import Figure, figures
from bench.measures import Measures

_WORKLOADS = {
    "W1": "chain of 50 nodes that do nothing, one variable of 200 bytes each; unit: node",
    "W2": "fan-out 1 → 100 → 1; unit: node",
    "W3": "loop of 50 visits over 5 nodes, the next one picked at run time, one variable of 500 bytes a visit; unit: visit",
    "W4": "200 runs of a chain of 10 at the same time; unit: run",
    "W5": "the same with 20 ms a node (Flyback: a model call), 0.2 s at best; unit: node",
    "W6": "long loops, visits/variables; unit: visit",
    "W7": "a whole process that runs the smallest graph; unit: process",
    "W8": "the newest 50 of 10,000 runs, asked of the service; unit: list",
}


def write(measures: Measures, folder: Path, *, loads: Sequence[float], arguments: Sequence[str]) -> str:
    """Write both files and return the table."""
    found = figures(measures)
    text = "\n".join(_lines(measures, found, loads, arguments)) + "\n"
    (folder / "results.md").write_text(text)
    listed = [figure.on_wire() for figure in found]
    (folder / "results.json").write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n")
    return text


def _lines(
    measures: Measures, found: Sequence[Figure], loads: Sequence[float], arguments: Sequence[str]
) -> Iterator[str]:
    yield "# Benchmark"
    yield ""
    yield f"`{' '.join(['python -m bench', *arguments])}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. {_machine()}"
    yield (
        f"Load average while it ran: {min(loads):.1f} to {max(loads):.1f}. CPU is of the whole process, all threads, "
        "medians of the samples, which the engines took in turns; compare CPU and ratios, wall times carry the load."
    )
    yield from _compared(found)
    yield from _measured(measures)


def _compared(found: Sequence[Figure]) -> Iterator[str]:
    yield ""
    yield "## Compared"
    yield ""
    yield "LangGraph writes in `sync` mode with its asynchronous SQLite saver; `blocking` is its other one, which holds the event loop while it writes."
    yield ""
    yield "| figure | value | gate | |"
    yield "|---|---:|---:|---|"
    for figure in found:
        if figure.unit != "µs a unit":
            gate = figure.gate or ""
            mark = {True: "pass", False: "**missed**", None: ""}[figure.is_passed]
            yield f"| {figure.name} | {number(figure.value)} {figure.unit} | {gate} | {mark} |"


def _measured(measures: Measures) -> Iterator[str]:
    yield ""
    yield "## Measured"
    for workload, meaning in _WORKLOADS.items():
        cases = list(dict.fromkeys(case for _, case in measures.cases if case.startswith(f"{workload} ")))
        if not cases:
            continue
        yield ""
        yield f"**{workload}**: {meaning}"
        yield ""
        yield f"| µs a unit, CPU / wall | {' | '.join(ENGINES)} |"
        yield f"|---|{'---:|' * len(ENGINES)}"
        for case in cases:
            yield f"| {case} | {' | '.join(_cell(measures, engine, case) for engine in ENGINES)} |"


def _cell(measures: Measures, engine: str, case: str) -> str:
    cpu, wall = measures.per_unit(engine, case, "cpu"), measures.per_unit(engine, case, "wall")
    if cpu is None or wall is None:
        return "–"
    units = measures.units(engine, case)
    size = measures.fact(engine, case, "bytes")
    memory = measures.fact(engine, case, "megabytes")
    beside = "" if size is None else f", {size / units / 1000:.1f} kB"
    beside += "" if memory is None else f", {memory:.0f} MB"
    return f"{number(cpu)} / {number(wall)}{beside}"


def _machine() -> str:
    return f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"

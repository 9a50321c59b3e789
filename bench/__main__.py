"""`python -m bench`: run every workload on every engine, in turns, and write `results.md`, `results.json` and `results.svg`.

A whole run takes some minutes. `--only W3,W4` takes some workloads, `--quick` small sizes and one sample each, which shows
that everything works and measures nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import plot, postgres, served, table, whole_process
from bench.environments import ENGINES, FLYBACK, ROOT, Environment, environment_of
from bench.figures import figures
from bench.measures import Measures
from bench.worker import Worker

_REPEATS = 9
_FEW_REPEATS = 3
_LONG = ("W4", "W5", "W6")
"""Workloads whose single sample takes seconds."""
_ONCE = "W8"
"""Setting it up takes longer than all the rest."""


def main() -> int:
    given = _arguments()
    engines = [engine for engine in ENGINES if engine == FLYBACK or not given.alone]
    environments = [environment_of(engine) for engine in engines]
    measures, loads = Measures(), [os.getloadavg()[0]]
    with ExitStack() as stack:
        stack.enter_context(postgres.running())
        arguments = ["--quick"] if given.quick else []
        workers = [stack.enter_context(Worker(environment, arguments)) for environment in environments]
        for workload, cases in _workloads(workers, given.only).items():
            _take(cases, workers, measures, _repeats(workload, given.repeats, quick=given.quick))
            loads.append(os.getloadavg()[0])
    if not given.only or "W7" in given.only:
        _take_whole_processes(environments, measures, 1 if given.quick else _FEW_REPEATS)
    if not given.only or "W9" in given.only:
        _take_served(measures, quick=given.quick)
    given.out.mkdir(parents=True, exist_ok=True)
    print(table.write(measures, given.out, loads=loads, arguments=sys.argv[1:]))
    plot.write(figures(measures), given.out / "results.svg")
    return 1 if given.gate and not _is_no_slower(measures) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and one sample each")
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), default=(), help="workloads, as W3,W4")
    parser.add_argument("--repeats", type=int, default=_REPEATS, help="samples of each case, of long ones a third")
    parser.add_argument("--alone", action="store_true", help="Flyback without its peers")
    parser.add_argument("--gate", action="store_true", help="end with 1 where Flyback is slower than LangGraph")
    parser.add_argument("--out", type=Path, default=ROOT / "bench", help="the folder for the results")
    return parser.parse_args()


def _workloads(workers: Sequence[Worker], only: Sequence[str]) -> Mapping[str, list[str]]:
    """Every workload with the cases that some engine has of it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for case in dict.fromkeys(case for worker in workers for case in worker.units):
        workload = case.partition(" ")[0]
        if not only or workload in only:
            found[workload].append(case)
    return dict(sorted(found.items()))


def _repeats(workload: str, wanted: int, *, quick: bool) -> int:
    if quick or workload == _ONCE:
        return 1
    return max(1, wanted // 3) if workload in _LONG else wanted


def _take(cases: Sequence[str], workers: Sequence[Worker], measures: Measures, repeats: int) -> None:
    """Take the samples of a workload, case by case and engine by engine in turns. A first round warms up."""
    turns = [(worker, case) for case in cases for worker in workers if case in worker.units]
    print(", ".join(cases), file=sys.stderr, flush=True)
    if repeats > _FEW_REPEATS:
        for worker, case in turns:
            worker.sample(case)
    for _ in range(repeats):
        for worker, case in turns:
            measures.add(worker.engine, case, worker.units[case], worker.sample(case))


def _take_whole_processes(environments: Sequence[Environment], measures: Measures, repeats: int) -> None:
    """The first round compiles what was installed and does not count."""
    for environment in environments:
        whole_process.sample(environment)
    for _ in range(repeats):
        for environment in environments:
            sample: Mapping[str, float] = whole_process.sample(environment)
            measures.add(environment.engine, whole_process.CASE, 1, sample)


def _take_served(measures: Measures, *, quick: bool) -> None:
    print(served.CASE, file=sys.stderr, flush=True)
    for _ in range(1 if quick else _FEW_REPEATS):
        measures.add(FLYBACK, served.CASE, 1, served.sample(quick=quick))


def _is_no_slower(measures: Measures) -> bool:
    """Whether every comparison with LangGraph's CPU at a limit of 1 holds: the one gate that counts today."""
    return all(figure.is_passed for figure in figures(measures) if figure.gate is not None and figure.gate.limit == 1.0)


if __name__ == "__main__":
    raise SystemExit(main())

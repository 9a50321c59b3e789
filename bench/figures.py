"""The figures that are compared, each with its gate where it has one, as `results.json` lists them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.environments import FLYBACK, LANGGRAPH, PYDANTIC_GRAPH
from bench.measures import Measures
from bench.served import CASE as SERVED
from bench.whole_process import CASE as WHOLE_PROCESS

_SIGNS: dict[str, Callable[[float, float], bool]] = {"≤": operator.le, "≥": operator.ge}
_IDEAL_SECONDS = 0.2
"""Ten calls of 20 ms, one after another."""
_LISTED = "W8 full"


@dataclass(frozen=True, slots=True)
class Gate:
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    unit: str
    gate: Gate | None = None

    @property
    def is_passed(self) -> bool | None:
        return None if self.gate is None else _SIGNS[self.gate.sign](self.value, self.gate.limit)

    def on_wire(self) -> dict[str, object]:
        gate = None if self.gate is None else str(self.gate)
        return {
            "name": self.name,
            "value": _rounded(self.value),
            "unit": self.unit,
            "gate": gate,
            "pass": self.is_passed,
        }


def figures(measures: Measures) -> list[Figure]:
    """Work out every figure that the measured cases allow: first the ratios, then the plain ones, then the raw times."""
    return [*_ratios(measures), *_plain(measures), *_raw(measures)]


def _ratios(measures: Measures) -> Iterator[Figure]:
    no_slower, half, quarter = Gate("≤", 1.0), Gate("≤", 0.5), Gate("≤", 0.25)
    for workload in ("W1", "W2", "W3", "W4"):
        bare = f"{workload} bare"
        memory, full = f"{workload} memory", f"{workload} full"
        gate = half if workload == "W3" else None
        yield from _ratio(measures, memory, PYDANTIC_GRAPH, bare, "cpu", gate)
        yield from _ratio(measures, memory, LANGGRAPH, memory, "cpu", no_slower)
        yield from _ratio(measures, memory, LANGGRAPH, full, "cpu", no_slower)
        for sync in (full, f"{workload} normal"):
            yield from _ratio(measures, sync, LANGGRAPH, sync, "cpu", no_slower)
            yield from _ratio(measures, sync, LANGGRAPH, f"{sync} blocking", "cpu")
            if workload == "W3":
                yield from _ratio(measures, sync, LANGGRAPH, sync, "cpu", quarter, aim=", aim")
                yield from _ratio(measures, sync, LANGGRAPH, sync, "wall", Gate("≤", 0.3), aim=", aim")
    for workload in ("W4 full", "W4 normal"):
        mine, theirs = measures.fact(FLYBACK, workload, "wall"), measures.fact(LANGGRAPH, workload, "wall")
        if mine and theirs:
            yield Figure(f"{workload}: runs a second against {LANGGRAPH}", theirs / mine, "×", Gate("≥", 15))

    for case in ("W3 postgres", "W4 postgres"):
        for what in ("cpu", "wall"):
            yield from _ratio(measures, case, LANGGRAPH, case, what)


def _ratio(
    measures: Measures,
    case: str,
    peer: str,
    against: str,
    what: str,
    gate: Gate | None = None,
    *,
    aim: str = "",
) -> Iterator[Figure]:
    mine, theirs = measures.per_unit(FLYBACK, case, what), measures.per_unit(peer, against, what)
    if mine is None or theirs is None:
        return
    named = "" if against == case else f", {against.partition(' ')[2]}"
    yield Figure(f"{case}: {'CPU' if what == 'cpu' else 'wall'} against {peer}{named}{aim}", mine / theirs, "×", gate)


def _plain(measures: Measures) -> Iterator[Figure]:
    for case in ("W5 memory", "W5 full"):
        if (wall := measures.fact(FLYBACK, case, "wall")) is not None:
            yield Figure(f"{case}: total against the ideal", wall / _IDEAL_SECONDS, "×", Gate("≤", 1.5))
    yield from _growth(measures)
    if (wall := measures.fact(FLYBACK, _LISTED, "wall")) is not None:
        yield Figure("W8: newest 50 of 10,000 runs, the service alone", wall * 1000, "ms")
    if (wall := measures.fact(FLYBACK, WHOLE_PROCESS, "wall")) is not None:
        megabytes = measures.fact(FLYBACK, WHOLE_PROCESS, "megabytes") or 0.0
        yield Figure("W7: flyback run, whole process", wall, "s", Gate("≤", 1))
        yield Figure("W7: flyback run, peak memory", megabytes, "MB", Gate("≤", 80))

    yield from _served(measures)


def _served(measures: Measures) -> Iterator[Figure]:
    seen = {name: measures.fact(FLYBACK, SERVED, name) for name in _SERVED}
    for name, (told, factor, unit, gate) in _SERVED.items():
        if (value := seen[name]) is not None:
            yield Figure(f"W9: {told}", value * factor, unit, gate)
    for what, readers, limit in (("alone", "one client", 0.5), ("together", "500 clients", 0.8)):
        mine, bare = (measures.fact(FLYBACK, SERVED, f"{name} {what}") for name in ("flyback", "bare"))
        if mine and bare:
            yield Figure(f"W9: events a second to {readers}", mine, "events/s")
            yield Figure(f"W9: events a second to {readers} against bare Starlette", mine / bare, "×", Gate("≥", limit))


_SERVED: dict[str, tuple[str, float, str, Gate | None]] = {
    "idle megabytes": ("memory of an idle server", 1, "MB", Gate("≤", 150)),
    "start": ("from the request to the first visit", 1000, "ms", Gate("≤", 50)),
    "list": ("newest 50 of 10,000 runs over HTTP", 1000, "ms", Gate("≤", 5)),
    "restart": ("from a restart after a kill to the run's next event", 1, "s", None),
}


def _growth(measures: Measures) -> Iterator[Figure]:
    """Bytes a visit beyond outputs and snapshots, when the same number of visits writes ten times more variables."""
    beyond = [
        (case, sum(sign * (measures.fact(FLYBACK, case, name) or 0.0) for name, sign in _BEYOND))
        for engine, case in measures.cases
        if engine == FLYBACK and case.startswith("W6 ")
    ]
    if len(beyond) == 2:
        (_, few), (_, many) = beyond
        yield Figure("W6: bytes a visit, workspace ten times larger", many / few, "×", Gate("≤", 1.2))


_BEYOND = (("bytes", 1), ("outputs", -1), ("snapshots", -1))


def _raw(measures: Measures) -> Iterator[Figure]:
    for engine, case in measures.cases:
        for what, name in (("cpu", "CPU"), ("wall", "wall")):
            value = measures.per_unit(engine, case, what)
            if value is not None:
                yield Figure(f"{case}: {engine}, {name}", value, "µs a unit")


def _rounded(value: float) -> float:
    return round(value, 3) if value < 100 else round(value, 1)

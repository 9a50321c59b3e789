"""What was measured: the samples of every case, and the figures that are made of them. Medians throughout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import median

Sample = Mapping[str, float]


class Measures:
    def __init__(self) -> None:
        self._samples: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
        self._units: dict[tuple[str, str], int] = {}

    def add(self, engine: str, case: str, units: int, sample: Sample) -> None:
        self._samples[engine, case].append(sample)
        self._units[engine, case] = units

    @property
    def cases(self) -> list[tuple[str, str]]:
        """Engine and case, of all that were measured."""
        return list(self._samples)

    def units(self, engine: str, case: str) -> int:
        return self._units[engine, case]

    def count(self, engine: str, case: str) -> int:
        return len(self._samples[engine, case])

    def fact(self, engine: str, case: str, name: str) -> float | None:
        """The median of one figure over the samples; None where it was not measured."""
        found = [sample[name] for sample in self._samples.get((engine, case), ()) if name in sample]
        return median(found) if found else None

    def per_unit(self, engine: str, case: str, name: str) -> float | None:
        """The same for one unit, times in microseconds."""
        value = self.fact(engine, case, name)
        return None if value is None else value / self._units[engine, case] * 1e6

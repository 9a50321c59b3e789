"""`python -m bench.profile "W3 memory"`: where the time of one of Flyback's cases goes, function by function.

Samples are taken by CPU time, of the whole process: a tracing profiler makes small functions look several times dearer
than they are. What other threads use shows up where the event loop waits for them (`selectors.py:select`).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
from collections import Counter
from types import FrameType

from bench.case import Case, Sizes
from bench.flyback_cases import cases

_EVERY_SECONDS = 0.0005


class Sampler:
    def __init__(self) -> None:
        self.count = 0
        self._inside: Counter[str] = Counter()
        """Samples in which a function was at work or waited for what it had called."""
        self._itself: Counter[str] = Counter()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._take)
        signal.setitimer(signal.ITIMER_PROF, _EVERY_SECONDS, _EVERY_SECONDS)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def lines(self, most: int) -> list[str]:
        return [
            f"{inside / self.count:6.1%} {self._itself[name] / self.count:6.1%}  {name}"
            for name, inside in self._inside.most_common(most)
        ]

    def _take(self, _number: int, frame: FrameType | None) -> None:
        self.count += 1
        if frame is not None:
            self._itself[_name(frame)] += 1
        seen: set[str] = set()
        while frame is not None:
            seen.add(_name(frame))
            frame = frame.f_back
        self._inside.update(seen)


def _name(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_code.co_name}"


async def _run(case: Case, times: int, sampler: Sampler) -> None:
    for _ in range(times):
        async with case.open() as ready:
            gc.collect()
            sampler.start()
            await ready.work()
            sampler.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("case", help='as "W3 memory" or "W3 full"')
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--most", type=int, default=60, help="lines")
    given = parser.parse_args()
    sampler = Sampler()
    case = next(case for case in cases(Sizes()) if case.name == given.case)
    asyncio.run(_run(case, given.times, sampler))
    print(f"{sampler.count} samples\ninside itself  function")
    print("\n".join(sampler.lines(given.most)))


if __name__ == "__main__":
    main()

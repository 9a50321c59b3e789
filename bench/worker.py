"""The processes that take the samples, one an engine, all alive at once and at work one after another."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType

from bench.environments import ROOT, Environment


class Worker:
    """One engine's process. Use it as a context."""

    def __init__(self, environment: Environment, arguments: Sequence[str]) -> None:
        self.engine = environment.engine
        self._process = subprocess.Popen(
            [str(environment.python), "-m", environment.module, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._closing = ExitStack()
        self._closing.enter_context(self._process)
        self.units: Mapping[str, int] = {case: int(units) for case, units in self._answer().items()}
        """Case to the units of one sample."""

    def sample(self, case: str) -> Mapping[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Mapping[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"The process of {self.engine} ended with status {self._process.wait()}.")
        return json.loads(line)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._closing.close()

"""The benchmark runs and writes its table and its figures. How fast anything is, no test says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]


def test_given_a_short_benchmark_then_table_and_figures_are_written(tmp_path: Path) -> None:
    # when the short benchmark runs, without the peers, which would have to be installed
    command = [sys.executable, "-m", "bench", "--quick", "--alone", "--only", "W1,W3", "--out", str(tmp_path)]
    ended = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=100)
    # then it ends well
    assert ended.returncode == 0, ended.stderr
    # and people find their table
    table = (tmp_path / "results.md").read_text()
    assert "| W3 memory |" in table
    # and machines find every figure in one shape
    figures = json.loads((tmp_path / "results.json").read_text())
    assert figures
    assert all(figure.keys() == {"name", "value", "unit", "gate", "pass"} for figure in figures)

"""Questions in the terminal: where nobody can be asked the program says how to answer, and another command does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Flyback = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def flyback(tmp_path: Path) -> Flyback:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flyback.main", *words],
            input="",
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env={**os.environ, "FLYBACK_DATA": str(tmp_path / "data"), "COLUMNS": "200"},
        )

    return run


def _graph(tmp_path: Path) -> str:
    document: dict[str, Any] = {
        "name": "Asks",
        "mode": "DAG",
        "graphData": {
            "nodes": [
                {"id": "act", "type": "smartAction", "data": {"instruction": "Act.", "model": "scripted"}},
                {"id": "out", "type": "output", "data": {}},
            ],
            "edges": [{"id": "1", "source": "act", "target": "out"}],
        },
        "script": [
            {
                "for": {"node": "act"},
                "replies": [{"tool": {"name": "clarify", "args": {"question": "Which?"}}}, {"echoLastAnswer": "took "}],
            }
        ],
    }
    file = tmp_path / "asks.json"
    file.write_text(json.dumps(document))
    return str(file)


def test_given_no_terminal_when_a_run_asks_then_it_ends_with_4_and_another_command_answers_it(
    flyback: Flyback, tmp_path: Path
) -> None:
    # given a run that asks
    asked = flyback("run", _graph(tmp_path))
    assert asked.returncode == 4, asked.stderr
    assert "Which?" in asked.stderr
    command = re.search(r"flyback answer (\S+) --pause (\S+) --answer", asked.stderr)
    assert command is not None
    run_id, pause_id = command.groups()
    # when it is answered as it said
    answered = flyback("answer", run_id, "--pause", pause_id, "--answer", "the first")
    # then it goes on to its end
    assert answered.returncode == 0, answered.stderr
    assert "took the first" in answered.stdout
    # and nothing is left to answer
    again = flyback("answer", run_id, "--answer", "the second")
    assert (again.returncode, "INVALID" in again.stderr) == (2, True)


def test_a_run_that_waits_is_shown_with_what_it_asks(flyback: Flyback, tmp_path: Path) -> None:
    flyback("run", _graph(tmp_path))
    run_id = json.loads(flyback("runs", "--json").stdout)[0]["runId"]
    shown = flyback("show", run_id)
    assert "Which?" in shown.stderr
    assert flyback("resume", run_id).returncode == 4

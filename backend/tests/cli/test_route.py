"""A run's route in the terminal: what strangers wrote is shown, and does nothing there."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from pydantic import JsonValue
from rich.console import Console

from flyback.cli.route import RoutePrinter

TITLE = "\x1b]0;owned\x07"
"""Sets the title of a terminal's window."""


def shown(kind: str, data: Mapping[str, JsonValue], *, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, color_system=None, width=40, highlight=False)
    RoutePrinter(console, {"a": f"Draft{TITLE}"}).show({"runId": "r", "type": kind, "data": data})
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def complete(result: JsonValue, *, terminal: bool = False) -> str:
    outputs: list[JsonValue] = [{"nodeId": "out", "result": result}]
    return shown("workflow_complete", {"durationMs": 0, "outputs": outputs}, terminal=terminal).partition("\n")[2]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("word " * 40, "word " * 40),
        ("see [red]this[/] and :smile:", "see [red]this[/] and :smile:"),
        ({"ok": True, "none": None, "list": ["[a]"]}, '{"ok":true,"none":null,"list":["[a]"]}'),
    ],
)
def test_a_result_is_given_as_it_is(result: JsonValue, text: str) -> None:
    assert complete(result) == f"{text}\n"


def test_on_a_terminal_nothing_that_was_written_moves_or_sets_it() -> None:
    assert complete(f"{TITLE}tides", terminal=True) == "\\u001b]0;owned\\u0007tides\n"
    told: dict[str, dict[str, JsonValue]] = {
        "planner_decision": {"source": "planner", "next": "a", "onCanvas": True, "reason": f"go{TITLE}"},
        "workflow_error": {"code": "NODE_FAILED", "message": f"said {TITLE}"},
        "clarify_request": {"questions": [{"text": f"Go? {TITLE}"}]},
        "node_status": {"nodeId": "a", "status": "FAILED", "error": {"code": "X", "message": TITLE}},
    }
    for kind, data in told.items():
        said = shown(kind, data, terminal=True)
        assert "\x1b]" not in said
        assert "\\u001b]0" in said

"""The sample of the sandbox: code is written, checked where it can do no harm, and written again until it passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flyback import Workflow, run

_SAMPLE = Path(__file__).parents[3] / "samples" / "code-review-loop.json"


async def test_given_the_sample_the_run_goes_back_until_the_check_passes(tmp_path: Path) -> None:
    running = run(Workflow.load(_SAMPLE), model="scripted", data=tmp_path)
    events = [event async for event in running]
    visits = [event["data"] for event in events if event["type"] == "visit_recorded"]
    assert [visit["nodeId"] for visit in visits] == [
        "task",
        "write",
        "check",
        "write",
        "check",
        "write",
        "check",
        "done",
    ]
    assert [_checked(visit) for visit in visits if visit["nodeId"] == "check"] == [
        (False, "The check failed: median([4, 1, 3, 2]) is 3, expected 2.5; median([]) fails: list index out of range"),
        (False, "The check failed: median([]) fails: list index out of range"),
        (True, "All checks passed."),
    ]
    (output,) = running.outputs
    assert "return None" in output["result"]


def _checked(visit: dict[str, Any]) -> tuple[bool, str]:
    data = visit["output"]["data"]
    return data["passed"], data["text"]

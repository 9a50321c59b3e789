"""The sample of the iteration: every review is answered in a run of its own, and the answers come back in order."""

from __future__ import annotations

from pathlib import Path

from flyback import Workflow, run

_SAMPLE = Path(__file__).parents[3] / "samples" / "every-review.json"


async def test_given_the_sample_every_review_is_answered_in_a_run_of_its_own(tmp_path: Path) -> None:
    running = run(Workflow.load(_SAMPLE), model="scripted", data=tmp_path)
    told = [event["data"] async for event in running if event["type"] == "sub_run"]
    assert sorted(one["index"] for one in told if one["status"] == "SUCCESS") == [0, 1, 2]
    assert len({one["subRunId"] for one in told}) == 3
    (output,) = running.outputs
    lines = [line for line in str(output["result"]).splitlines() if line.startswith("- ")]
    assert [line.split(":")[0] for line in lines] == ["- To Ada", "- To Ben", "- To Chen"]
    assert "sorry" in lines[1]

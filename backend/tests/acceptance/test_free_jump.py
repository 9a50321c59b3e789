"""What the product is for: a wish that a person voices while the run goes on sends it back to where the wish is done."""

from __future__ import annotations

from pathlib import Path

from kit.door import open_door

_WISH = "there is one more requirement: thank her parents"


async def test_given_a_wish_in_an_answer_when_the_planner_reads_it_then_the_run_flies_back_and_fulfils_it(
    tmp_path: Path,
) -> None:
    async with open_door(tmp_path) as door:
        # given the sample, which asks while it works
        opened = (await door.key.post("/api/samples/free-jump/open")).json()
        body = {"inputs": {"occasion": "Mia's birthday"}, "model": "scripted"}
        started = await door.key.post(f"/api/workflows/{opened['id']}/run?wait=true", json=body)
        run = started.json()
        assert run["status"] == "PAUSED", run
        # when the person answers with one more wish
        answer = {"answer": _WISH}
        assert (await door.key.post(f"/api/runs/{run['runId']}/resume", json=answer)).status_code == 200
        # then the run ends, and each step of the way can be read
        async with door.key.stream("GET", f"/api/runs/{run['runId']}/events") as stream:
            await stream.aread()
        detail = (await door.key.get(f"/api/runs/{run['runId']}")).json()
        assert detail["status"] == "SUCCESS"
        first, second = [visit for visit in detail["visits"] if visit["nodeId"] == "toast"]
        # the answer of the first visit begins with the wish, and says it as a signal too
        assert first["output"]["data"]["final_response"] == f"The user has a new requirement: {_WISH}"
        assert first["output"]["signals"] == {"newRequirements": [_WISH]}
        # the planner has read it
        calls = (await door.key.get(f"/api/runs/{run['runId']}/visits/{first['visitId']}/calls")).json()["items"]
        (planner,) = [call for call in calls if call["role"] == "planner"]
        assert _WISH in str(planner["request"]["messages"])
        # the second visit was told the wish and the reason, and asks nobody again
        assert (second["fromNodeId"], second["isFlyBack"], second["iterSeq"]) == ("toast", True, 2)
        calls = (await door.key.get(f"/api/runs/{run['runId']}/visits/{second['visitId']}/calls")).json()["items"]
        prompt = calls[0]["request"]["messages"][-1]["content"]
        assert _WISH in prompt
        assert first["decision"]["reason"] in prompt
        assert len(detail["pauses"]) == 1
        assert "your parents" in detail["outputs"][0]["result"]

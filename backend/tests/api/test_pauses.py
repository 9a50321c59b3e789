"""Questions over HTTP: the inbox, answers and what is said to answers that cannot be taken, on both databases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from flyback.domain.run import RunId
from kit import checker
from kit.databases import BOTH
from kit.door import Door, open_door

_FORM = {
    "prompt": "Is {{q}} fine?",
    "form": [{"name": "remark", "label": "Remark"}],
    "actions": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
}


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param) as opened:
        yield opened


def _body(forms: int) -> dict[str, Any]:
    """How to start a run that asks with forms."""
    names = [f"form{n}" for n in range(forms)]
    nodes = [
        {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "q"}]}},
        *({"id": name, "type": "humanInput", "data": _FORM} for name in names),
        {"id": "out", "type": "output", "data": {"template": "{{form0.action}}: {{form0.remark}}"}},
    ]
    edges = [{"id": f"a{name}", "source": "ask", "target": name} for name in names]
    edges += [{"id": f"b{name}", "source": name, "target": "out", "sourceHandle": "action-yes"} for name in names]
    document = {"name": "Asks", "mode": "DAG", "graphData": {"nodes": nodes, "edges": edges}}
    return {"workflow": document, "model": "scripted", "inputs": {"q": "it"}}


async def _asking(door: Door, *, forms: int = 1) -> dict[str, Any]:
    """Start a run that asks with forms, and return its detail as it waits."""
    answer = await door.key.post("/api/runs?wait=true", json=_body(forms))
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "PAUSED"
    return answer.json()


def _yes(remark: str = "good") -> dict[str, Any]:
    return {"answers": [{"questionId": "remark", "value": remark}], "action": "yes"}


async def _ended(door: Door, run_id: str, *, or_paused: bool = False) -> dict[str, Any]:
    while True:
        detail = (await door.key.get(f"/api/runs/{run_id}")).json()
        if detail["status"] in ("SUCCESS", "FAILED", "CANCELLED") or (or_paused and detail["status"] == "PAUSED"):
            return detail
        await asyncio.sleep(0.02)


async def test_what_waits_stands_in_the_inbox_with_everything_that_is_asked(door: Door) -> None:
    run = await _asking(door)
    (pause,) = (await door.key.get("/api/pauses?status=open")).json()["items"]
    assert (pause["runId"], pause["nodeId"], pause["kind"]) == (run["runId"], "form0", "form")
    assert pause["prompt"] == "Is it fine?"
    assert pause["actions"] == [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    assert [question["id"] for question in pause["questions"]] == ["remark"]


@pytest.mark.parametrize("mode", ["DAG", "AGENTIC"])
async def test_the_inbox_says_by_name_which_node_of_which_workflow_asks(door: Door, mode: str) -> None:
    body = _body(1)
    workflow = body["workflow"]
    workflow["mode"], workflow["name"] = mode, "Invoices"
    workflow["script"] = [{"for": {"role": "planner"}, "replies": [{"next": "form0", "reason": "-"}]}]
    workflow["graphData"]["nodes"][1]["data"] = {**_FORM, "label": "Look it over"}
    run = (await door.key.post("/api/runs?wait=true", json=body)).json()
    (pause,) = (await door.key.get("/api/pauses?status=open")).json()["items"]
    assert (pause["workflowName"], pause["nodeLabel"], pause["nodeId"]) == ("Invoices", "Look it over", "form0")
    assert run["pauses"] == [pause]


async def test_an_answer_goes_on_with_the_run_and_the_same_again_is_as_good_as_once(door: Door) -> None:
    run = await _asking(door)
    path = f"/api/pauses/{run['pauses'][0]['pauseId']}/answer"
    first = await door.key.post(path, json=_yes())
    assert (first.status_code, first.json()["status"]) == (200, "ANSWERED")
    detail = await _ended(door, run["runId"])
    assert detail["outputs"] == [{"nodeId": "out", "result": "yes: good"}]
    again = await door.key.post(path, json=_yes())
    assert (again.status_code, again.json()["answers"]) == (200, first.json()["answers"])
    assert (await door.key.get("/api/pauses?status=open")).json()["items"] == []


async def test_another_answer_is_shown_the_first(door: Door) -> None:
    run = await _asking(door)
    path = f"/api/pauses/{run['pauses'][0]['pauseId']}/answer"
    await door.key.post(path, json=_yes())
    refused = await door.key.post(path, json=_yes("bad"))
    assert (refused.status_code, refused.json()["code"]) == (409, "PAUSE_ANSWERED")
    assert refused.json()["current"]["answers"] == [{"questionId": "remark", "value": "good"}]


async def test_of_two_answers_at_once_one_counts_and_the_other_is_shown_it(door: Door) -> None:
    run = await _asking(door)
    path = f"/api/pauses/{run['pauses'][0]['pauseId']}/answer"
    one, other = await asyncio.gather(door.key.post(path, json=_yes()), door.page.post(path, json=_yes("bad")))
    assert sorted((one.status_code, other.status_code)) == [200, 409]
    detail = await _ended(door, run["runId"])
    assert (detail["status"], len(detail["outputs"])) == ("SUCCESS", 1)
    told = (one if one.status_code == 200 else other).json()["answers"]
    assert detail["outputs"][0]["result"] == f"yes: {told[0]['value']}"
    assert await door.database.read(lambda conn: checker.faults(conn, run["runId"])) == []


async def test_an_answer_that_comes_as_soon_as_the_question_is_told_is_taken_up(door: Door) -> None:
    async def answered() -> dict[str, Any]:
        run_id = (await door.key.post("/api/runs", json=_body(1))).json()["runId"]
        async for batch in door.services.streams.follow(RunId(run_id)):
            for event in batch if isinstance(batch, list) else ():
                if event.type == "clarify_request":
                    pause_id = json.loads(event.data_json)["pauseId"]
                    answer = await door.key.post(f"/api/pauses/{pause_id}/answer", json=_yes())
                    assert answer.status_code == 200, answer.text
        return await _ended(door, run_id)

    async with asyncio.timeout(60):
        runs = await asyncio.gather(*(answered() for _ in range(8)))
    assert {run["status"] for run in runs} == {"SUCCESS"}


async def test_an_answer_that_does_not_fit_says_what_would(door: Door) -> None:
    run = await _asking(door)
    refused = await door.key.post(f"/api/pauses/{run['pauses'][0]['pauseId']}/answer", json={"answer": "x"})
    assert (refused.status_code, refused.json()["code"]) == (422, "INPUT_INVALID")
    assert refused.json()["errors"][0]["field"] == "action"
    assert "'yes', 'no', 'cancel'" in refused.json()["errors"][0]["fix"]


async def test_cancel_is_an_answer_too_and_then_nobody_waits(door: Door) -> None:
    run = await _asking(door)
    path = f"/api/pauses/{run['pauses'][0]['pauseId']}/answer"
    cancelled = await door.key.post(path, json={"action": "cancel"})
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "CANCELLED")
    assert (await _ended(door, run["runId"]))["status"] == "CANCELLED"
    assert (await door.key.post(path, json={"action": "cancel"})).status_code == 200
    late = await door.key.post(path, json=_yes())
    assert (late.status_code, late.json()["code"]) == (410, "PAUSE_CLOSED")


async def test_the_only_question_of_a_run_is_answered_by_the_run_and_several_are_listed(door: Door) -> None:
    run = await _asking(door, forms=2)
    refused = await door.key.post(f"/api/runs/{run['runId']}/resume", json=_yes())
    assert (refused.status_code, refused.json()["code"]) == (409, "SEVERAL_PAUSES")
    assert sorted(fault["node"] for fault in refused.json()["errors"]) == ["form0", "form1"]
    await door.key.post(f"/api/pauses/{run['pauses'][0]['pauseId']}/answer", json=_yes())
    await _ended(door, run["runId"], or_paused=True)
    resumed = await door.key.post(f"/api/runs/{run['runId']}/resume", json=_yes())
    assert resumed.status_code == 200, resumed.text
    assert (await _ended(door, run["runId"]))["status"] == "SUCCESS"


async def test_a_question_that_is_not_there_or_not_ones_own_is_not_found(door: Door) -> None:
    missing = await door.key.post("/api/pauses/nothing/answer", json=_yes())
    assert (missing.status_code, missing.json()["code"]) == (404, "NOT_FOUND")


async def test_a_node_that_asks_cannot_be_tested_alone_and_says_so(door: Door) -> None:
    nodes = [
        {"id": "form", "type": "humanInput", "data": _FORM},
        {"id": "out", "type": "output", "data": {"template": "-"}},
    ]
    graph = {"nodes": nodes, "edges": []}
    workflow = (await door.key.post("/api/workflows", json={"name": "Asks", "graphData": graph})).json()
    tried = await door.key.post(f"/api/workflows/{workflow['id']}/nodes/form/test", json={"variables": {}})
    assert (tried.json()["status"], tried.json()["error"]["code"]) == ("FAILED", "INPUT_REQUIRED")

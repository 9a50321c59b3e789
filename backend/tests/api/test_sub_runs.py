"""Runs inside runs over HTTP: how they are found, answered, cancelled and called, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from kit.databases import BOTH
from kit.door import Door, open_door

_ASK = {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "item"}]}}
_FORM = {"id": "form", "type": "humanInput", "data": {"form": [{"name": "word"}]}}
_ASKING: dict[str, Any] = {
    "name": "Asks",
    "graphData": {
        "nodes": [_ASK, _FORM, {"id": "out", "type": "output", "data": {"template": "{{item}} {{form.word}}"}}],
        "edges": [{"id": "1", "source": "ask", "target": "form"}, {"id": "2", "source": "form", "target": "out"}],
    },
}


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param) as opened:
        yield opened


def _outer(kind: str, template: str, **data: Any) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [
        {"id": "start", "type": "userInput", "data": {}},
        {"id": "inner", "type": kind, "data": data},
        {"id": "out", "type": "output", "data": {"template": template}},
    ]
    edges = [{"id": "1", "source": "start", "target": "inner"}, {"id": "2", "source": "inner", "target": "out"}]
    return {"name": "Outer", "mode": "DAG", "graphData": {"nodes": nodes, "edges": edges}}


def _each(**more: Any) -> dict[str, Any]:
    return _outer("iteration", "{{inner.results}}", workflow=_ASKING, items=["a", "b"], **more)


async def _start(door: Door, document: dict[str, Any]) -> dict[str, Any]:
    answer = await door.key.post("/api/runs?wait=true", json={"workflow": document, "model": "scripted"})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _answer(door: Door, pause: dict[str, Any], word: str) -> None:
    body = {"answers": [{"questionId": "word", "value": word}]}
    answer = await door.key.post(f"/api/pauses/{pause['pauseId']}/answer", json=body)
    assert answer.status_code == 200, answer.text


async def _waiting(door: Door, *, but: str = "") -> dict[str, Any]:
    """Return the only question that waits, as soon as there is one beside the one named."""
    while True:
        items = (await door.key.get("/api/pauses?status=open")).json()["items"]
        if len(items) == 1 and items[0]["pauseId"] != but:
            return items[0]
        await asyncio.sleep(0.02)


async def _ended(door: Door, run_id: str) -> dict[str, Any]:
    while True:
        detail = (await door.key.get(f"/api/runs/{run_id}")).json()
        if detail["status"] in ("SUCCESS", "FAILED", "CANCELLED"):
            return detail
        await asyncio.sleep(0.02)


async def test_a_run_shows_its_children_and_what_waits_in_them(door: Door) -> None:
    run = await _start(door, _each())
    assert run["status"] == "PAUSED"
    assert [(one["nodeId"], one["index"], one["count"], one["status"]) for one in run["children"]] == [
        ("inner", 0, 2, "PAUSED"),
        ("inner", 1, 2, "PAUSED"),
    ]
    children = [one["runId"] for one in run["children"]]
    assert sorted(pause["runId"] for pause in run["pauses"]) == sorted(children)
    assert {pause["rootRunId"] for pause in run["pauses"]} == {run["runId"]}
    # each is a run of its own, with its place in the other
    child = (await door.key.get(f"/api/runs/{children[1]}")).json()
    assert (child["parentRunId"], child["rootRunId"]) == (run["runId"], run["runId"])
    assert (child["parentNodeId"], child["itemIndex"], child["itemCount"]) == ("inner", 1, 2)
    assert child["nodes"][1]["status"] == "PAUSED"


async def test_lists_leave_inner_runs_out_unless_they_are_asked_for(door: Door) -> None:
    run = await _start(door, _each())
    listed = (await door.key.get("/api/runs")).json()
    assert [one["runId"] for one in listed["items"]] == [run["runId"]]
    inner = (await door.key.get(f"/api/runs?parent={run['runId']}")).json()
    assert inner["total"] == 2
    assert len((await door.key.get("/api/pauses?status=open")).json()["items"]) == 2


async def test_answers_let_both_go_on_whichever_way_they_come(door: Door) -> None:
    run = await _start(door, _each())
    second = run["children"][1]["runId"]
    (asked,) = [one for one in run["pauses"] if one["runId"] == second]
    await _answer(door, asked, "two")
    left = await _waiting(door, but=asked["pauseId"])
    body = {"answers": [{"questionId": "word", "value": "one"}]}
    answer = await door.key.post(f"/api/runs/{run['runId']}/resume", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["pauseId"] == left["pauseId"]
    ended = await _ended(door, run["runId"])
    assert ended["outputs"][0]["result"] == '["a one","b two"]'


async def test_who_cancels_a_run_cancels_what_waits_in_it(door: Door) -> None:
    run = await _start(door, _each())
    await door.key.post(f"/api/runs/{run['runId']}/cancel")
    ended = await _ended(door, run["runId"])
    assert {one["status"] for one in ended["children"]} == {"CANCELLED"}
    assert {one["status"] for one in ended["pauses"]} == {"CANCELLED"}


async def test_an_inner_run_can_be_cancelled_by_itself(door: Door) -> None:
    run = await _start(door, _each(onItemError="continue"))
    first, second = run["children"]
    cancelled = await door.key.post(f"/api/runs/{first['runId']}/cancel")
    assert cancelled.json()["status"] == "CANCELLED"
    (pause,) = [one for one in run["pauses"] if one["runId"] == second["runId"]]
    await _answer(door, pause, "two")
    ended = await _ended(door, run["runId"])
    assert ended["outputs"][0]["result"] == '[null,"b two"]'


async def test_a_saved_workflow_is_called_as_it_was_when_the_node_began(door: Door) -> None:
    saved = (await door.key.post("/api/workflows", json=_ASKING)).json()
    outer = _outer("iteration", "{{inner.results}}", workflowId=saved["id"], items=["a", "b"], parallel=1)
    run = await _start(door, outer)
    # the first item waits; the workflow is deleted with its runs left alone, and the second item runs it all the same
    assert (await door.key.delete(f"/api/workflows/{saved['id']}")).status_code == 409
    empty: dict[str, list[str]] = {"nodes": [], "edges": []}
    changed: dict[str, Any] = {**_ASKING, "graphData": empty}
    put = await door.key.put(f"/api/workflows/{saved['id']}", json={**changed, "revision": saved["revision"]})
    assert put.status_code == 200, put.text
    first = await _waiting(door)
    await _answer(door, first, "one")
    await _answer(door, await _waiting(door, but=first["pauseId"]), "two")
    ended = await _ended(door, run["runId"])
    assert ended["outputs"][0]["result"] == '["a one","b two"]'
    assert {one["workflowId"] for one in ended["children"]} == {saved["id"]}


async def test_versions_are_called_by_their_numbers_and_names_stand_for_ids(door: Door) -> None:
    constant: dict[str, Any] = {
        "name": "Constant",
        "graphData": {
            "nodes": [
                {"id": "in", "type": "userInput", "data": {}},
                {"id": "out", "type": "output", "data": {"template": "first"}},
            ],
            "edges": [{"id": "1", "source": "in", "target": "out"}],
        },
    }
    saved = (await door.key.post("/api/workflows", json=constant)).json()
    await door.key.post(f"/api/workflows/{saved['id']}/versions", json={})
    constant["graphData"]["nodes"][1]["data"]["template"] = "draft"
    await door.key.put(f"/api/workflows/{saved['id']}", json={**constant, "revision": saved["revision"]})
    results: list[str] = []
    calls: list[dict[str, Any]] = [
        {"workflowId": saved["id"]},
        {"workflowId": "Constant", "version": 1},
        {"workflowId": "Constant", "version": "latest"},
    ]
    for data in calls:
        run = await _start(door, _outer("workflow", "{{inner.result}}", **data))
        results.append(run["outputs"][0]["result"])
    assert results == ["draft", "first", "first"]


async def test_a_call_of_what_is_not_there_is_refused_at_the_door(door: Door) -> None:
    document = _outer("workflow", "x", workflowId="nowhere")
    checked = (await door.key.post("/api/workflows/validate", json=document)).json()
    assert [(one["node"], one["field"]) for one in checked["errors"]] == [("inner", "workflowId")]
    refused = await door.key.post("/api/runs", json={"workflow": document, "model": "scripted"})
    assert (refused.status_code, refused.json()["code"]) == (422, "GRAPH_INVALID")

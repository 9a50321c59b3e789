"""Approving tool calls over HTTP, with a real MCP server behind them, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flyback.providers.mcp.servers import HttpServer, McpServer
from flyback.storage import audit
from kit import mcp_server as kit
from kit.databases import BOTH
from kit.door import Door, open_door


@pytest.fixture(scope="module")
def server() -> Generator[McpServer]:
    with kit.mcp_server() as port:
        at = HttpServer(f"http://127.0.0.1:{port}/mcp")
        yield McpServer("operator-kit", "kit", at, of_operator=True, approval=["add"])


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path, server: McpServer) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param, operators=[server]) as opened:
        yield opened


def _workflow(tool: str = "add", mode: str = "DAG", **arguments: object) -> dict[str, Any]:
    data = {"server": "kit", "tool": tool, "arguments": arguments or {"a": "{{a}}", "b": 2}}
    nodes = [
        {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "a", "type": "integer"}]}},
        {"id": "use", "type": "tool", "data": data},
        {"id": "out", "type": "output", "data": {"outputType": "json", "template": "{{use.json}}"}},
    ]
    edges = [{"id": "1", "source": "ask", "target": "use"}, {"id": "2", "source": "use", "target": "out"}]
    route = [{"next": "use", "reason": "-"}, {"next": "out", "reason": "-"}]
    script = [{"for": {"role": "planner"}, "replies": route}]
    document = {"name": "Adds", "mode": mode, "graphData": {"nodes": nodes, "edges": edges}, "script": script}
    return {"workflow": document, "model": "scripted", "inputs": {"a": 40}}


async def _asking(door: Door, mode: str = "DAG") -> dict[str, Any]:
    answer = await door.key.post("/api/runs?wait=true", json=_workflow(mode=mode))
    assert answer.json()["status"] == "PAUSED", answer.text
    return answer.json()


async def _ended(door: Door, run_id: str) -> dict[str, Any]:
    while True:
        detail = (await door.key.get(f"/api/runs/{run_id}")).json()
        if detail["status"] in ("SUCCESS", "FAILED", "CANCELLED"):
            return detail
        await asyncio.sleep(0.02)


async def _until(seen: Callable[[], bool]) -> None:
    while True:
        if seen():
            return
        await asyncio.sleep(0.02)


async def _events(door: Door, run_id: str) -> list[dict[str, Any]]:
    answer = await door.key.get(f"/api/runs/{run_id}/events", headers={"Accept": "application/json"})
    return answer.json()["items"]


async def test_an_approval_stands_in_the_inbox_whole_and_is_read_by_its_id(door: Door) -> None:
    run = await _asking(door)
    (pause,) = (await door.key.get("/api/pauses?status=open")).json()["items"]
    assert (pause["kind"], pause["nodeId"], pause["runId"]) == ("approval", "use", run["runId"])
    (question,) = pause["questions"]
    assert (question["tool"], question["server"], question["arguments"]) == ("add", "kit", {"a": 40, "b": 2})
    assert [action["id"] for action in pause["actions"]] == ["approve", "deny"]
    assert (await door.page.get(f"/api/pauses/{pause['pauseId']}")).json() == pause
    assert (await door.key.get("/api/pauses/none")).status_code == 404
    assert (await door.stranger.get(f"/api/pauses/{pause['pauseId']}")).status_code == 401


@pytest.mark.parametrize("mode", ["DAG", "AGENTIC"])
async def test_an_approved_call_is_made_with_what_was_shown_and_who_approved_it_is_in_the_audit_log(
    door: Door, mode: str
) -> None:
    run = await _asking(door, mode)
    (pause,) = run["pauses"]
    said = await door.page.post(f"/api/pauses/{pause['pauseId']}/answer", json={"action": "approve"})
    assert (said.status_code, said.json()["status"], said.json()["action"]) == (200, "ANSWERED", "approve")
    ended = await _ended(door, run["runId"])
    assert ended["outputs"] == [{"nodeId": "out", "result": {"sum": 42}}]
    newest = await door.database.read(lambda conn: audit.newest(conn, limit=1))
    assert (newest[0].action, newest[0].subject, newest[0].actor_id) == (
        "approval.approved",
        pause["pauseId"],
        door.owner.user_id,
    )
    assert isinstance(newest[0].details, dict)
    assert newest[0].details["hash"] == pause["questions"][0]["hash"]


async def test_an_approval_needs_a_word_and_a_denial_may_say_why(door: Door) -> None:
    run = await _asking(door)
    path = f"/api/pauses/{run['pauses'][0]['pauseId']}/answer"
    for body in ({}, {"answer": "yes"}, {"action": "answer"}, {"action": "APPROVE"}):
        refused = await door.key.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "INPUT_INVALID"), body
    await door.key.post(path, json={"action": "deny", "answer": "too large"})
    ended = await _ended(door, run["runId"])
    record = next(node for node in ended["nodes"] if node["nodeId"] == "use")
    assert record["error"]["code"] == "TOOL_DENIED"
    assert "too large" in record["error"]["message"]
    again = await door.key.post(path, json={"action": "approve"})
    assert (again.status_code, again.json()["current"]["action"]) == (409, "deny")


async def test_of_two_answers_at_once_one_counts_and_the_call_is_made_at_most_once(door: Door) -> None:
    run = await _asking(door)
    path = f"/api/pauses/{run['pauses'][0]['pauseId']}/answer"
    bodies = [{"action": "approve"}, {"action": "deny"}] * 4
    said = await asyncio.gather(*(door.key.post(path, json=body) for body in bodies))
    won = {answer.json()["action"] for answer in said if answer.status_code == 200}
    assert len(won) == 1
    assert sorted(answer.status_code for answer in said) == [200] * 4 + [409] * 4
    ended = await _ended(door, run["runId"])
    assert ended["status"] == ("SUCCESS" if won == {"approve"} else "FAILED")
    told = [event["type"] for event in await _events(door, run["runId"])]
    assert (told.count("tool_call"), told.count("tool_result")) == (1, 1)


@pytest.mark.parametrize("said", ["approve", None], ids=["approved", "still asked"])
async def test_a_fork_asks_anew_whatever_was_said_in_the_run_that_it_comes_from(door: Door, said: str | None) -> None:
    # given a run whose call was approved, or is asked about
    run = await _asking(door, "AGENTIC")
    (pause,) = run["pauses"]
    if said is not None:
        await door.key.post(f"/api/pauses/{pause['pauseId']}/answer", json={"action": said})
        await _ended(door, run["runId"])
    # when a fork of it comes to the tool
    body = {"visitId": run["visits"][0]["visitId"], "next": "use"}
    forked = await door.key.post(f"/api/runs/{run['runId']}/fork", json=body)
    assert forked.status_code == 202, forked.text
    fork_id = forked.json()["runId"]
    while (detail := (await door.key.get(f"/api/runs/{fork_id}")).json())["status"] != "PAUSED":
        assert detail["status"] in ("PENDING", "RUNNING")
        await asyncio.sleep(0.02)
    # then it has its own question, and the answer to the other is none to it
    (asked,) = detail["pauses"]
    assert (asked["pauseId"] == pause["pauseId"], asked["status"]) == (False, "OPEN")
    await door.key.post(f"/api/pauses/{pause['pauseId']}/answer", json={"action": "approve"})
    assert (await door.key.get(f"/api/runs/{fork_id}")).json()["status"] == "PAUSED"
    await door.key.post(f"/api/pauses/{asked['pauseId']}/answer", json={"action": "deny"})
    visits = (await door.key.get(f"/api/runs/{fork_id}/visits")).json()["items"]
    assert visits[1]["output"] is None


async def test_a_key_among_the_arguments_is_shown_to_nobody_and_the_call_is_approved_all_the_same(
    tmp_path: Path, server: McpServer
) -> None:
    key = "sk-0123456789-abcdef"
    async with open_door(tmp_path, operators=[replace(server, approval=["echo"])]) as door:
        model = {"name": "m", "provider": "openai-compatible", "baseUrl": "https://m.example/v1", "model": "m"}
        assert (await door.key.post("/api/models", json={**model, "apiKey": key})).status_code == 201
        body = _workflow("echo", text="{{a}}")
        body["workflow"]["graphData"]["nodes"][0]["data"]["variables"] = [{"name": "a"}]
        answer = await door.key.post("/api/runs?wait=true", json={**body, "inputs": {"a": f"use {key}"}})
        run = answer.json()
        (pause,) = run["pauses"]
        assert pause["questions"][0]["arguments"] == {"text": "use [secret]"}
        # when it is approved, however often it has to be asked about
        while run["status"] == "PAUSED":
            (open_pause,) = [one for one in run["pauses"] if one["status"] == "OPEN"]
            await door.key.post(f"/api/pauses/{open_pause['pauseId']}/answer", json={"action": "approve"})
            run = await _rests(door, run["runId"])
            assert len(run["pauses"]) <= 2
        # then it runs, and nothing that is stored tells the key
        assert run["status"] == "SUCCESS"
        assert key not in (await door.key.get(f"/api/runs/{run['runId']}/nodes/use/calls")).text


async def _rests(door: Door, run_id: str) -> dict[str, Any]:
    while True:
        detail = (await door.key.get(f"/api/runs/{run_id}")).json()
        if detail["status"] not in ("PENDING", "RUNNING"):
            return detail
        await asyncio.sleep(0.02)


async def test_a_node_that_is_tried_alone_does_not_lead_around_the_question(door: Door) -> None:
    document = _workflow()["workflow"]
    made = (await door.key.post("/api/workflows", json=document)).json()
    path = f"/api/workflows/{made['id']}/nodes/use/test"
    tried = (await door.key.post(path, json={"variables": {"a": 1}})).json()
    assert (tried["status"], tried["error"]["code"], tried["calls"]) == ("FAILED", "INPUT_REQUIRED", [])


@pytest.mark.parametrize("mode", ["DAG", "AGENTIC"])
async def test_a_call_is_told_when_it_begins_and_one_that_a_cancel_stops_is_told_and_on_record(
    door: Door, tmp_path: Path, mode: str
) -> None:
    # given a run in the middle of a tool call that does not end
    mark = tmp_path / "came"
    started = await door.key.post("/api/runs", json=_workflow("hang", mode, mark=str(mark)))
    run_id = started.json()["runId"]
    await _until(mark.exists)
    told = await _events(door, run_id)
    assert (told[-1]["type"], told[-1]["data"]["name"]) == ("tool_call", "kit__hang")
    assert told[-1]["data"]["arguments"] == {"mark": str(mark)}
    # when it is cancelled
    await door.key.post(f"/api/runs/{run_id}/cancel")
    # then the call ends with its node, before the end of the run
    ends = [(event["type"], event["data"]) for event in (await _events(door, run_id))[len(told) :]]
    assert [kind for kind, _ in ends] == [
        "tool_result",
        "node_status",
        *(["visit_recorded"] if mode == "AGENTIC" else []),
        "run_cancelled",
    ]
    assert (ends[0][1]["callId"], ends[0][1]["error"]["code"]) == (told[-1]["data"]["callId"], "CANCELLED")
    assert (ends[1][1]["status"], ends[1][1]["attempt"]) == ("CANCELLED", 1)
    # and both stand where they were made
    detail = (await door.key.get(f"/api/runs/{run_id}")).json()
    if mode == "DAG":
        record = next(node for node in detail["nodes"] if node["nodeId"] == "use")
        calls = f"/api/runs/{run_id}/nodes/use/calls"
    else:
        record = detail["visits"][-1]
        calls = f"/api/runs/{run_id}/visits/{record['visitId']}/calls"
    assert (record["status"], record["attempts"]) == ("CANCELLED", 1)
    (call,) = (await door.key.get(calls)).json()["items"]
    assert (call["name"], call["request"], call["error"]["code"]) == ("kit__hang", {"mark": str(mark)}, "CANCELLED")


@pytest.mark.parametrize("mode", ["DAG", "AGENTIC"])
async def test_a_model_call_that_a_cancel_stops_is_on_record(door: Door, mode: str) -> None:
    nodes = [
        {"id": "say", "type": "llm", "data": {"userPrompt": "Speak."}},
        {"id": "out", "type": "output"},
    ]
    graph = {"nodes": nodes, "edges": [{"id": "1", "source": "say", "target": "out"}]}
    script = [{"for": {"node": "say"}, "replies": [{"hang": True}]}]
    body: dict[str, Any] = {"workflow": {"mode": mode, "graphData": graph, "script": script}, "model": "scripted"}
    run_id = (await door.key.post("/api/runs", json=body)).json()["runId"]
    await _until(lambda: bool(door.journal.calls))
    await door.key.post(f"/api/runs/{run_id}/cancel")
    detail = (await door.key.get(f"/api/runs/{run_id}")).json()
    place = f"visits/{detail['visits'][0]['visitId']}" if mode == "AGENTIC" else "nodes/say"
    (call,) = (await door.key.get(f"/api/runs/{run_id}/{place}/calls")).json()["items"]
    assert (call["kind"], call["error"]["code"], call["attempt"]) == ("model", "CANCELLED", 1)
    assert call["request"]["messages"][-1]["content"] == "Speak."

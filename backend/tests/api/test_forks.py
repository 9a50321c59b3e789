"""Forks over HTTP: a run goes on from one of its visits otherwise than it went, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from api.test_workflows import make
from flyback.domain.fork import MAX_BYTES
from flyback.storage import tables
from kit import checker
from kit.databases import BOTH
from kit.door import Door, open_door


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param) as opened:
        yield opened


ROUTE = ("draft", "review", "draft", "out")
"""Where the planner of the forked run goes after each visit."""


def _document(route: Sequence[str] = ROUTE, **more: Any) -> dict[str, Any]:
    """ask -> draft -> review -> out, whose planner sends `draft` round once more."""
    texts = {"draft": ("first draft", "second draft", "third draft"), "review": ("too short", "still too short")}
    return {
        "name": "Letters",
        "mode": "AGENTIC",
        "graphData": {
            "nodes": [
                {"id": "ask", "type": "userInput", "data": {"label": "Ask", "variables": [{"name": "topic"}]}},
                _asks("draft", "Write on {{topic}}. {{visit.reason}}"),
                _asks("review", "Judge {{draft.text}}"),
                {"id": "out", "type": "output", "data": {"template": "{{topic}}: {{draft.text}}"}},
            ],
            "edges": [
                {"id": "1", "source": "ask", "target": "draft"},
                {"id": "2", "source": "draft", "target": "review"},
                {"id": "3", "source": "review", "target": "out"},
            ],
        },
        "script": [
            *({"for": {"node": node}, "replies": [{"text": text} for text in said]} for node, said in texts.items()),
            {"for": {"role": "planner"}, "replies": [{"next": to, "reason": f"go to {to}"} for to in route]},
        ],
        **more,
    }


def _asks(node_id: str, prompt: str) -> dict[str, Any]:
    data = {"label": node_id.title(), "description": f"Does {node_id}.", "userPrompt": prompt}
    return {"id": node_id, "type": "llm", "data": data}


async def _origin(door: Door, document: Mapping[str, Any] | None = None) -> dict[str, Any]:
    body = {"workflow": document or _document(), "model": "scripted", "inputs": {"topic": "tides"}}
    answer = await door.key.post("/api/runs?wait=true", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _fork(door: Door, run: Mapping[str, Any], visit: int, **body: Any) -> dict[str, Any]:
    """Fork from the visit with this `sortOrder`, and return the new run at its end."""
    answer = await _asked(door, run, visit, query="?wait=true", **body)
    assert answer.status_code == 200, answer.text
    detail = answer.json()
    assert await door.database.read(lambda conn: checker.faults(conn, detail["runId"])) == []
    return detail


async def _asked(door: Door, run: Mapping[str, Any], visit: int, *, query: str = "", **body: Any) -> httpx.Response:
    sent = {"visitId": run["visits"][visit]["visitId"], **body}
    return await door.key.post(f"/api/runs/{run['runId']}/fork{query}", json=sent)


def _path(run: Mapping[str, Any]) -> list[str]:
    return [visit["nodeId"] for visit in run["visits"]]


def _asked_since(door: Door, run: Mapping[str, Any]) -> list[str]:
    return [f"{call.node_id}/{call.role}" for call in door.journal.calls if call.run_id == run["runId"]]


async def test_a_fork_shares_what_was_visited_and_a_person_says_where_it_goes_on(door: Door) -> None:
    origin = await _origin(door)
    assert _path(origin) == ["ask", "draft", "review", "draft", "out"]
    # when it is forked after the review, straight to the end
    fork = await _fork(door, origin, 2, next="out", reason="Good enough.")
    # then the visits before are there, with ids of their own and where they are from, and no model was asked again
    assert (fork["status"], _path(fork)) == ("SUCCESS", ["ask", "draft", "review", "out"])
    shared = fork["visits"][:3]
    assert [visit["sharedWith"] for visit in shared] == [visit["visitId"] for visit in origin["visits"][:3]]
    assert len({visit["visitId"] for visit in (*origin["visits"], *fork["visits"])}) == 9
    assert "sharedWith" not in fork["visits"][3]
    assert _asked_since(door, fork) == []
    assert [visit["output"] for visit in shared] == [visit["output"] for visit in origin["visits"][:3]]
    assert shared[0]["decision"] == origin["visits"][0]["decision"]
    # and the step that was taken by a person says so
    decision = shared[2]["decision"]
    assert (decision["next"], decision["source"], decision["reason"]) == ("out", "person", "Good enough.")
    assert (decision["model"], decision["usage"]["calls"], decision["onCanvas"]) == (None, 0, True)
    assert fork["outputs"] == [{"nodeId": "out", "result": "tides: first draft"}]
    # and the new run knows where it comes from, and used nothing of what it shares
    assert (fork["parentRunId"], fork["forkedFromVisit"]) == (origin["runId"], origin["visits"][2]["visitId"])
    assert (fork["usage"]["calls"], origin["usage"]["calls"]) == (0, 7)
    assert (fork["visitCount"], fork["inputs"]) == (4, {"topic": "tides"})
    # and the run that was forked is what it was
    assert (await door.key.get(f"/api/runs/{origin['runId']}")).json() == origin


async def test_without_a_next_the_planner_is_asked_anew_where_the_run_was_forked(door: Door) -> None:
    origin = await _origin(door)
    fork = await _fork(door, origin, 2)
    # the script goes on where the shared visits end, so that the route is the same again
    assert _path(fork) == _path(origin)
    assert _asked_since(door, fork) == ["review/planner", "draft/node", "draft/planner"]
    keys = [call.key for call in door.journal.calls if call.run_id == fork["runId"]]
    assert keys[0] == f"{fork['runId']}/{fork['visits'][2]['visitId']}/planner-1"
    assert fork["visits"][3]["output"]["data"]["text"] == "second draft"
    assert (fork["visits"][3]["iterSeq"], fork["visits"][3]["fromVisitId"]) == (2, fork["visits"][2]["visitId"])
    assert fork["usage"]["calls"] == 3


async def test_edited_variables_are_what_the_fork_goes_on_with(door: Door) -> None:
    origin = await _origin(door)
    fork = await _fork(door, origin, 1, variables={"draft__text": "mine", "topic": "the moon"}, next="review")
    edited = fork["visits"][1]
    # an edit of what a userInput wrote is an edit of both its names
    assert sorted(edited["edited"]) == ["ask__topic", "draft__text", "topic"]
    assert edited["variables"] == {"ask__topic": "the moon", "draft__text": "mine", "topic": "the moon"}
    assert edited["output"]["data"]["text"] == "first draft", "what the node gave stays what it gave"
    assert fork["visits"][0]["variables"] == {"ask__topic": "tides", "topic": "tides"}
    prompts = [call.prompt[-1].text for call in door.journal.calls if call.run_id == fork["runId"]]
    assert prompts[0] == "Judge mine"
    assert "the moon" in prompts[1], "the planner's task is as it was edited"
    assert "tides" not in prompts[1]
    address = f"/api/runs/{fork['runId']}/visits/{edited['visitId']}"
    assert (await door.key.get(f"{address}/workspace")).json()["variables"] == edited["variables"]
    diff = (await door.key.get(f"{address}/diff")).json()
    assert {one["name"]: one["after"] for one in diff["overwritten"]} == {"topic": "the moon", "ask__topic": "the moon"}
    before = (await door.key.get(f"{address}/diff", params={"against": fork["visits"][0]["visitId"]})).json()
    assert {one["name"]: one["before"] for one in before["overwritten"]} == {"topic": "tides", "ask__topic": "tides"}


async def test_a_person_can_stand_in_for_a_node_that_wrote_nothing(door: Door) -> None:
    origin = await _origin(door)
    fork = await _fork(door, origin, 0, variables={"draft__text": "by hand"}, next="out")
    assert (_path(fork), fork["outputs"][0]["result"]) == (["ask", "out"], "tides: by hand")


async def test_a_fork_of_a_fork_keeps_the_edits_of_both(door: Door) -> None:
    origin = await _origin(door)
    first = await _fork(door, origin, 1, variables={"draft__text": "mine"}, next="review")
    second = await _fork(door, first, 2, variables={"topic": "stars"}, next="out")
    assert second["outputs"][0]["result"] == "stars: mine"
    assert [visit.get("edited") for visit in second["visits"]] == [
        None, ["draft__text"], ["ask__topic", "topic"], None
    ]  # fmt: skip
    again = await _fork(door, second, 2, variables={"draft__text": "another"}, next="out")
    assert again["outputs"][0]["result"] == "stars: another"
    assert again["visits"][2]["sharedWith"] == second["visits"][2]["visitId"]


async def test_a_fork_has_a_stream_of_its_own_that_tells_the_shared_route_first(door: Door) -> None:
    origin = await _origin(door)
    fork = await _fork(door, origin, 2, variables={"topic": "stars"}, next="out")
    events = await _events(door, fork)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "run_started"
    assert events[0]["data"]["forkedFromVisit"] == origin["visits"][2]["visitId"]
    assert events[0]["data"]["parentRunId"] == origin["runId"]
    told = [(event["type"], event["data"].get("nodeId", "")) for event in events if event["data"].get("shared")]
    assert told == [
        ("node_status", "ask"), ("node_status", "ask"), ("visit_recorded", "ask"), ("planner_decision", ""),
        ("node_status", "draft"), ("node_status", "draft"), ("visit_recorded", "draft"), ("planner_decision", ""),
        ("node_status", "review"), ("node_status", "review"), ("visit_recorded", "review"),
    ]  # fmt: skip
    known = {visit["visitId"] for visit in fork["visits"]}
    named = {event["data"][name] for event in events for name in ("visitId", "fromVisitId") if event["data"].get(name)}
    assert named == known
    assert events[11]["data"]["edited"] == ["ask__topic", "topic"]
    assert [event["type"] for event in events[12:]] == [
        "planner_decision", "node_status", "node_status", "visit_recorded", "workflow_complete"
    ]  # fmt: skip
    assert not any(event["data"].get("shared") for event in events[12:])


async def test_what_was_sent_at_a_shared_visit_can_still_be_looked_at(door: Door) -> None:
    origin = await _origin(door)
    fork = await _fork(door, origin, 2, next="out")
    for place, roles in ((1, ["node", "planner"]), (2, ["node"])):
        address = f"/api/runs/{fork['runId']}/visits/{fork['visits'][place]['visitId']}/calls"
        calls = (await door.key.get(address)).json()["items"]
        assert [call["role"] for call in calls] == roles
        assert {call["visitId"] for call in calls} == {fork["visits"][place]["visitId"]}


async def test_a_fork_may_have_another_planner_and_another_version(door: Door) -> None:
    workflow = await make(door, **_document())
    started = await door.key.post(
        f"/api/workflows/{workflow['id']}/run?wait=true", json={"inputs": {"topic": "tides"}, "model": "scripted"}
    )
    origin = started.json()
    assert (origin["version"], origin["plannerModelId"]) == (None, None)
    # given a published version with another template and another script
    changed = _document(["draft", "review", "out"])
    changed["graphData"]["nodes"][3]["data"]["template"] = "Final: {{draft.text}}"
    put = await door.key.put(f"/api/workflows/{workflow['id']}", json={**changed, "revision": workflow["revision"]})
    assert put.status_code == 200, put.text
    assert (await door.key.post(f"/api/workflows/{workflow['id']}/versions", json={})).status_code == 201
    # when the run is forked on it
    fork = await _fork(door, origin, 2, version="latest", plannerModelId="scripted")
    assert (fork["version"], fork["plannerModelId"], fork["workflowId"]) == (1, "scripted", workflow["id"])
    assert (_path(fork), fork["outputs"][0]["result"]) == (["ask", "draft", "review", "out"], "Final: first draft")
    listed = (await door.key.get(f"/api/workflows/{workflow['id']}/runs")).json()["items"]
    assert [one["runId"] for one in listed] == [fork["runId"], origin["runId"]]


async def test_a_fork_on_another_version_warns_of_the_models_there_that_a_cost_budget_cannot_count(door: Door) -> None:
    script = [{"for": {"node": "draft"}, "replies": [{"text": "unpriced"}]}]
    made = await door.key.post("/api/models", json={"provider": "scripted", "script": script, "name": "free"})
    assert made.status_code == 201, made.text
    workflow = await make(door, **_document(budget={"cost": 1}))
    run = f"/api/workflows/{workflow['id']}/run?wait=true"
    origin = (await door.key.post(run, json={"inputs": {"topic": "tides"}, "model": "scripted"})).json()
    changed = _document(budget={"cost": 1})
    changed["graphData"]["nodes"][1]["data"]["model"] = "free"
    await door.key.put(f"/api/workflows/{workflow['id']}", json={**changed, "revision": workflow["revision"]})
    await door.key.post(f"/api/workflows/{workflow['id']}/versions", json={})
    fork = await _fork(door, origin, 2, version=1, next="out")

    def told(run: Mapping[str, Any]) -> list[bool]:
        return ["'free'" in one["message"] for one in run["warnings"] if one["field"] == "budget.cost"]

    assert (True in told(origin), True in told(fork)) == (False, True)


async def test_a_fork_begins_though_its_default_model_cannot_be_used_any_more(door: Door) -> None:
    # given a run with a cost budget whose default model nobody asked, and whose key is gone by now
    entry = {"name": "m", "provider": "openai-compatible", "baseUrl": "https://m.example/v1", "model": "m"}
    assert (await door.key.post("/api/models", json={**entry, "apiKey": "sk-0123456789"})).status_code == 201
    document = _document(budget={"cost": 1}, plannerModelId="scripted")
    for node in document["graphData"]["nodes"][1:3]:
        node["data"]["model"] = "scripted"
    body = {"workflow": document, "model": "m", "inputs": {"topic": "tides"}}
    origin = (await door.key.post("/api/runs?wait=true", json=body)).json()
    await door.database.write(lambda conn: conn.execute(sa.delete(tables.secrets)).close())
    another: dict[str, Any] = {
        "name": "other",
        "provider": "scripted",
        "script": [],
    }  # with a change the entries are read anew
    assert (await door.key.post("/api/models", json=another)).status_code == 201
    # when it is forked, then the fork goes to its end
    assert (await _fork(door, origin, 2, next="out"))["status"] == "SUCCESS"


async def test_the_forks_of_a_run_can_be_listed(door: Door) -> None:
    origin = await _origin(door)
    forks = [await _fork(door, origin, 2, next="out"), await _fork(door, origin, 1, next="out")]
    listed = (await door.key.get("/api/runs", params={"forkOf": origin["runId"]})).json()["items"]
    assert [one["runId"] for one in listed] == [fork["runId"] for fork in reversed(forks)]
    assert (await door.key.get("/api/runs", params={"forkOf": forks[0]["runId"]})).json()["total"] == 0


async def test_a_run_that_ended_too_early_can_go_on_in_a_fork(door: Door) -> None:
    origin = await _origin(door, _document(["draft", "out"]))
    fork = await _fork(door, origin, 2, next="review")
    assert _path(fork) == ["ask", "draft", "out", "review", "out"]
    assert fork["status"] == "SUCCESS"


async def test_a_run_that_waits_can_be_forked_from_what_it_did_before(door: Door) -> None:
    document = _document(["draft", "ask"])
    answer = await door.key.post(
        "/api/runs?wait=true", json={"workflow": document, "model": "scripted", "inputs": {"topic": "tides"}}
    )
    waiting = answer.json()
    assert waiting["status"] == "PAUSED"
    open_visit = await _asked(door, waiting, 2, next="out")
    assert (open_visit.status_code, open_visit.json()["code"]) == (422, "INVALID")
    assert open_visit.json()["errors"][0]["field"] == "visitId"
    fork = await _fork(door, waiting, 1, next="out")
    assert (fork["status"], fork["pauses"]) == ("SUCCESS", [])
    assert (await door.key.get(f"/api/runs/{waiting['runId']}")).json()["status"] == "PAUSED"


async def test_shared_visits_count_towards_the_most_that_a_run_may_have(door: Door) -> None:
    origin = await _origin(door, _document(maxVisits=4))
    assert (origin["errorCode"], origin["visitCount"]) == ("MAX_VISITS_EXCEEDED", 4)
    refused = await _asked(door, origin, 3, next="out")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "visitId")
    assert _path(await _fork(door, origin, 2, next="out")) == ["ask", "draft", "review", "out"]
    again = await _fork(door, origin, 2, next="draft")
    assert (again["errorCode"], again["visitCount"]) == ("MAX_VISITS_EXCEEDED", 4)


async def test_a_budget_begins_anew(door: Door) -> None:
    origin = await _origin(door, _document(budget={"tokens": 1}))
    assert origin["errorCode"] == "BUDGET_EXCEEDED"
    fork = await _fork(door, origin, 1, next="out")
    assert (fork["status"], fork["usage"]["calls"]) == ("SUCCESS", 0)


async def test_a_dag_run_cannot_be_forked(door: Door) -> None:
    origin = await _origin(door, {**_document(), "mode": "DAG"})
    refused = await door.key.post(f"/api/runs/{origin['runId']}/fork", json={"visitId": "any"})
    assert (refused.status_code, refused.json()["code"]) == (422, "INVALID")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"next": "nowhere"}, 422, "next"),
        ({"plannerModelId": "unheard of"}, 422, "plannerModelId"),
        ({"version": 1}, 422, "version"),
        ({"variables": {"nothing": 1}}, 422, "variables.nothing"),
        ({"variables": {"nobody__text": 1}}, 422, "variables.nobody__text"),
        ({"variables": {"": 1}}, 422, "variables."),
        ({"variables": {"draft__" + "x" * 300: 1}}, 422, None),
        ({"variables": [1]}, 422, "variables"),
        ({"visitId": "somewhere else"}, 404, None),
        ({"unheardOf": 1}, 422, "unheardOf"),
        ({"reason": "x" * 501}, 422, "reason"),
    ],
)
async def test_a_fork_that_cannot_be_is_refused_with_field_and_remedy(
    door: Door, body: Mapping[str, Any], status: int, field: str | None
) -> None:
    origin = await _origin(door)
    refused = await _asked(door, origin, 1, **body)
    assert refused.status_code == status, refused.text
    errors = refused.json()["errors"]
    assert field is None or errors[0]["field"] == field
    assert all(error["message"] for error in errors)
    listed = (await door.key.get("/api/runs")).json()
    assert listed["total"] == 1, "nothing was started"


async def test_a_version_without_the_node_to_go_on_from_is_refused(door: Door) -> None:
    workflow = await make(door, **_document())
    run = f"/api/workflows/{workflow['id']}/run?wait=true"
    origin = (await door.key.post(run, json={"inputs": {"topic": "tides"}, "model": "scripted"})).json()
    smaller = _document()
    smaller["graphData"]["nodes"] = [node for node in smaller["graphData"]["nodes"] if node["id"] != "review"]
    smaller["graphData"]["edges"] = [{"id": "1", "source": "ask", "target": "draft"}]
    smaller["script"] = [part for part in smaller["script"] if part["for"] != {"node": "review"}]
    await door.key.put(f"/api/workflows/{workflow['id']}", json={**smaller, "revision": workflow["revision"]})
    await door.key.post(f"/api/workflows/{workflow['id']}/versions", json={})
    refused = await _asked(door, origin, 2, version=1)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "visitId")
    refused = await _asked(door, origin, 1, version=1, next="review")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "next")
    assert (await _asked(door, origin, 1, version=7)).status_code == 404
    # a node that is gone does no harm where it was visited earlier
    fork = await _fork(door, origin, 3, version=1, next="out")
    assert _path(fork) == ["ask", "draft", "review", "draft", "out"]


async def test_too_much_to_edit_at_once_is_refused(door: Door) -> None:
    origin = await _origin(door)
    refused = await _asked(door, origin, 1, variables={"draft__text": "x" * MAX_BYTES})
    assert refused.status_code in (413, 422)


async def test_a_repeated_key_forks_once_also_when_both_come_together(door: Door) -> None:
    origin = await _origin(door)
    body = {"visitId": origin["visits"][2]["visitId"], "next": "out"}
    address = f"/api/runs/{origin['runId']}/fork"

    async def send(sent: Mapping[str, Any]) -> httpx.Response:
        return await door.key.post(address, json=sent, headers={"Idempotency-Key": "once"})

    first, second = await asyncio.gather(send(body), send(body))
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["runId"] == second.json()["runId"]
    assert first.headers["location"] == f"/api/runs/{first.json()['runId']}"
    assert (await send({**body, "next": "draft"})).json()["code"] == "IDEMPOTENCY_MISMATCH"
    followed = await door.key.get(f"{first.headers['location']}/events", headers={"Accept": "text/event-stream"})
    assert "workflow_complete" in followed.text
    assert (await door.key.get("/api/runs")).json()["total"] == 2


async def test_somebody_elses_run_cannot_be_forked(door: Door) -> None:
    assert (await door.stranger.post("/api/runs/any/fork", json={"visitId": "any"})).status_code == 401
    assert (await door.key.post("/api/runs/any/fork", json={"visitId": "any"})).status_code == 404


async def test_a_visit_with_a_sub_run_is_shared_and_a_sub_run_is_forked_as_a_run_of_its_own(door: Door) -> None:
    inner = await make(door, **_document(["draft", "out"]))
    outer = _document(["call", "out"])
    call = {"label": "Call", "description": "Calls.", "workflowId": inner["id"], "inputs": {"topic": "{{topic}}"}}
    outer["graphData"]["nodes"] += [{"id": "call", "type": "workflow", "data": call}]
    outer["graphData"]["nodes"][3]["data"]["template"] = "{{call.result}}"
    origin = await _origin(door, outer)
    assert origin["status"] == "SUCCESS", origin["errorMsg"]
    (sub_run,) = (await door.key.get("/api/runs", params={"parent": origin["runId"]})).json()["items"]
    # when the run is forked after the visit that called
    fork = await _fork(door, origin, 1, next="out")
    # then what it gave is shared, and nothing was called again
    assert fork["outputs"][0]["result"] == origin["outputs"][0]["result"] == "tides: first draft"
    assert (await door.key.get("/api/runs", params={"parent": fork["runId"]})).json()["total"] == 0
    assert (await door.key.get("/api/runs", params={"parent": origin["runId"]})).json()["total"] == 1
    # and the sub-run itself can be forked: what comes of it belongs to no other run
    detail = (await door.key.get(f"/api/runs/{sub_run['runId']}")).json()
    alone = await _fork(door, detail, 1, next="out", variables={"topic": "stars"})
    assert (alone["rootRunId"], alone["parentRunId"]) == (None, sub_run["runId"])
    assert alone["outputs"][0]["result"] == "stars: first draft"
    listed = (await door.key.get("/api/runs")).json()["items"]
    assert [one["runId"] for one in listed] == [alone["runId"], fork["runId"], origin["runId"]]


async def test_the_statistics_count_what_is_shared_once(door: Door) -> None:
    origin = await _origin(door)
    before = (await door.key.get("/api/decisions/stats")).json()
    await _fork(door, origin, 2, next="out")
    after = (await door.key.get("/api/decisions/stats")).json()
    assert (after["decisions"], after["bySource"]) == (before["decisions"] + 1, {"planner": 4, "person": 1})
    assert sum(jump["count"] for jump in after["jumps"]) == sum(jump["count"] for jump in before["jumps"]) + 1


async def test_compared_with_its_origin_a_fork_differs_from_where_it_was_forked(door: Door) -> None:
    origin = await _origin(door, _document(["draft", "review", "draft", "review", "draft", "out"]))
    fork = await _fork(door, origin, 2, next="review")
    compared = (await door.key.get("/api/runs/compare", params={"a": origin["runId"], "b": fork["runId"]})).json()
    relations = [step["relation"] for step in compared["steps"]]
    assert relations[:3] == ["same"] * 3
    assert relations[3] != "same"
    shared = compared["steps"][2]
    assert shared["b"]["sharedWith"] == shared["a"]["visitId"]
    assert (shared["a"]["decision"]["source"], shared["b"]["decision"]["source"]) == ("planner", "person")


async def _events(door: Door, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    answer = await door.key.get(f"/api/runs/{run['runId']}/events", headers={"Accept": "application/json"})
    return answer.json()["items"]

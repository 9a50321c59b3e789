"""Runs over HTTP: started, followed, looked at, cancelled, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.test_workflows import make
from flyback.domain.wire import Wire
from flyback.services.actor import Actor
from kit.databases import BOTH
from kit.door import Door, open_door
from kit.event_reader import EventParser, ReadEvent


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param) as opened:
        yield opened


def _chain(mode: str = "DAG", script: Sequence[Any] = (), **more: Any) -> dict[str, Any]:
    """ask -> say -> out; `say` asks the scripted model."""
    return {
        "name": "Chain",
        "mode": mode,
        "graphData": {
            "nodes": [
                {"id": "ask", "type": "userInput", "data": {"label": "Ask", "variables": [{"name": "q"}]}},
                {
                    "id": "say",
                    "type": "llm",
                    "data": {"label": "Say", "description": "Says it", "userPrompt": "Say {{q}}"},
                },
                {"id": "out", "type": "output", "data": {"template": "{{say.text}}"}},
            ],
            "edges": [{"id": "1", "source": "ask", "target": "say"}, {"id": "2", "source": "say", "target": "out"}],
        },
        "script": [{"for": {"node": "say"}, "replies": [{"text": "hello"}], "repeatLast": True}, *script],
        **more,
    }


def _flight() -> dict[str, Any]:
    """An AGENTIC chain whose planner sends `say` round once more."""
    steps = [("say", "go"), ("say", "again, longer"), ("out", "done")]
    planner = {"for": {"role": "planner"}, "replies": [{"next": to, "reason": why} for to, why in steps]}
    return _chain("AGENTIC", [planner])


async def _run(door: Door, document: Mapping[str, Any], **body: Any) -> dict[str, Any]:
    """Run a graph to its end and return the run's detail."""
    sent = {"workflow": document, "model": "scripted", "inputs": {"q": "hi"}, **body}
    answer = await door.key.post("/api/runs?wait=true", json=sent)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_run_is_accepted_with_its_address_and_can_be_read_to_its_end(door: Door) -> None:
    workflow = await make(door, **_chain())
    accepted = await door.key.post(
        f"/api/workflows/{workflow['id']}/run", json={"inputs": {"q": "hi"}, "model": "scripted"}
    )
    assert accepted.status_code == 202
    run_id = accepted.json()["runId"]
    assert accepted.headers["location"] == f"/api/runs/{run_id}"
    events = await _follow(door, run_id)
    assert [event.type for event in events if event.is_durable][-1] == "workflow_complete"
    detail = (await door.key.get(f"/api/workflows/{workflow['id']}/runs/{run_id}")).json()
    assert (detail["status"], detail["outputs"]) == ("SUCCESS", [{"nodeId": "out", "result": "hello"}])
    assert [node["status"] for node in detail["nodes"]] == ["SUCCESS"] * 3
    assert "visits" not in detail


async def test_an_unsaved_graph_runs_and_belongs_to_no_workflow(door: Door) -> None:
    detail = await _run(door, _chain())
    assert detail["workflowId"] is None
    listed = (await door.key.get("/api/runs")).json()
    assert [one["runId"] for one in listed["items"]] == [detail["runId"]]


async def test_visits_their_workspaces_and_what_they_changed_can_be_looked_at(door: Door) -> None:
    detail = await _run(door, _flight())
    run_id = detail["runId"]
    visits = (await door.key.get(f"/api/runs/{run_id}/visits")).json()["items"]
    assert visits == detail["visits"]
    assert [(visit["nodeId"], visit["iterSeq"], visit["isFlyBack"], visit["onCanvas"]) for visit in visits] == [
        ("ask", 1, False, True),
        ("say", 1, False, True),
        ("say", 2, True, False),
        ("out", 1, False, True),
    ]
    second = visits[2]
    assert second["fromVisitId"] == visits[1]["visitId"]
    assert visits[1]["decision"]["reason"] == "again, longer"
    whole = (await door.key.get(f"/api/runs/{run_id}/visits/{second['visitId']}")).json()
    assert whole == second
    workspace = (await door.key.get(f"/api/runs/{run_id}/visits/{second['visitId']}/workspace")).json()
    assert workspace["variables"] == second["variables"]
    diff = (await door.key.get(f"/api/runs/{run_id}/visits/{second['visitId']}/diff")).json()
    assert diff["added"] == []
    assert diff["overwritten"] == [{"name": "say__text", "before": "hello", "after": "hello", "lastWrittenBy": "Say#1"}]
    against = {"against": visits[0]["visitId"]}
    diff = (await door.key.get(f"/api/runs/{run_id}/visits/{second['visitId']}/diff", params=against)).json()
    assert [one["name"] for one in diff["added"]] == ["say__text"]


async def test_every_call_can_be_looked_at_the_planners_after_the_visit_included(door: Door) -> None:
    detail = await _run(door, _flight())
    visit = detail["visits"][1]
    calls = (await door.key.get(f"/api/runs/{detail['runId']}/visits/{visit['visitId']}/calls")).json()["items"]
    assert [(call["role"], call["n"], call["kind"]) for call in calls] == [
        ("node", 1, "model"),
        ("planner", 1, "model"),
    ]
    assert "Say hi" in str(calls[0]["request"])
    assert "again, longer" in str(calls[1]["response"])
    plain = await _run(door, _chain())
    calls = (await door.key.get(f"/api/runs/{plain['runId']}/nodes/say/calls")).json()["items"]
    assert len(calls) == 1


class TestAKeyNamesARun:
    async def test_a_repeat_starts_nothing_and_is_told_the_same_run(self, door: Door) -> None:
        body = {"workflow": _chain(), "model": "scripted", "inputs": {"q": "hi"}}
        first, second = [await door.key.post("/api/runs", json=body, headers=_key("one")) for _ in range(2)]
        assert first.json()["runId"] == second.json()["runId"]
        waited = await door.key.post("/api/runs?wait=true", json=body, headers=_key("one"))
        assert waited.json()["status"] == "SUCCESS"
        again = await door.key.post("/api/runs", json=body, headers=_key("one"))
        assert again.json()["status"] == "SUCCESS"
        assert (await door.key.get("/api/runs")).json()["total"] == 1

    async def test_a_repeat_is_told_its_run_whatever_became_of_the_workflow(self, door: Door) -> None:
        workflow = await make(door, **_chain())
        path = f"/api/workflows/{workflow['id']}"
        body = {"model": "scripted", "inputs": {"q": "hi"}}
        first = await door.key.post(f"{path}/run?wait=true", json=body, headers=_key("gone"))
        await door.key.delete(path)
        again = await door.key.post(f"{path}/run", json=body, headers=_key("gone"))
        assert (again.status_code, again.json()["runId"]) == (202, first.json()["runId"])

    async def test_two_at_once_are_one(self, door: Door) -> None:
        body = {"workflow": _chain(), "model": "scripted", "inputs": {"q": "hi"}}
        answers = await asyncio.gather(*(door.key.post("/api/runs", json=body, headers=_key("two")) for _ in range(8)))
        assert len({answer.json()["runId"] for answer in answers}) == 1
        await _rested(door)

    async def test_another_body_is_refused_and_key_order_is_not_another_body(self, door: Door) -> None:
        body = {"workflow": _chain(), "model": "scripted", "inputs": {"q": "hi"}}
        await door.key.post("/api/runs?wait=true", json=body, headers=_key("three"))
        same = await door.key.post("/api/runs", json=dict(reversed(body.items())), headers=_key("three"))
        assert same.status_code == 202
        other = await door.key.post("/api/runs", json={**body, "inputs": {"q": "ho"}}, headers=_key("three"))
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")

    async def test_a_refused_call_stores_no_key(self, door: Door) -> None:
        body = {"workflow": _chain(), "model": "nobody", "inputs": {"q": "hi"}}
        refused = await door.key.post("/api/runs", json=body, headers=_key("four"))
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "model")
        accepted = await door.key.post("/api/runs?wait=true", json={**body, "model": "scripted"}, headers=_key("four"))
        assert accepted.status_code == 200


class TestTheStream:
    async def test_a_finished_run_replays_and_closes_from_any_position(self, door: Door) -> None:
        run_id = (await _run(door, _flight()))["runId"]
        whole = await _follow(door, run_id)
        assert [int(event.id or 0) for event in whole] == list(range(1, len(whole) + 1))
        stored = await door.key.get(f"/api/runs/{run_id}/events", headers={"Accept": "application/json"})
        assert stored.json()["items"] == [event.json for event in whole]
        assert await _follow(door, run_id, after="3") == whole[3:]
        assert await _follow(door, run_id, last_event_id=b"5", after="3") == whole[5:]
        assert await _follow(door, run_id, after=str(len(whole))) == []

    async def test_a_header_that_cannot_be_used_gives_the_full_replay_and_a_bad_after_is_refused(
        self, door: Door
    ) -> None:
        run_id = (await _run(door, _chain()))["runId"]
        whole = await _follow(door, run_id)
        beyond = str(len(whole) + 1)
        for useless in (b"", b"x", b"-1", b"1.5", b"9" * 40, "١".encode(), beyond.encode()):
            assert await _follow(door, run_id, last_event_id=useless) == whole
        for bad in ("x", "-1", "1.5", "", "9" * 40):
            refused = await door.key.get(f"/api/runs/{run_id}/events", params={"after": bad})
            assert refused.status_code in (400, 422), bad
        for bad in ("x", beyond):
            refused = await door.key.get(f"/api/runs/{run_id}/events", params={"after": bad})
            assert (refused.status_code, refused.json()["code"]) == (400, "BAD_POSITION"), bad

    async def test_starting_with_a_stream_gives_the_events_from_the_first(self, door: Door) -> None:
        body = {"workflow": _chain(), "model": "scripted", "inputs": {"q": "hi"}}
        answer = await door.key.post("/api/runs", json=body, headers={"Accept": "text/event-stream"})
        events = [event for event in EventParser().feed(answer.content) if event.is_durable]
        assert (events[0].type, events[-1].type) == ("run_started", "workflow_complete")
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "no-store" in answer.headers["cache-control"]
        assert answer.headers["x-accel-buffering"] == "no"

    async def test_text_that_forms_is_live_only_and_has_no_number(self, door: Door) -> None:
        script = [{"for": {"node": "say"}, "replies": [{"stream": ["hel", "lo"], "everyMs": 100}]}]
        body = {"workflow": {**_chain(), "script": script}, "model": "scripted", "inputs": {"q": "hi"}}
        answer = await door.key.post("/api/runs", json=body, headers={"Accept": "text/event-stream"})
        live = [event for event in EventParser().feed(answer.content) if not event.is_durable]
        assert {event.type for event in live} == {"text_snapshot", "text_delta"}
        assert "".join(event.json["data"]["text"] for event in live) == "hello"
        assert all("seq" not in event.json for event in live)


async def test_a_cancel_ends_the_call_in_flight_and_is_as_good_twice(door: Door) -> None:
    script = [{"for": {"node": "say"}, "replies": [{"hang": True}]}]
    body = {"workflow": {**_chain(), "script": script}, "model": "scripted", "inputs": {"q": "hi"}}
    run_id = (await door.key.post("/api/runs", json=body)).json()["runId"]
    await _until_asked(door)
    first, second = [await door.key.post(f"/api/runs/{run_id}/cancel") for _ in range(2)]
    assert (first.json(), second.json()) == ({"runId": run_id, "status": "CANCELLED"},) * 2
    assert door.journal.calls[0].aborted
    events = await _follow(door, run_id)
    assert [event.type for event in events].count("run_cancelled") == 1
    assert events[-1].type == "run_cancelled"


async def test_versions_and_the_draft_run_as_they_are_named(door: Door) -> None:
    workflow = await make(door, **_chain())
    path = f"/api/workflows/{workflow['id']}"
    await door.key.post(f"{path}/versions", json={"note": "first"})
    script = [{"for": {"node": "say"}, "replies": [{"text": "draft"}], "repeatLast": True}]
    await door.key.put(path, json={**workflow, "script": script})
    results: dict[Any, Any] = {}
    for version in (None, 1, "latest"):
        body = {"inputs": {"q": "hi"}, "model": "scripted", "version": version}
        detail = (await door.key.post(f"{path}/run?wait=true", json=body)).json()
        results[version] = (detail["version"], detail["outputs"][0]["result"])
    assert results == {None: (None, "draft"), 1: (1, "hello"), "latest": (1, "hello")}
    missing = await door.key.post(f"{path}/run", json={"version": 7, "inputs": {"q": "hi"}})
    assert missing.status_code == 404


async def test_what_a_start_node_would_have_to_ask_for_is_refused_by_name(door: Door) -> None:
    document = _chain()
    document["graphData"]["nodes"][0]["data"]["variables"] = [
        {"name": "q", "required": True},
        {"name": "n", "type": "integer"},
    ]
    refused = await door.key.post(
        "/api/runs", json={"workflow": document, "inputs": {"n": "many"}, "model": "scripted"}
    )
    assert (refused.status_code, refused.json()["code"]) == (422, "INPUT_INVALID")
    assert {error["field"] for error in refused.json()["errors"]} == {"q", "n"}


async def test_a_script_that_cannot_be_played_is_refused_before_anything_runs(door: Door) -> None:
    document = {**_chain(), "script": [{"for": {"node": "say"}, "replies": [{"txt": "hello"}]}]}
    refused = await door.key.post("/api/runs", json={"workflow": document, "inputs": {"q": "hi"}, "model": "scripted"})
    assert (refused.status_code, refused.json()["code"]) == (422, "GRAPH_INVALID")
    assert refused.json()["errors"][0]["field"].startswith("script.0.replies.0")


async def test_queued_inputs_that_nobody_took_are_a_warning(door: Door) -> None:
    detail = await _run(door, _chain(), queuedInputs={"ask": [{"q": "later"}]})
    assert [warning["node"] for warning in detail["warnings"] if warning["field"] == "queuedInputs"] == ["ask"]


async def test_a_cost_budget_warns_of_every_model_that_has_no_price(door: Door) -> None:
    prices = {"inputPerMillion": 1, "outputPerMillion": 1, "currency": "USD"}
    script = [{"for": {"node": "say"}, "replies": [{"text": "hi"}]}]
    for entry in ({"name": "priced", "prices": prices}, {"name": "free"}):
        made = await door.key.post("/api/models", json={"provider": "scripted", "script": script, **entry})
        assert made.status_code == 201, made.text
    chain = _chain()
    chain["graphData"]["nodes"][1]["data"]["model"] = "free"
    body = {"workflow": chain, "model": "priced", "inputs": {"q": "hi"}, "budget": {"cost": 1}}
    detail = (await door.key.post("/api/runs?wait=true", json=body)).json()
    assert [(one["field"], "'free'" in one["message"]) for one in detail["warnings"]] == [("budget.cost", True)]


async def test_lists_are_pages_newest_first_and_can_be_narrowed(door: Door) -> None:
    ids = [(await _run(door, _chain()))["runId"] for _ in range(3)]
    failing = [{"for": {"node": "say"}, "replies": [{"httpError": 401}]}]
    ids.append((await _run(door, {**_chain(), "script": failing}))["runId"])
    seen: list[str] = []
    page: dict[str, Any] = {"nextCursor": None}
    while True:
        params = {"limit": "2"} | ({"cursor": page["nextCursor"]} if page["nextCursor"] else {})
        page = (await door.key.get("/api/runs", params=params)).json()
        assert page["total"] == 4
        seen += [one["runId"] for one in page["items"]]
        if page["nextCursor"] is None:
            break
    assert seen == list(reversed(ids))

    async def found(**narrowed: str) -> int:
        return (await door.key.get("/api/runs", params=narrowed)).json()["total"]

    assert (await found(status="FAILED"), await found(status="SUCCESS"), await found(mode="AGENTIC")) == (1, 3, 0)
    assert (await found(q="Cha"), await found(q="nowhere"), await found(q=ids[0][:8])) == (4, 0, 1)
    assert (await found(since="2001-01-01"), await found(until="2001-01-01T00:00:00Z")) == (4, 0)
    for bad in ({"cursor": "x"}, {"since": "soon"}, {"status": "LOST"}, {"limit": "0"}):
        refused = await door.key.get("/api/runs", params=bad)
        assert refused.status_code == 422, bad


async def test_a_list_shows_where_each_run_went(door: Door) -> None:
    # given a run that went round once more, and one that was drawn through and failed on its way
    failing = [{"for": {"node": "say"}, "replies": [{"httpError": 401}]}]
    flown, drawn = await _run(door, _flight()), await _run(door, {**_chain(), "script": failing})
    # then the list tells the visits of the first in order, and the nodes of the second that began
    listed = {run["runId"]: run for run in (await door.key.get("/api/runs")).json()["items"]}
    route = [(stop["nodeId"], stop["iterSeq"], stop["onCanvas"]) for stop in listed[flown["runId"]]["route"]]
    assert route == [("ask", 1, True), ("say", 1, True), ("say", 2, False), ("out", 1, True)]
    passed = [(stop["nodeLabel"], stop["status"]) for stop in listed[drawn["runId"]]["route"]]
    assert passed == [("Ask", "SUCCESS"), ("Say", "FAILED")]
    assert (listed[flown["runId"]]["routeLength"], listed[drawn["runId"]]["routeLength"]) == (4, 2)


async def test_of_a_long_route_the_list_shows_the_last_fifty_stops(door: Door) -> None:
    types = ["userInput", *["template"] * 58, "output"]
    parts = [{"id": f"n{n}", "type": one, "data": {"template": f"{n}"}} for n, one in enumerate(types)]
    edges = [{"source": f"n{n}", "target": f"n{n + 1}"} for n in range(59)]
    run = await _run(door, {"name": "Long", "mode": "DAG", "graphData": {"nodes": parts, "edges": edges}}, inputs={})
    [listed] = (await door.key.get("/api/runs")).json()["items"]
    assert (listed["runId"], listed["routeLength"]) == (run["runId"], 60)
    assert [stop["nodeId"] for stop in listed["route"]] == [f"n{n}" for n in range(10, 60)]


async def test_nobody_sees_the_runs_of_somebody_else(door: Door) -> None:
    detail = await _run(door, _flight())
    other = Actor("somebody-else", "other", "editor", "api_key", "k")
    for read in (
        door.services.run_views.detail(other, detail["runId"]),
        door.services.run_views.visits(other, detail["runId"]),
        door.services.run_views.workspace(other, detail["runId"], detail["visits"][0]["visitId"]),
        door.services.runs.cancel(other, detail["runId"]),
        door.services.streams.last_event(other, detail["runId"]),
    ):
        with pytest.raises(Exception, match="There is no run"):
            await read
    for path in ("", "/visits", "/events", "/pauses"):
        assert (await door.stranger.get(f"/api/runs/{detail['runId']}{path}")).status_code == 401


async def test_decisions_are_counted_over_the_runs_of_a_workflow(door: Door) -> None:
    workflow = await make(door, **_flight())
    for _ in range(2):
        body = {"inputs": {"q": "hi"}, "model": "scripted"}
        await door.key.post(f"/api/workflows/{workflow['id']}/run?wait=true", json=body)
    counted = (await door.key.get("/api/decisions/stats", params={"workflow": workflow["id"]})).json()
    assert (counted["runs"], counted["decisions"], counted["flyBacks"], counted["fallbacks"]) == (2, 6, 2, 0)
    assert {"fromNodeId": "say", "toNodeId": "say", "count": 2, "drawn": 0} in counted["jumps"]
    assert {"reason": "again, longer", "next": "say", "count": 2} in counted["reasons"]


async def test_two_runs_are_laid_side_by_side(door: Door) -> None:
    a, b = (await _run(door, _flight()))["runId"], (await _run(door, _chain("AGENTIC", _straight())))["runId"]
    compared = (await door.key.get("/api/runs/compare", params={"a": a, "b": b})).json()
    assert [step["relation"] for step in compared["steps"]] == ["same", "same", "only_a", "same"]
    assert compared["variables"] == []


async def test_one_node_is_tried_on_variables_or_on_the_workspace_of_a_visit(door: Door) -> None:
    workflow = await make(door, **_chain())
    path = f"/api/workflows/{workflow['id']}/nodes/say/test"
    tried = (await door.key.post(path, json={"variables": {"q": "now"}})).json()
    assert (tried["status"], tried["output"]["data"]) == ("SUCCESS", {"text": "hello"})
    assert "Say now" in str(tried["calls"][0]["request"])
    flown = await _run(door, _flight())
    place = {"runId": flown["runId"], "visitId": flown["visits"][0]["visitId"]}
    tried = (await door.key.post(path, json=place)).json()
    assert "Say hi" in str(tried["calls"][0]["request"])
    assert (await door.key.post(path, json={"runId": flown["runId"]})).status_code == 422
    assert (await door.key.get("/api/runs")).json()["total"] == 1


async def test_a_large_output_is_cut_in_lists_and_whole_by_itself(door: Door) -> None:
    long = "x" * 200_000
    script = [{"for": {"node": "say"}, "replies": [{"text": long}]}]
    detail = await _run(door, {**_chain(), "script": script})
    listed: Wire = next(node for node in detail["nodes"] if node["nodeId"] == "say")
    assert listed["outputTruncated"] is True
    assert len(str(listed["output"])) < 65_536
    whole = (await door.key.get(f"/api/runs/{detail['runId']}/nodes/say")).json()
    assert whole["output"]["data"]["text"] == long
    assert detail["outputs"][0]["result"] == long


def _straight() -> list[dict[str, Any]]:
    steps = [("say", "go"), ("out", "done")]
    return [{"for": {"role": "planner"}, "replies": [{"next": to, "reason": why} for to, why in steps]}]


def _key(name: str) -> dict[str, str]:
    return {"Idempotency-Key": name}


async def _follow(
    door: Door, run_id: str, *, after: str | None = None, last_event_id: bytes | None = None
) -> list[ReadEvent]:
    """Read a stream to its end and return its durable events."""
    headers = {b"Accept": b"text/event-stream"} | (
        {b"Last-Event-ID": last_event_id} if last_event_id is not None else {}
    )
    params = {"after": after} if after is not None else {}
    answer = await door.key.get(f"/api/runs/{run_id}/events", headers=headers, params=params, timeout=httpx.Timeout(30))
    assert answer.status_code == 200, answer.text
    return [event for event in EventParser().feed(answer.content) if event.is_durable]


async def _until_asked(door: Door) -> None:
    """Return when the model was asked."""
    async with asyncio.timeout(10):
        while not door.journal.calls:  # noqa: ASYNC110 -- a journal tells nobody
            await asyncio.sleep(0.01)


async def _rested(door: Door) -> None:
    """Return when no run is open."""

    async def open_runs() -> int:
        return (await door.key.get("/api/runs", params={"status": ["PENDING", "RUNNING"]})).json()["total"]

    while await open_runs():  # noqa: ASYNC110 -- as a caller polls
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(("mode", "found"), [("dag", 1), ("Dag", 1), ("agentic", 0), ("nonsense", None)])
async def test_a_mode_is_looked_for_in_any_case(door: Door, mode: str, found: int | None) -> None:
    await _run(door, _chain())
    listed = await door.key.get("/api/runs", params={"mode": mode})
    assert listed.status_code == (422 if found is None else 200)
    assert found is None or listed.json()["total"] == found


@pytest.mark.parametrize("version", [True, 1.5, "1", 0])
async def test_a_version_is_a_number_or_latest(door: Door, version: Any) -> None:
    workflow = await make(door, **_chain())
    await door.key.post(f"/api/workflows/{workflow['id']}/versions", json={})
    refused = await door.key.post(f"/api/workflows/{workflow['id']}/run", json={"version": version})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].startswith("version")


async def test_large_inputs_and_results_are_cut_by_whole_values_in_events_and_marked(door: Door) -> None:
    large = "x" * 70_000
    document = _chain(script=[])
    document["script"] = [{"for": {"node": "say"}, "replies": [{"text": large}]}]
    detail = await _run(door, document, inputs={"q": large, "more": "kept"})
    events = await _follow(door, detail["runId"])
    started, complete = events[0].json["data"], events[-1].json["data"]
    assert (started["inputs"]["q"]["__truncated__"], started["inputs"]["more"]) == (True, "kept")
    assert (started["inputsTruncated"], started["inputsSize"]) == (True, len(large) + len('{"q":"","more":"kept"}'))
    (output,) = complete["outputs"]
    assert (output["nodeId"], output["result"]["__truncated__"], complete["outputsTruncated"]) == ("out", True, True)
    assert max(len(event.data) for event in events) < 70_000
    # and what is cut there is whole in the run itself
    assert (detail["inputs"]["q"], detail["outputs"][0]["result"]) == (large, large)
    small = await _follow(door, (await _run(door, _chain()))["runId"])
    assert not any("Truncated" in name for event in small for name in event.json["data"])

"""What a case checks, one function each. A check that names a run is about that run only, else about all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from acceptance.case_runner.runner import ENDED, RUN_END, Stage, Started
from flyback.domain.json_value import loads_strict
from flyback.providers.scripted import ScriptedCall
from kit.event_reader import ReadEvent

_STATUS = {"succeeded": "SUCCESS", "failed": "FAILED", "cancelled": "CANCELLED", "waiting": "PAUSED"}
_BEGUN = ("RUNNING", "SUCCESS", "FAILED", "CANCELLED")
Check = dict[str, Any]


def run_status(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        if check["is"] == "failed_or_refused":
            assert run.refused or stage.detail(run)["status"] == "FAILED"
        elif check["is"] == "succeeded_or_failed_with_reason":
            detail = stage.detail(run)
            assert detail["status"] == "SUCCESS" or detail["errorMsg"]
        else:
            assert stage.detail(run)["status"] == _STATUS[check["is"]]


def node_runs(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        begun = [event for event in _node_events(stage, run, check["node"]) if event["status"] == "RUNNING"]
        assert len([event for event in begun if not event.get("recovered")]) == check["is"]


def node_status(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        assert _node(stage, run, check["node"])["status"] == check["is"]


def node_status_not(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        assert _node(stage, run, check["node"])["status"] != check["is"]


def node_status_in(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        assert _node(stage, run, check["node"])["status"] in check["in"]


def order(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        ended = [
            event["data"]["nodeId"]
            for event in _events(stage, run)
            if event["type"] == "node_status" and event["data"]["status"] == "SUCCESS"
        ]
        assert [node for node in ended if node in check["nodes"]] == check["nodes"]


def output(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        assert [one["result"] for one in stage.detail(run)["outputs"]] == [check["is"]]


history_output = output


def model_calls(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        count = len(stage.calls(run, check.get("for")))
        assert count == check["is"] if "is" in check else count <= check["at_most"]


def model_call_aborted(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        # The model writes down that it was stopped a moment after the run has its end.
        stage.wait_until(lambda run=run: _all_aborted(stage.calls(run, check["for"])), 10)


def _all_aborted(calls: Sequence[ScriptedCall]) -> bool:
    return bool(calls) and all(call.aborted for call in calls)


def error(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        text = json.dumps(run.answer.json() if run.refused else _failure(stage, run), ensure_ascii=False)
        if "contains_any" in check:
            assert any(part in text for part in check["contains_any"])
        if "names_node" in check:
            assert repr(check["names_node"]) in text
        if "says" in check:
            assert check["says"][run.variant.name] in text


def ended_within_s(stage: Stage, check: Check) -> None:
    assert all(seconds <= check["is"] for seconds in stage.ended_after.values())


def answered_within_s(stage: Stage, check: Check) -> None:
    assert all(run.seconds <= check["is"] for run in stage.runs())


def no_node_left_in(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        assert check["status"] not in [node["status"] for node in stage.detail(run)["nodes"]]


def no_run_left_in(stage: Stage, check: Check) -> None:
    items = stage.client.get("/runs", params={"status": check["status"].upper(), "q": stage.case.name}).json()["items"]
    assert items == []


def event_last(stage: Stage, check: Check) -> None:
    assert check["type"] == "run_end"
    for run in stage.runs():
        assert _events(stage, run)[-1]["type"] in RUN_END


def save(stage: Stage, check: Check) -> None:
    assert check["is"] == "accepted_or_refused_with_reason"  # the step itself has looked at the answer


def run_refused(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        assert run.answer.status_code == 422
        for name in check["error_names_all_of"][run.variant.name]:
            assert repr(name) in run.answer.text


def same_graph_in_mode(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        document = {**run.variant.document, "mode": check["mode"]}
        report = stage.client.post("/workflows/validate", json=document).json()
        assert report["valid"], report


def node_record(stage: Stage, check: Check) -> None:
    assert check["shows"] == "the reply was cut (finish reason length)"
    for run in stage.runs(check.get("run")):
        meta = _node(stage, run, check["node"])["output"]["meta"]
        assert meta["finishReason"] == "length"


def prompt(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        messages = stage.calls(run, check["for"])[0].prompt
        whole = "\n".join(message.text for message in messages)
        if "equals" in check:
            assert [message.text for message in messages if message.role == "user"] == [check["equals"]]
        if "contains" in check:
            assert check["contains"] in whole
        if "not_contains" in check:
            assert check["not_contains"] not in whole


def warning(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        assert any(check["about"] in one["message"] for one in stage.detail(run)["warnings"])


def same_in_every_repeat(stage: Stage, check: Check) -> None:
    for what in check["what"]:
        node = what.removeprefix("prompt:")
        prompts = [[message.text for message in stage.calls(run, {"node": node})[0].prompt] for run in stage.runs()]
        assert all(one == prompts[0] for one in prompts)


def visits(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        assert [visit["nodeId"] for visit in stage.detail(run)["visits"]] == check["is"]


def decision(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        made = stage.detail(run)["visits"][check["visit"] - 1]["decision"]
        assert (made["next"], made["reason"]) == (check["next"], check["reason"])


def question_ids(stage: Stage, check: Check) -> None:
    assert check["distinct"]
    for run in stage.runs():
        ids = [pause["pauseId"] for pause in stage.detail(run)["pauses"]]
        assert len(ids) == len(set(ids)) > 1


def pending_questions_after_end(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        assert len(stage.open_questions(run)) == check["is"]


def run_status_while_waiting(stage: Stage, check: Check) -> None:
    assert stage.waiting
    for found in stage.waiting.values():
        assert {detail["status"] for detail in found} == {_STATUS[check["is"]]}


def run_status_after_restart(stage: Stage, check: Check) -> None:
    for found in stage.waiting.values():
        assert found[-1]["status"] == _STATUS[check["is"]]


def run_inputs(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        assert stage.detail(run)["inputs"] == check["is"]


def iter_seq(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        mine = [visit["iterSeq"] for visit in stage.detail(run)["visits"] if visit["nodeId"] == check["node"]]
        assert mine == check["all"]


def visit_output(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        visit = stage.detail(run)["visits"][check["visit"] - 1]
        assert check["contains"] in json.dumps(visit["output"]["data"], ensure_ascii=False)


def from_node(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        visit = stage.detail(run)["visits"][check["visit"] - 1]
        assert (visit["fromNodeId"], visit["isFlyBack"]) == (check["is"], True)


def workspace(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        visit = stage.detail(run)["visits"][check["visit"] - 1]
        assert visit["variables"][check["var"]] == check["is"]


def run_page_graph(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        assert check["has_node"] in [node["id"] for node in stage.detail(run)["graphData"]["nodes"]]


def new_run_uses(stage: Stage, check: Check) -> None:
    assert check["graph"] == "the changed one"
    body = {"inputs": {"z": "x"}, "model": "scripted"}
    answer = stage.client.post(f"/workflows/{stage.workflow_id}/run?wait=true", json=body)
    assert [node["nodeId"] for node in answer.json()["nodes"]] == ["in", "before", "out"]


def delete_workflow_while_waiting(stage: Stage, check: Check) -> None:
    assert check["is"].startswith("refused")
    path = f"/workflows/{stage.workflow_id}"
    workflow = stage.client.get(path).json()
    document = {**stage.runs()[0].variant.document, "revision": workflow["revision"]}
    assert stage.client.put(path, json=document).status_code == 200
    begun = stage.client.post(f"{path}/run?wait=true", json={"inputs": {"q": "x"}, "model": "scripted"}).json()
    assert begun["status"] == "PAUSED"
    assert stage.client.delete(path).status_code == 409
    assert stage.client.delete(f"{path}?cancelRuns=true").is_success
    assert stage.client.get(f"/runs/{begun['runId']}").json()["status"] == "CANCELLED"


def history_has(stage: Stage, check: Check) -> None:
    where = {"end time": "finishedAt", "node records": "nodes", "output": "outputs"}
    for run in stage.runs():
        assert all(stage.detail(run)[where[field]] for field in check["fields"])


def server_log(stage: Stage, check: Check) -> None:
    assert check["has_no"] == "unhandled exception"
    assert "Traceback" not in stage.server.log


def event_ids(stage: Stage, check: Check) -> None:
    assert check["strictly_increasing"]
    assert check["unique"]
    for run in stage.runs():
        seen = _all_read(run)
        numbers = [int(event.id or 0) for event in seen]
        assert sorted(set(numbers)) == list(range(1, len(set(numbers)) + 1))
        for stream in (*run.streams.values(), *run.first_streams.values()):
            ids = [int(event.id or 0) for event in stream.durable]
            assert ids == sorted(set(ids))


def events_total(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        read = run.first_streams["stream"].durable[:3] + run.streams["stream"].durable
        assert [event.json for event in read] == _events(stage, run)


def events_after_reconnect(stage: Stage, check: Check) -> None:
    for run in stage.runs(check.get("run")):
        stream = run.streams["stream"]
        stream.wait(lambda read: read.ended, within_seconds=20)
        first = 1 if check.get("starts_at") == "first event" else 4
        assert [int(event.id or 0) for event in stream.durable] == list(range(first, len(_events(stage, run)) + 1))
        assert stream.durable[-1].type in RUN_END


def same_event_lists(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        for name in check["streams"]:
            run.streams[name].wait(lambda read: read.ended, within_seconds=20)
        read = [
            [(event.id, event.type, event.data) for event in run.streams[name].durable] for name in check["streams"]
        ]
        assert read[0]
        assert all(one == read[0] for one in read)


def each_stream_ends_with(stage: Stage, check: Check) -> None:
    assert check["type"] == "run_end"
    for run in stage.runs():
        assert all(stream.durable[-1].type in RUN_END for stream in run.streams.values())


def stream(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        for read in run.streams.values():
            read.wait(lambda one: one.ended, within_seconds=check["closed_within_s"])
            assert read.durable[-1].type == "workflow_error"


def stream_parsed_by_spec(stage: Stage, check: Check) -> None:
    assert check["every_data_is_one_json_value"]
    for run in stage.runs():
        for read in run.streams.values():
            assert all(isinstance(loads_strict(event.data), dict) for event in read.events)


def event_node_output(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        ended = [event for event in _node_events(stage, run, check["node"]) if event["status"] == "SUCCESS"]
        assert ended[0]["output"]["data"]["text"] == check["is"]


def no_event_with_id(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        assert all(event.id != check["is"] for event in _all_read(run))


def response_header(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        assert all(check["contains"] in read.headers[check["name"]] for read in run.streams.values())


def earlier_run(stage: Stage, check: Check) -> None:
    assert stage.earlier is not None
    now = stage.client.get(f"/runs/{stage.earlier['runId']}").json()
    assert now == stage.earlier
    assert now["status"] == _STATUS[check["status"]]


def events(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        for node, count in check["node_success_count"].items():
            assert [event["status"] for event in _node_events(stage, run, node)].count("SUCCESS") == count


def every_event_and_api_body(stage: Stage, check: Check) -> None:
    assert "strict JSON" in check["is"]
    for run in stage.runs():
        for path in ("", "/events", "/nodes/raw/calls", "/nodes/calc/calls"):
            answer = stage.client.get(f"/runs/{run.run_id}{path}", headers={"Accept": "application/json"})
            assert loads_strict(answer.content)


def history(stage: Stage, check: Check) -> None:
    assert check["readable_after_restart"]
    assert all(stage.detail(run)["status"] in ENDED for run in stage.runs())


def node_output(stage: Stage, check: Check) -> None:
    for run in stage.runs():
        envelope = _node(stage, run, check["node"])["output"]
        text = envelope["data"]["text"]
        assert all(part in text for part in check.get("contains_all", ()))
        if "unrepresentable_parts" in check:
            assert "\ufffd" in text
            assert envelope["meta"]["mended"]


def list_of_runs(stage: Stage, check: Check) -> None:
    assert check["includes_this_run"]
    listed = [one["runId"] for one in stage.client.get("/runs").json()["items"]]
    assert all(run.run_id in listed for run in stage.runs())


def _events(stage: Stage, run: Started) -> list[dict[str, Any]]:
    answer = stage.client.get(f"/runs/{run.run_id}/events", headers={"Accept": "application/json"})
    return answer.json()["items"]


def _node_events(stage: Stage, run: Started, node: str) -> list[dict[str, Any]]:
    changed = [event["data"] for event in _events(stage, run) if event["type"] == "node_status"]
    return [data for data in changed if data["nodeId"] == node and data["status"] in _BEGUN]


def _node(stage: Stage, run: Started, node: str) -> dict[str, Any]:
    return next(record for record in stage.detail(run)["nodes"] if record["nodeId"] == node)


def _failure(stage: Stage, run: Started) -> dict[str, Any]:
    detail = stage.detail(run)
    return {"code": detail["errorCode"], "message": detail["errorMsg"], "node": repr(detail["errorNodeId"])}


def _all_read(run: Started) -> list[ReadEvent]:
    streams = (*run.first_streams.values(), *run.streams.values())
    return [event for stream in streams for event in stream.durable]

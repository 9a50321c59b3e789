"""Smart actions on a Hermes Agent, on a real server that is killed: the scripted stand-in, or the one that is installed.

`FLYBACK_TEST_HERMES` names the Python of a real one; `make hermes` sets that up.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from kit.hermes import python_with_hermes
from kit.model_server import ModelServer, says
from kit.server import Server

_WISH = "there is one more requirement: thank her parents"
_NODES: list[dict[str, Any]] = [
    {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "occasion"}]}},
    {
        "id": "act",
        "type": "smartAction",
        "data": {"runtime": "hermes", "instruction": "Write a toast for {{occasion}}.", "label": "Toast"},
    },
    {"id": "out", "type": "output", "data": {"template": "{{act.final_response}}"}},
]
_EDGES = [{"id": "e1", "source": "ask", "target": "act"}, {"id": "e2", "source": "act", "target": "out"}]


@pytest.fixture
def server(tmp_path: Path) -> Generator[Server]:
    python = os.environ.get("FLYBACK_TEST_HERMES") or str(python_with_hermes(tmp_path))
    server = Server(tmp_path / "data", environment={"HERMES_PYTHON": python, "TMPDIR": str(tmp_path)})
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _start(
    server: Server,
    act: list[dict[str, Any]],
    planner: list[dict[str, Any]],
    *,
    model: str = "scripted",
    mode: str = "AGENTIC",
    approval: Sequence[str] = (),
) -> str:
    script = [{"for": {"node": "act"}, "replies": act}, {"for": {"role": "planner"}, "replies": planner}]
    ask, agent, out = _NODES
    agent = {**agent, "data": {**agent["data"], "approval": list(approval)}}
    graph = {"nodes": [ask, agent, out], "edges": _EDGES}
    document = {"name": "Toast", "mode": mode, "graphData": graph, "script": script}
    body = {"workflow": document, "model": model, "inputs": {"occasion": "Mia's birthday"}}
    with server.client() as client:
        answer = client.post("/runs", json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()["runId"]


def _when(server: Server, run_id: str, *statuses: str) -> dict[str, Any]:
    """The run as soon as it has one of these statuses."""
    with server.client() as client:
        while (run := client.get(f"/runs/{run_id}").json())["status"] not in statuses:
            assert run["status"] not in ("FAILED", "CANCELLED"), run["errorMsg"]
            time.sleep(0.05)
    return run


def _get(server: Server, path: str) -> Any:
    with server.client() as client:
        return client.get(path).json()


def _tool(name: str, **args: Any) -> dict[str, Any]:
    return {"tool": {"name": name, "args": args}}


def _say(reason: str, to: str) -> dict[str, Any]:
    return {"next": to, "reason": reason}


def test_given_a_question_and_a_kill_when_the_answer_comes_then_the_work_goes_on_and_the_run_flies_back(
    server: Server,
) -> None:
    # given an agent that plans, asks, and is left alone by a power cut
    act = [
        _tool("todo", todos=[{"id": "1", "content": "a toast", "status": "in_progress"}]),
        _tool("clarify", question="For whom is it?"),
        _tool("final_answer", final_response="A toast to Mia.", newRequirements=[_WISH]),
        {"text": "A toast to Mia and her parents."},
    ]
    run_id = _start(server, act, [_say("begin", "act"), _say("her parents", "act"), _say("done", "out")])
    asked = _when(server, run_id, "PAUSED")
    assert asked["pauses"][0]["questions"][0]["text"] == "For whom is it?"
    server.kill()
    server.start()
    # when the person answers
    with server.client() as client:
        assert client.post(f"/runs/{run_id}/resume", json={"answer": f"Mia, and {_WISH}"}).status_code == 200
    run = _when(server, run_id, "SUCCESS")
    # then the answer was heard, the wish is said, and the second visit does it
    first, second = [visit for visit in run["visits"] if visit["nodeId"] == "act"]
    assert first["output"]["data"]["final_response"] == f"The user has a new requirement: {_WISH}\n\nA toast to Mia."
    assert (second["iterSeq"], second["isFlyBack"]) == (2, True)
    assert run["outputs"][0]["result"] == "A toast to Mia and her parents."
    calls = _get(server, f"/runs/{run_id}/visits/{first['visitId']}/calls")["items"]
    own = [call for call in calls if call["role"] != "planner"]
    assert [call["kind"] for call in own] == ["model", "tool", "model", "model"]
    heard = [message["content"] for message in own[-1]["request"]["messages"] if message["role"] == "tool"]
    assert heard[-1] == f"Mia, and {_WISH}"
    later = _get(server, f"/runs/{run_id}/visits/{second['visitId']}/calls")["items"][0]["request"]["messages"]
    assert _WISH in str(later)


def test_given_a_kill_in_the_middle_of_a_model_call_the_next_server_goes_on_and_nothing_is_left_running(
    server: Server, tmp_path: Path
) -> None:
    # given an agent whose tool is done, and whose next answer does not come
    act = [
        _tool("todo", todos=[{"id": "1", "content": "once", "status": "pending"}]),
        {"text": "Done.", "delayMs": 3_000},
    ]
    run_id = _start(server, act, [_say("begin", "act"), _say("done", "out")])
    while _lines_of_calls(server) < 3:  # the first began and ended, the second began
        time.sleep(0.05)
    # when the server dies
    server.kill()
    # then Hermes dies with it
    while _left_running(tmp_path):
        time.sleep(0.05)
    # and the next server goes on, with the tool's result
    server.start()
    run = _when(server, run_id, "SUCCESS")
    (visit,) = [visit for visit in run["visits"] if visit["nodeId"] == "act"]
    assert visit["output"]["data"]["final_response"] == "Done."
    events = _get_events(server, run_id)
    assert [event for event in events if event == "tool_result"] == ["tool_result"]
    assert _left_running(tmp_path) == []


@pytest.mark.parametrize(("action", "told"), [("approve", "a toast"), ("deny", "did not approve")])
def test_given_a_tool_of_its_own_that_is_marked_a_person_is_asked_before_it_runs(
    server: Server, action: str, told: str
) -> None:
    # given an agent that wants to use its task list
    use = _tool("todo", todos=[{"id": "1", "content": "a toast", "status": "pending"}])
    act = [use, {"text": "Done."}]
    run_id = _start(server, act, [_say("begin", "act"), _say("done", "out")], approval=["todo"])
    asked = _when(server, run_id, "PAUSED")
    (pause,) = asked["pauses"]
    assert (pause["kind"], "todo" in str(pause["questions"])) == ("approval", True)
    # when the person has said something to it
    with server.client() as client:
        assert client.post(f"/pauses/{pause['pauseId']}/answer", json={"action": action}).status_code == 200
    run = _when(server, run_id, "SUCCESS", "PAUSED")
    # then it has run, without another question, or the model was told why not
    assert run["status"] == "SUCCESS"
    (visit,) = [visit for visit in run["visits"] if visit["nodeId"] == "act"]
    calls = _get(server, f"/runs/{run_id}/visits/{visit['visitId']}/calls")["items"]
    last = [call for call in calls if call["kind"] == "model" and call["role"] == "node"][-1]
    heard = [message["content"] for message in last["request"]["messages"] if message["role"] == "tool"]
    assert told in heard[-1]


async def test_given_a_model_behind_http_its_calls_come_from_the_server_and_hermes_knows_no_key(
    server: Server,
) -> None:
    async with ModelServer(says("A toast", " to Mia.")) as model:
        entry = {
            "name": "glm",
            "provider": "openai-compatible",
            "baseUrl": model.base_url,
            "model": "glm-5",
            "apiKey": "sk-of-the-server",
        }

        def run() -> dict[str, Any]:
            with server.client() as client:
                assert client.post("/models", json=entry).status_code == 201
            return _when(server, _start(server, [], [], model="glm", mode="DAG"), "SUCCESS")

        done = await asyncio.to_thread(run)
        assert done["outputs"][0]["result"] == "A toast to Mia."
        (asked,) = [one for one in model.asked if one.path.endswith("/chat/completions")]
        assert asked.headers["authorization"] == "Bearer sk-of-the-server"
        assert "Write a toast for Mia's birthday." in asked.prompt
        names = [tool["function"]["name"] for tool in cast("list[dict[str, Any]]", asked.body["tools"])]
        assert sorted(names) == ["clarify", "final_answer", "todo"]


def _lines_of_calls(server: Server) -> int:
    """How much the scripted model has written down of the agent's calls."""
    journal = server.data / "scripted.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    return sum(json.loads(line)["role"] == "node" for line in lines if line.endswith("}"))


def _get_events(server: Server, run_id: str) -> list[str]:
    with server.client() as client:
        text = client.get(f"/runs/{run_id}/events").text
    return [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]


def _left_running(place: Path) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            folder = os.readlink(entry / "cwd") if entry.name.isdigit() else ""
        except OSError:
            continue
        if folder.startswith(str(place / "flyback-hermes-")):
            found.append(folder)
    return found

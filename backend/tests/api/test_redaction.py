"""A stored key stands nowhere in what runs leave behind, however it got there."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import JsonValue

from kit.door import Door
from kit.drawing import draw

SECRET = "sk-live/0123456789+abcdefghij"
_ROUTE: tuple[JsonValue, ...] = tuple({"next": node_id, "reason": "so"} for node_id in ("join", "say", "out"))
_SPELLINGS = (SECRET, quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode().rstrip("="))


@pytest.mark.parametrize("mode", ["DAG", "AGENTIC"])
@pytest.mark.parametrize("size", [1, 40_000])
async def test_a_node_that_gets_hold_of_a_key_leaves_it_in_no_row_and_no_event(
    door: Door, mode: str, size: int, tmp_path: Path
) -> None:
    # given a stored key, and a run whose nodes put it together, once in a text too large for a row
    entry: dict[str, JsonValue] = {
        "name": "m",
        "provider": "openai-compatible",
        "baseUrl": "https://m.example",
        "model": "m",
        "apiKey": SECRET,
    }
    assert (await door.page.post("/api/models", json=entry)).status_code == 201
    ask: dict[str, JsonValue] = {"variables": [{"name": "first"}, {"name": "second"}, {"name": "filling"}]}
    graph = draw(
        "ask -> join -> say -> out",
        ask=ask,
        join={"type": "template", "template": "{{filling}} {{first}}{{second}}"},
        say={"userPrompt": "{{join.text}}"},
        out={"template": "{{join.text}}"},
    )
    script: list[JsonValue] = [
        {"for": {"node": "say"}, "replies": [{"text": "well"}]},
        {"for": {"role": "planner"}, "replies": [*_ROUTE]},
    ]
    workflow: dict[str, JsonValue] = {
        "name": "w",
        "mode": mode,
        "graphData": dict(graph.document),
        "script": script,
    }
    inputs: JsonValue = {"first": SECRET[:12], "second": SECRET[12:], "filling": "x" * size}
    body: dict[str, JsonValue] = {"workflow": workflow, "inputs": inputs, "model": "scripted"}
    # when it has ended
    ended = await door.page.post("/api/runs", params={"wait": "true"}, json=body)
    assert ended.json()["status"] == "SUCCESS", ended.text
    # then what is told and what is stored hold a mark in its place
    run_id = ended.json()["runId"]
    told = [ended.text]
    for path in ("visits", "events"):
        told.append((await door.page.get(f"/api/runs/{run_id}/{path}")).text)
    stored = _bytes_in(tmp_path)
    for spelling in _SPELLINGS:
        assert all(spelling not in text for text in told)
        assert spelling.encode() not in stored
    assert "[secret]" in ended.text


async def test_a_key_that_a_person_types_in_is_no_input_and_no_answer(door: Door, tmp_path: Path) -> None:
    # given a stored key, and somebody who gives it to a run as an input, for a later visit, as an answer, and to a fork
    entry = {"name": "m", "provider": "openai-compatible", "baseUrl": "https://m.example", "model": "m"}
    assert (await door.page.post("/api/models", json={**entry, "apiKey": SECRET})).status_code == 201
    graph = draw(
        "ask -> person -> out",
        person={"type": "humanInput", "prompt": "Which?", "form": [{"name": "word"}]},
        out={"template": "{{q}} {{word}}"},
    )
    route: list[JsonValue] = [{"next": node_id, "reason": "so"} for node_id in ("person", "out", "out")]
    script: JsonValue = [{"for": {"role": "planner"}, "replies": route}]
    document = {"name": "w", "mode": "AGENTIC", "graphData": dict(graph.document), "script": script}
    body = {"workflow": document, "inputs": {"q": f"Bearer {SECRET}"}, "model": "scripted"}
    body["queuedInputs"] = {"ask": [{"q": f"later {SECRET}"}]}
    asked = (await door.page.post("/api/runs", params={"wait": "true"}, json=body)).json()
    assert asked["status"] == "PAUSED"
    answer = {"answers": [{"questionId": "word", "value": f"it is {SECRET}"}]}
    said = await door.page.post(f"/api/pauses/{asked['pauses'][0]['pauseId']}/answer", json=answer)
    assert said.status_code == 200, said.text
    run = f"/api/runs/{asked['runId']}"
    ended = await _ended(door, run)
    visits = (await door.page.get(f"{run}/visits")).json()["items"]
    fork = {"visitId": visits[1]["visitId"], "variables": {"person__word": SECRET}, "next": "out", "reason": SECRET}
    forked = await door.page.post(f"{run}/fork", params={"wait": "true"}, json=fork)
    assert forked.json()["outputs"][0]["result"] == "Bearer [secret] [secret]", forked.text
    # then nothing of it is stored, and what it was is a mark
    assert ended["inputs"] == {"q": "Bearer [secret]"}
    assert ended["outputs"] == [{"nodeId": "out", "result": "Bearer [secret] it is [secret]"}]
    assert SECRET.encode() not in _bytes_in(tmp_path)


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("spelling", _SPELLINGS)
async def test_a_key_is_not_seen_while_it_is_being_said_either(door: Door, spelling: str, size: int) -> None:
    # given a model, and a planner, that say a stored key in small pieces, quickly and slowly
    entry = {"name": "m", "provider": "openai-compatible", "baseUrl": "https://m.example", "model": "m"}
    assert (await door.page.post("/api/models", json={**entry, "apiKey": SECRET})).status_code == 201
    said = f"Here: {spelling}, that is all."
    reason = f'{{"next": "out", "reason": "{said}"}}'
    script: list[JsonValue] = [
        {"for": {"node": "say"}, "replies": [{"stream": _cut(said, size), "everyMs": 5}]},
        {
            "for": {"role": "planner"},
            "replies": [{"next": "say", "reason": "so"}, {"stream": _cut(reason, size), "everyMs": 5}],
        },
    ]
    graph = dict(draw("ask -> say -> out", out={"template": "{{say.text}}"}).document)
    workflow: JsonValue = {"name": "w", "mode": "AGENTIC", "graphData": graph, "script": script}
    # when somebody watches from the first event to the last
    headers = {"Accept": "text/event-stream"}
    watched = await door.page.post("/api/runs", json={"workflow": workflow, "model": "scripted"}, headers=headers)
    # then they see a mark in its place, in what is forming and in what is kept
    forming: dict[str, str] = {}
    for event in watched.text.split("\n\n"):
        if event.startswith(("event: text_delta", "event: text_snapshot")):
            told = json.loads(event.partition("data: ")[2])
            source, text = told["data"]["source"], told["data"]["text"]
            forming[source] = (forming[source] if told["type"] == "text_delta" else "") + text
            assert spelling[8:16] not in forming[source]
    assert forming["node"].startswith("Here: [secret]")
    assert forming["planner"].startswith("Here: [secret]")
    assert spelling[8:16] not in watched.text


async def test_what_a_node_gives_when_it_is_tried_holds_no_key(door: Door) -> None:
    entry = {"name": "m", "provider": "openai-compatible", "baseUrl": "https://m.example", "model": "m"}
    assert (await door.page.post("/api/models", json={**entry, "apiKey": SECRET})).status_code == 201
    graph = dict(draw("ask -> join -> out", join={"type": "template", "template": "{{first}}{{second}}"}).document)
    workflow = (await door.page.post("/api/workflows", json={"name": "w", "graphData": graph})).json()
    variables: JsonValue = {"first": SECRET[:12], "second": SECRET[12:]}
    tried = await door.page.post(f"/api/workflows/{workflow['id']}/nodes/join/test", json={"variables": variables})
    assert tried.json()["output"]["data"] == {"text": "[secret]"}


def _cut(text: str, size: int) -> list[JsonValue]:
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


async def _ended(door: Door, run: str) -> dict[str, JsonValue]:
    while True:
        detail = (await door.page.get(run)).json()
        if detail["status"] in ("SUCCESS", "FAILED"):
            return detail
        await asyncio.sleep(0.02)


def _bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())

"""A stored key stands nowhere in what runs leave behind, however it got there."""

from __future__ import annotations

import base64
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


def _bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())

"""A text that wants a key to be carried out gets nothing: what leaves the server, on every door and in every spelling, has a
mark in its place."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from urllib.parse import quote

import pytest
from pydantic import JsonValue

from kit.door import Door
from kit.drawing import draw
from kit.injection import HostileText, hostile_texts

KEY = "sk-live/0123456789+abcdefghij"
_PREFIX = b"Authorization: Bearer "
_SPELLINGS: Mapping[str, str] = {
    "": KEY,
    ":url": quote(KEY, safe=""),
    ":base64": base64.b64encode(KEY.encode()).decode(),
    ":base64-inside": base64.b64encode(_PREFIX + KEY.encode() + b"\r\nX: y").decode(),
    ":hex": KEY.encode().hex(),
}
_CORES = [KEY[3:], quote(KEY, safe="")[3:], *(base64.b64encode(KEY.encode()[n:]).decode()[:20] for n in range(3))]
"""Of each spelling what is there only where the key came through."""


def _with_key(text: str) -> str:
    return re.sub("«KEY(:[a-z0-9-]+)?»", lambda mark: _SPELLINGS[mark[1] or ""], text)


@pytest.mark.parametrize("mode", ["DAG", "AGENTIC"])
@pytest.mark.parametrize("hostile", hostile_texts("keeps-the-key"), ids=str)
async def test_a_model_that_carries_a_key_out_carries_out_a_mark(door: Door, hostile: HostileText, mode: str) -> None:
    # given a stored key, and a model that has come by it and says it to everybody
    entry = {"name": "m", "provider": "openai-compatible", "baseUrl": "https://m.example", "model": "m", "apiKey": KEY}
    assert (await door.page.post("/api/models", json=entry)).status_code == 201
    said = _with_key(hostile.text)
    graph = draw("ask -> read -> out", out={"template": "{{read.text}}"})
    route: list[JsonValue] = [{"next": node_id, "reason": said} for node_id in ("read", "out")]
    script: list[JsonValue] = [
        {"for": {"node": "read"}, "replies": [{"text": said}]},
        {"for": {"role": "planner"}, "replies": route},
    ]
    document = {"name": "w", "mode": mode, "graphData": dict(graph.document), "script": script}
    saved = (await door.page.post("/api/workflows", json={**document, "description": said})).json()
    ended = await door.page.post(
        f"/api/workflows/{saved['id']}/run",
        params={"wait": "true"},
        json={"inputs": {"q": said}, "model": "scripted"},
    )
    assert ended.json()["status"] == "SUCCESS", ended.text
    # then no door gives it away
    run_id = ended.json()["runId"]
    told = {"run": ended.text}
    for path in (f"runs/{run_id}", f"runs/{run_id}/visits", f"runs/{run_id}/events", f"workflows/{saved['id']}/export"):
        answer = await door.page.get(f"/api/{path}")
        assert answer.status_code == 200, path
        told[path] = answer.text
    for path, text in told.items():
        assert [core for core in [*_SPELLINGS.values(), *_CORES] if core in text] == [], path
    assert "[secret]" in ended.text

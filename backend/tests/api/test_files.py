"""Checking, exporting and importing graph files, and the gallery."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.door import Door

GRAPH: dict[str, Any] = {
    "nodes": [
        {"id": "ask", "type": "userInput", "position": {"x": 0, "y": 0}, "data": {"label": "Ask"}},
        {"id": "out", "type": "output", "position": {"x": 9, "y": 0}, "data": {}, "seen": True},
    ],
    "edges": [{"id": "e", "source": "ask", "target": "out", "sourceHandle": "output"}],
    "viewport": {"zoom": 2},
}


async def test_a_graph_is_checked_without_being_saved(door: Door) -> None:
    checked = (await door.key.post("/api/workflows/validate", json={"graphData": GRAPH})).json()
    assert (checked["valid"], checked["errors"], checked["levels"]) == (True, [], [["ask"], ["out"]])
    assert (await door.key.get("/api/workflows")).json()["total"] == 0


async def test_a_graph_with_faults_is_told_all_of_them_with_200(door: Door) -> None:
    graph: dict[str, Any] = {
        "nodes": [{"id": "a", "type": "teleport"}, {"id": "b", "type": "llm"}, {"id": "b", "type": "llm"}],
        "edges": [{"id": "e", "source": "b", "target": "b"}, {"id": "f", "source": "b", "target": "gone"}],
    }
    answer = await door.key.post("/api/workflows/validate", json={"graphData": graph})
    checked = answer.json()
    assert (answer.status_code, checked["valid"]) == (200, False)
    told = " ".join(fault["message"] for fault in checked["errors"])
    for word in ("teleport", "'b'", "gone"):
        assert word in told
    assert {fault["node"] for fault in checked["errors"]} >= {"a", "b"}
    assert all(set(fault) == {"node", "field", "message", "fix"} for fault in checked["errors"])


HOSTILE: tuple[dict[str, Any], ...] = (
    {"nodes": [{"id": str(n), "type": "llm"} for n in range(10_000)], "edges": []},
    {
        "nodes": [{"id": str(n), "type": "llm"} for n in range(1_000)],
        "edges": [{"source": str(n), "target": str((n + 1) % 1_000)} for n in range(1_000)],
    },
    {"nodes": "none", "edges": {"a": 1}},
    {"nodes": [None, 1, "x", [], {}, {"id": 7}, {"id": "a", "data": 3}], "edges": [None, {"source": []}]},
    {},
)


@pytest.mark.parametrize(
    "graph", HOSTILE, ids=["ten-thousand-nodes", "a-long-cycle", "no-lists", "no-nodes", "nothing"]
)
async def test_a_hostile_graph_is_answered(door: Door, graph: dict[str, Any]) -> None:
    for mode in ("DAG", "AGENTIC"):
        answer = await door.key.post("/api/workflows/validate", json={"graphData": graph, "mode": mode})
        assert answer.status_code == 200
        assert answer.json()["valid"] is False


async def test_an_exported_file_imports_as_the_same_workflow(door: Door) -> None:
    # given a workflow with unknown keys
    sent = {"name": "报告 / Report", "mode": "AGENTIC", "maxVisits": 7, "graphData": GRAPH, "colour": "red"}
    made = (await door.key.post("/api/workflows", json=sent)).json()
    # when it is exported
    exported = await door.key.get(f"/api/workflows/{made['id']}/export")
    assert exported.headers["content-disposition"].startswith('attachment; filename="Report.json"; filename*=UTF-8')
    content = exported.json()
    assert not {"id", "revision", "createdAt", "updatedAt", "ownerId"} & set(content)
    # and imported, as it is and as a form
    plain = await door.key.post("/api/workflows/import", json=content)
    form = await door.page.post("/api/workflows/import", files={"file": ("w.json", json.dumps(content).encode())})
    # then there are two more like it
    for answer in (plain, form):
        assert answer.status_code == 201, answer.text
        imported = answer.json()
        assert imported["report"] == {"format": "flyback", "nodes": 2, "edges": 1, "notes": imported["report"]["notes"]}
        own = {"id", "createdAt", "updatedAt"}
        assert {k: v for k, v in imported["workflow"].items() if k not in own} == {
            k: v for k, v in made.items() if k not in own
        }


async def test_an_import_reports_what_a_check_finds(door: Door) -> None:
    graph = {"nodes": [{"id": "a", "type": "teleport"}], "edges": []}
    imported = (await door.key.post("/api/workflows/import", json={"graphData": graph})).json()
    errors = [note for note in imported["report"]["notes"] if note["level"] == "error"]
    assert any("teleport" in note["message"] for note in errors)


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"[1]", b'{"name": "no graph"}', b"\xff\xfe", b"PK\x03\x04", b"{" * 500]
)
async def test_what_is_no_graph_file_is_not_imported(door: Door, content: bytes) -> None:
    plain = await door.key.post("/api/workflows/import", content=content, headers={"Content-Type": "application/json"})
    form = await door.key.post("/api/workflows/import", files={"file": ("w.json", content)})
    for refused in (plain, form):
        assert refused.status_code in (400, 422), refused.text
    assert (await door.key.get("/api/workflows")).json()["total"] == 0


async def test_a_form_without_a_file_is_refused(door: Door) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    for body in (
        b"",
        b"--b--\r\n",
        b"--b\r\n",
        b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nx\r\n--b--\r\n',
        b"\x00\xff",
    ):
        refused = await door.key.post("/api/workflows/import", content=body, headers=headers)
        assert refused.status_code in (400, 422), (body, refused.text)
    bare = await door.key.post("/api/workflows/import", content=b"x", headers={"Content-Type": "multipart/form-data"})
    assert bare.status_code in (400, 422)


async def test_every_sample_is_whole_and_opens_as_a_workflow_of_ones_own(door: Door) -> None:
    samples = (await door.key.get("/api/samples")).json()
    assert samples["total"] >= 5
    for sample in samples["items"]:
        opened = await door.key.post(f"/api/samples/{sample['id']}/open")
        assert opened.status_code == 201
        workflow = opened.json()
        assert (workflow["mode"], workflow["graphData"]) == (sample["mode"], sample["graphData"])
        assert "sample" not in workflow
        checked = (await door.key.post("/api/workflows/validate", json=workflow)).json()
        assert checked["errors"] == []
    assert (await door.key.post("/api/samples/none/open")).status_code == 404


async def test_an_export_holds_no_secret_that_the_server_knows(door: Door) -> None:
    # given a key that a person also wrote into a node
    entry = {
        "name": "m",
        "provider": "openai-compatible",
        "model": "m",
        "baseUrl": "https://m.example/v1",
        "apiKey": "sk-known-secret",
    }
    assert (await door.key.post("/api/models", json=entry)).status_code == 201
    graph = {"nodes": [{"id": "a", "type": "note", "data": {"text": "Bearer sk-known-secret"}}], "edges": []}
    made = (await door.key.post("/api/workflows", json={"graphData": graph})).json()
    # when the workflow is exported
    exported = await door.key.get(f"/api/workflows/{made['id']}/export")
    # then it is not in the file
    assert "sk-known-secret" not in exported.text
    assert exported.json()["graphData"]["nodes"][0]["data"]["text"] == "Bearer [secret]"

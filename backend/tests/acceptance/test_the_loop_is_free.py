"""No node holds up the loop on which the server answers: neither by waiting nor by computing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from blockbuster import blockbuster_ctx

from kit.door import Door, open_door
from kit.server import running_server

_SAMPLES = Path(__file__).parents[3] / "samples"


async def test_given_the_samples_when_they_run_then_nothing_of_ours_waits_on_the_loop(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        await _run_all(door)  # whatever is loaded at first use
        with blockbuster_ctx(scanned_modules="flyback"):
            await _run_all(door)


async def _run_all(door: Door) -> None:
    for file in sorted(_SAMPLES.glob("*.json")):
        document = json.loads(file.read_text())
        ended = await door.key.post("/api/runs?wait=true", json={"workflow": document, "inputs": _defaults(document)})
        assert ended.status_code == 200, ended.text
        assert ended.json()["status"] in {"SUCCESS", "PAUSED"}, ended.text


def _defaults(document: dict[str, Any]) -> dict[str, Any]:
    nodes = (node for node in document["graphData"]["nodes"] if node["type"] == "userInput")
    return {one["name"]: one["default"] for node in nodes for one in node["data"].get("variables", [])}


def test_given_a_program_that_computes_without_end_when_calls_come_then_they_are_answered_meanwhile(
    tmp_path: Path,
) -> None:
    nodes = [
        {"id": "spin", "type": "code", "data": {"source": "while True:\n    pass\n"}},
        {"id": "answer", "type": "output", "data": {"template": "{{spin.result}}"}},
    ]
    graph = {"nodes": nodes, "edges": [{"id": "e", "source": "spin", "target": "answer"}]}
    with running_server(tmp_path) as server, server.client() as client:
        started = client.post("/runs", json={"workflow": {"name": "spin", "mode": "DAG", "graphData": graph}})
        assert started.status_code == 202, started.text
        path = f"/runs/{started.json()['runId']}"
        while client.get(path).json()["status"] == "PENDING":
            pass
        # given the program at work, many calls are answered before its time is up
        assert [client.get("/runs").status_code for _ in range(20)] == [200] * 20
        assert client.get(path).json()["status"] == "RUNNING"
        while (run := client.get(path).json())["status"] == "RUNNING":
            pass
        assert run["errorCode"] == "NODE_FAILED"
        assert "CODE_TIMEOUT" in run["errorMsg"]

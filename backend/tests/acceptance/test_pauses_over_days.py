"""Two days pass while runs wait for people, and the process that serves them starts again and again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from kit import checker
from kit.clock import HandClock
from kit.databases import BOTH, new_url
from kit.door import Door, open_door

Run = dict[str, Any]
"""A run's detail on the wire."""

_HOUR = 3600.0


def _body(**form: Any) -> dict[str, Any]:
    """A run that may be driven for a minute, and asks at once."""
    said = {"name": "said", "label": "Said", "default": "nobody said anything"}
    nodes = [
        {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "q"}]}},
        {"id": "form", "type": "humanInput", "data": {"form": [said], **form}},
        {"id": "out", "type": "output", "data": {"template": "{{form.said}}"}},
    ]
    edges = [{"id": f"{a}{b}", "source": a, "target": b} for a, b in (("ask", "form"), ("form", "out"))]
    document = {"name": "Patience", "mode": "DAG", "graphData": {"nodes": nodes, "edges": edges}}
    return {"workflow": document, "model": "scripted", "inputs": {"q": "it"}, "budget": {"seconds": 60}}


async def _waiting(door: Door, body: dict[str, Any]) -> Run:
    run_id = (await door.key.post("/api/runs", json=body)).json()["runId"]
    return await _until(door, run_id, "PAUSED")


async def _until(door: Door, run_id: str, *statuses: str) -> Run:
    async with asyncio.timeout(30):
        while True:
            detail = (await door.key.get(f"/api/runs/{run_id}")).json()
            if detail["status"] in statuses:
                return detail
            await asyncio.sleep(0.01)


async def _answer(door: Door, run: Run) -> httpx.Response:
    (pause,) = (await door.key.get(f"/api/runs/{run['runId']}/pauses")).json()["items"]
    return await door.key.post(f"/api/pauses/{pause['pauseId']}/answer", json={"answer": "at last"})


@pytest.mark.parametrize("kind", BOTH)
async def test_given_two_days_with_restarts_then_who_was_in_time_is_heard_and_waiting_counts_against_nothing(
    kind: str, tmp_path: Path
) -> None:
    # given a run that waits for ever, and one that waits for a day
    clock, url = HandClock(), await asyncio.to_thread(new_url, kind, tmp_path)
    async with open_door(tmp_path, url=url, clock=clock) as door:
        patient = await _waiting(door, _body())
        waits_a_day = await _waiting(door, _body(timeout=24 * _HOUR, onTimeout="default"))
    # when two days pass, and the process starts again every six hours
    over: list[float] = []
    for hours in range(6, 49, 6):
        await clock.advance(6 * _HOUR)
        async with open_door(tmp_path, url=url, clock=clock) as door:
            for run in (patient, waits_a_day):
                await door.services.runs.resume(door.owner, run["runId"])
            if hours >= 24:
                await _until(door, waits_a_day["runId"], "SUCCESS")
            late = (await door.key.get(f"/api/runs/{waits_a_day['runId']}")).json()
            over += [hours] if late["status"] == "SUCCESS" else []
            assert (await door.key.get(f"/api/runs/{patient['runId']}")).json()["status"] == "PAUSED"
    async with open_door(tmp_path, url=url, clock=clock) as door:
        # then the one went on by itself after its day, and an answer comes too late for it
        assert over[0] == 24
        refused = await _answer(door, waits_a_day)
        assert (refused.status_code, refused.json()["code"]) == (410, "PAUSE_CLOSED")
        # and the other one still hears its answer
        assert (await _answer(door, patient)).status_code == 200
        ended = await _until(door, patient["runId"], "SUCCESS", "FAILED")
        late = (await door.key.get(f"/api/runs/{waits_a_day['runId']}")).json()
        assert [run["outputs"][0]["result"] for run in (ended, late)] == ["at last", "nobody said anything"]
        assert [run["usage"]["drivenSeconds"] for run in (ended, late)] == [0, 0]
        for run in (ended, late):
            assert await door.database.read(lambda conn, run=run: checker.faults(conn, run["runId"])) == []

"""Versions of skills over HTTP, and runs that go on with the version they began with, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from kit.databases import BOTH
from kit.door import Door, open_door

SKILL = "---\nname: summarise\ndescription: Makes it short.\n---\n\nMake it short.\n"
LONGER = SKILL.replace("Make it short.", "Make it long.")


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param) as opened:
        yield opened


async def test_what_a_skill_was_is_listed_read_and_restored(door: Door) -> None:
    await door.key.post("/api/skills", json={"source": SKILL})
    await door.key.put("/api/skills/summarise", json={"source": LONGER})
    listed = (await door.key.get("/api/skills/summarise/versions")).json()
    assert [(one["number"], one["current"]) for one in listed["items"]] == [(2, True), (1, False)]
    first = f"/api/skills/summarise/versions/{listed['items'][1]['hash']}"
    assert (await door.key.get(first)).json()["source"] == SKILL
    assert (await door.key.get(f"{first}/file?path=SKILL.md")).json() == {"path": "SKILL.md", "text": SKILL}
    restored = await door.key.post(f"{first}/restore")
    assert (restored.status_code, restored.json()["source"]) == (200, SKILL)
    assert (await door.key.get("/api/skills/summarise/file?path=SKILL.md")).json()["text"] == SKILL


async def test_of_two_who_save_the_same_skill_the_second_is_shown_what_the_first_stored(door: Door) -> None:
    made = (await door.key.post("/api/skills", json={"source": SKILL})).json()
    mine, theirs = (SKILL.replace("Make it short.", text) for text in ("Make it plain.", "Make it rhyme."))
    first = await door.key.put("/api/skills/summarise", json={"source": theirs, "revision": made["revision"]})
    second = await door.key.put("/api/skills/summarise", json={"source": mine, "revision": made["revision"]})
    problem = second.json()
    assert (second.status_code, problem["code"]) == (409, "REVISION_CONFLICT")
    assert (problem["current"]["source"], problem["current"]["revision"]) == (theirs, first.json()["revision"])
    assert (await door.key.get("/api/skills/summarise")).json()["source"] == theirs
    # A save whose answer was lost is repeated; over theirs mine is stored once that was seen, and theirs is kept.
    again = await door.key.put("/api/skills/summarise", json={"source": theirs, "revision": made["revision"]})
    assert again.status_code == 200
    over = await door.key.put(
        "/api/skills/summarise", json={"source": mine, "revision": problem["current"]["revision"]}
    )
    assert (over.status_code, over.json()["source"]) == (200, mine)
    versions = (await door.key.get("/api/skills/summarise/versions")).json()["items"]
    assert len(versions) == 3


async def test_an_upload_may_take_the_place_of_a_skill(door: Door) -> None:
    await door.key.post("/api/skills", json={"source": SKILL})
    files = {"file": ("SKILL.md", LONGER.encode())}
    assert (await door.page.post("/api/skills/upload", files=files)).status_code == 422
    changed = await door.page.post("/api/skills/upload?into=summarise", files=files)
    assert (changed.status_code, changed.json()["source"]) == (201, LONGER)


@pytest.mark.parametrize(
    "path",
    [
        "summarise/versions/nope",
        "summarise/versions/" + "0" * 64,
        "none/versions",
        "summarise/file?path=../../secret",
        "summarise/file?path=none.md",
    ],
)
async def test_what_is_not_there_is_not_found(door: Door, path: str) -> None:
    await door.key.post("/api/skills", json={"source": SKILL})
    answer = await door.key.get(f"/api/skills/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("mode", ["DAG", "AGENTIC"])
@pytest.mark.parametrize("after", ["changed", "deleted"])
async def test_a_run_goes_on_with_the_version_that_it_began_with(door: Door, mode: str, after: str) -> None:
    # given a run that waits for a person before its skill was used
    await door.key.post("/api/skills", json={"source": SKILL})
    waiting = await _start(door, mode)
    # when the skill is another by the time of the answer
    if after == "changed":
        await door.key.put("/api/skills/summarise", json={"source": LONGER})
    else:
        await door.key.delete("/api/skills/summarise")
    await door.key.post(f"/api/pauses/{waiting['pauses'][0]['pauseId']}/answer", json={"answers": [], "action": "go"})
    await _ended(door, waiting["runId"])
    # then the run has used what it began with
    assert _systems(door) == ["Make it short."]
    # and the next run uses what there is
    if after == "changed":
        again = await _start(door, mode)
        pause = f"/api/pauses/{again['pauses'][0]['pauseId']}/answer"
        await door.key.post(pause, json={"answers": [], "action": "go"})
        await _ended(door, again["runId"])
        assert _systems(door) == ["Make it short.", "Make it long."]


async def _start(door: Door, mode: str) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [
        {"id": "wait", "type": "humanInput", "data": {"prompt": "Go?", "actions": [{"id": "go", "label": "Go"}]}},
        {"id": "short", "type": "skill", "data": {"agentId": "summarise"}},
        {"id": "out", "type": "output", "data": {"template": "{{short.text}}"}},
    ]
    edges = [
        {"id": "e1", "source": "wait", "target": "short", "sourceHandle": "action-go"},
        {"id": "e2", "source": "short", "target": "out"},
    ]
    script = [
        {"for": {"node": "short"}, "replies": [{"text": "done"}]},
        {
            "for": {"role": "planner"},
            "replies": [{"next": "short", "reason": "go on"}, {"next": "out", "reason": "done"}],
        },
    ]
    graph = {"nodes": nodes, "edges": edges}
    document = {"name": "Waits", "mode": mode, "graphData": graph, "script": script}
    body = {"workflow": document, "model": "scripted", "inputs": {}}
    answer = await door.key.post("/api/runs?wait=true", json=body)
    assert answer.json()["status"] == "PAUSED", answer.text
    return answer.json()


async def _ended(door: Door, run_id: str) -> None:
    while (status := (await door.key.get(f"/api/runs/{run_id}")).json()["status"]) != "SUCCESS":
        assert status in ("PENDING", "RUNNING", "PAUSED")
        await asyncio.sleep(0.02)


def _systems(door: Door) -> list[str]:
    """What the skill's node told its model, call by call."""
    return [call.prompt[0].text for call in door.journal.calls if (call.node_id, call.role) == ("short", "node")]

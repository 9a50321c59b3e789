"""Drafts over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from kit.databases import BOTH
from kit.door import Door, open_door

GRAPH: dict[str, Any] = {
    "nodes": [
        {
            "id": "ask",
            "type": "userInput",
            "position": {"x": 0, "y": 0},
            "data": {"label": "Ask", "variables": [{"name": "q", "type": "string"}]},
        },
        {
            "id": "out",
            "type": "output",
            "position": {"x": 260, "y": 0},
            "data": {"template": "{{q}}"},
            "seen": [1, None],
        },
    ],
    "edges": [{"id": "e1", "source": "ask", "target": "out", "sourceHandle": "output"}],
    "viewport": {"zoom": 0.5},
}


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param) as opened:
        yield opened


async def make(door: Door, **more: Any) -> dict[str, Any]:
    answer = await door.key.post("/api/workflows", json={"name": "Weather desk", "graphData": GRAPH, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_what_was_read_can_be_sent_back(door: Door) -> None:
    # given a workflow with keys that nobody knows
    made = await make(door, mode="agentic", colour={"hue": 7}, settings={"theme": "dark"}, budget={"tokens": 5})
    assert made["mode"] == "AGENTIC"
    assert made["graphData"] == GRAPH
    assert (made["colour"], made["settings"], made["budget"]) == ({"hue": 7}, {"theme": "dark"}, {"tokens": 5})
    # when it is sent back as it was read, with one change
    sent = {**made, "name": "Weather desk 2"}
    saved = await door.key.put(f"/api/workflows/{made['id']}", json=sent)
    # then only that changed, and the server's own fields went on
    assert saved.status_code == 200, saved.text
    expected = {**made, "name": "Weather desk 2", "revision": 2, "updatedAt": saved.json()["updatedAt"]}
    assert saved.json() == expected
    assert (await door.key.get(f"/api/workflows/{made['id']}")).json() == expected


async def test_fields_of_the_server_are_never_taken_from_a_body(door: Door) -> None:
    first = await make(door)
    claimed = {**first, "revision": 77, "ownerId": "somebody", "createdAt": "1999-01-01T00:00:00.000Z", "version": 9}
    second = (await door.key.post("/api/workflows", json=claimed)).json()
    assert second["id"] != first["id"]
    assert second["revision"] == 1
    assert second["createdAt"].startswith("20")
    assert "ownerId" not in second
    assert "version" not in second


async def test_a_save_from_an_old_revision_is_refused_and_nothing_is_lost(door: Door) -> None:
    # given two pages that opened the same workflow
    made = await make(door)
    url = f"/api/workflows/{made['id']}"
    one, two = {**made, "description": "FROM TAB ONE"}, {**made, "description": "FROM TAB TWO"}
    # when both save
    assert (await door.key.put(url, json=one)).status_code == 200
    refused = await door.key.put(url, json=two)
    # then the second is told what is stored
    assert refused.status_code == 409
    problem = refused.json()
    assert problem["code"] == "REVISION_CONFLICT"
    assert problem["current"]["description"] == "FROM TAB ONE"
    assert problem["current"]["revision"] == 2
    assert (await door.key.get(url)).json()["description"] == "FROM TAB ONE"


async def test_a_save_whose_answer_was_lost_can_be_repeated(door: Door) -> None:
    made = await make(door)
    url = f"/api/workflows/{made['id']}"
    changed = {**made, "name": "Changed"}
    first = await door.key.put(url, json=changed)
    again = await door.key.put(url, json=changed)
    assert (again.status_code, again.json()) == (200, first.json())


async def test_a_put_without_a_revision_is_refused(door: Door) -> None:
    made = await make(door)
    del made["revision"]
    refused = await door.key.put(f"/api/workflows/{made['id']}", json=made)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "revision"


async def test_a_patch_changes_the_keys_given_and_leaves_the_others(door: Door) -> None:
    made = await make(door, colour="red")
    url = f"/api/workflows/{made['id']}"
    changed = await door.key.patch(url, json={"mode": "AGENTIC"})
    assert changed.status_code == 200
    assert changed.json() == {**made, "mode": "AGENTIC", "revision": 2, "updatedAt": changed.json()["updatedAt"]}
    # and with an old revision it is refused like a save
    stale = await door.key.patch(url, json={"name": "Mine", "revision": 1})
    assert (stale.status_code, stale.json()["code"]) == (409, "REVISION_CONFLICT")


async def test_a_graph_may_arrive_as_a_json_string(door: Door) -> None:
    made = await door.key.post(
        "/api/workflows", json={"graphData": '{"nodes": [{"id": "a", "type": "note"}], "edges": []}'}
    )
    assert made.json()["graphData"] == {"nodes": [{"id": "a", "type": "note"}], "edges": []}
    broken = await door.key.post("/api/workflows", json={"graphData": '{"nodes": '})
    assert broken.status_code == 422
    assert broken.json()["errors"][0]["field"] == "graphData"


async def test_integers_of_any_size_come_back_as_they_were_sent(door: Door) -> None:
    big = 10**400 + 7
    made = await make(door, settings={"big": big})
    text = (await door.key.get(f"/api/workflows/{made['id']}")).text
    assert str(big) in text


async def test_a_faulty_draft_is_kept_and_one_that_is_too_large_is_not(door: Door) -> None:
    cycle = {"nodes": [{"id": "a", "type": "teleport"}], "edges": [{"source": "a", "target": "a"}]}
    assert (await door.key.post("/api/workflows", json={"graphData": cycle})).status_code == 201
    huge = {"nodes": [{"id": str(n), "type": "note"} for n in range(2_001)], "edges": []}
    refused = await door.key.post("/api/workflows", json={"graphData": huge})
    assert (refused.status_code, refused.json()["code"]) == (422, "GRAPH_INVALID")


async def test_the_list_is_paged_searched_and_filtered(door: Door) -> None:
    # given five workflows
    for n in range(5):
        await make(
            door, name=f"Desk {n}", mode="AGENTIC" if n % 2 else "DAG", description="100% _plain_" if n == 3 else ""
        )
    # when the list is read two by two
    names: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        page = (
            await door.key.get("/api/workflows", params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        ).json()
        assert page["total"] == 5
        names += [item["name"] for item in page["items"]]
        cursor = page["nextCursor"]
    # then each comes once, the last changed first
    assert names == ["Desk 4", "Desk 3", "Desk 2", "Desk 1", "Desk 0"]
    assert cursor is None
    # and it can be searched, signs taken as they are
    found = (await door.key.get("/api/workflows", params={"q": "100% _p"})).json()
    assert [item["name"] for item in found["items"]] == ["Desk 3"]
    agentic = (await door.key.get("/api/workflows", params={"mode": "AGENTIC"})).json()
    assert agentic["total"] == 2


async def test_a_cursor_that_is_none_of_ours_is_refused(door: Door) -> None:
    for cursor in ("x", "%00", "WzFd", "W251bGxd", "WyJhIl0", "é", "W1tbW1tb", "MQ"):
        refused = await door.key.get("/api/workflows", params={"cursor": cursor})
        assert refused.status_code == 422, cursor
        assert refused.json()["errors"][0]["field"] == "cursor"


async def test_the_list_tells_how_the_newest_runs_ended(door: Door) -> None:
    made = await make(door)
    done = await door.key.post(f"/api/workflows/{made['id']}/run?wait=true", json={"inputs": {"q": "hi"}})
    assert done.status_code == 200, done.text
    [item] = (await door.key.get("/api/workflows")).json()["items"]
    assert (item["nodeCount"], item["edgeCount"]) == (2, 1)
    [run] = item["lastRuns"]
    assert (run["status"], run["runId"]) == ("SUCCESS", done.json()["runId"])


async def test_a_deleted_workflow_is_gone_until_it_is_restored(door: Door) -> None:
    made = await make(door)
    url = f"/api/workflows/{made['id']}"
    assert (await door.key.delete(url)).status_code == 204
    assert (await door.key.get(url)).status_code == 404
    assert (await door.key.delete(url)).status_code == 404
    assert (await door.key.get("/api/workflows")).json()["total"] == 0
    back = await door.key.post(f"{url}/restore")
    assert back.json() == made
    assert (await door.key.get(url)).json() == made


async def test_a_workflow_with_open_runs_is_deleted_only_when_they_are_to_be_cancelled(door: Door) -> None:
    # given a run whose model never answers
    graph: dict[str, Any] = {
        "nodes": [
            {"id": "think", "type": "llm", "data": {"userPrompt": "hello"}},
            {"id": "out", "type": "output", "data": {}},
        ],
        "edges": [{"id": "e", "source": "think", "target": "out"}],
    }
    script = [{"for": {"node": "think"}, "replies": [{"hang": True}]}]
    made = await make(door, graphData=graph, script=script)
    url = f"/api/workflows/{made['id']}"
    accepted = await door.key.post(f"{url}/run", json={})
    assert accepted.status_code == 202, accepted.text
    # when it is deleted
    refused = await door.key.delete(url)
    # then it is refused, until its runs may be cancelled
    assert (refused.status_code, refused.json()["code"]) == (409, "RUNS_OPEN")
    assert (await door.key.delete(url, params={"cancelRuns": "true"})).status_code == 204
    run = (await door.key.get(f"/api/runs/{accepted.json()['runId']}")).json()
    assert run["status"] == "CANCELLED"


async def test_a_copy_is_a_workflow_of_its_own(door: Door) -> None:
    made = await make(door, colour="red")
    copied = (await door.key.post(f"/api/workflows/{made['id']}/duplicate")).json()
    assert copied["id"] != made["id"]
    assert (copied["name"], copied["colour"], copied["graphData"]) == ("Weather desk (copy)", "red", GRAPH)
    named = (await door.key.post(f"/api/workflows/{made['id']}/duplicate", json={"name": "Mine"})).json()
    assert named["name"] == "Mine"


async def test_somebody_elses_workflow_is_not_there(door: Door) -> None:
    # given a workflow of another owner
    made = await make(door)
    await door.database.write(lambda conn: conn.exec_driver_sql("UPDATE workflows SET owner_id = 'somebody'").close())
    # when the owner of the key asks for it in every way there is
    url = f"/api/workflows/{made['id']}"
    answers = [
        await door.key.get(url),
        await door.key.put(url, json=made),
        await door.key.patch(url, json={"name": "x"}),
        await door.key.delete(url),
        await door.key.post(f"{url}/restore"),
        await door.key.post(f"{url}/duplicate"),
        await door.key.get(f"{url}/export"),
        await door.key.get(f"{url}/revisions"),
        await door.key.post(f"{url}/revisions", json={"note": "mine"}),
        await door.key.post(f"{url}/revisions/1/restore"),
        await door.key.get(f"{url}/versions"),
        await door.key.post(f"{url}/versions"),
        await door.key.post(f"{url}/run", json={}),
    ]
    # then it is as if there were none
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert (await door.key.get("/api/workflows")).json()["total"] == 0


async def test_an_id_that_cannot_be_ours_is_not_found(door: Door) -> None:
    for strange in ("%00", "..%2f..", "%F0%9F%98%80", "a" * 300, "%ff%fe"):
        assert (await door.key.get(f"/api/workflows/{strange}")).status_code == 404, strange


async def test_of_many_saves_at_once_one_wins_and_the_others_are_told(door: Door) -> None:
    made = await make(door)
    url = f"/api/workflows/{made['id']}"
    answers = await asyncio.gather(*(door.key.put(url, json={**made, "name": f"Mine {n}"}) for n in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 7]
    [won] = [answer.json() for answer in answers if answer.status_code == 200]
    assert (await door.key.get(url)).json() == won
    assert all(answer.json()["current"] == won for answer in answers if answer.status_code == 409)


async def test_what_many_write_at_once_is_never_a_failure_of_the_server(door: Door) -> None:
    made = await make(door)
    url = f"/api/workflows/{made['id']}"
    server = {"name": "tools", "url": "https://tools.example/mcp"}
    versions = await asyncio.gather(*(door.key.post(f"{url}/versions") for _ in range(6)))
    points = await asyncio.gather(*(door.key.post(f"{url}/revisions", json={"note": str(n)}) for n in range(6)))
    changed = await asyncio.gather(*(door.key.put("/api/settings", json={"language": "en"}) for _ in range(6)))
    servers = await asyncio.gather(*(door.key.post("/api/mcp-servers", json=server) for _ in range(6)))
    assert sorted(answer.json()["version"] for answer in versions) == [1, 2, 3, 4, 5, 6]
    assert {answer.status_code for answer in points} == {201}
    assert {answer.status_code for answer in changed} == {200}
    assert sorted(answer.status_code for answer in servers) == [201, *[422] * 5]

"""What holds for every operation of the API, also for one that is added tomorrow: read from the description itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from api.test_people import signed_in
from flyback.api.openapi import describe
from kit.door import Door

_METHODS = ("get", "post", "put", "patch", "delete")
_OPEN = {("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/api/auth/sign-in")}
_WRITES = {"POST", "PUT", "PATCH", "DELETE"}
_OF_A_PERSON = {"workflow_id", "run_id", "visit_id", "pause_id", "skill_id", "session_id", "key_id"}
_BODIES: Mapping[str, Any] = {
    "/api/workflows/{workflow_id}": {"revision": 1, "name": "stolen"},
    "/api/workflows/{workflow_id}/nodes/{node_id}/test": {"variables": {}},
    "/api/workflows/{workflow_id}/revisions": {"note": "stolen"},
    "/api/pauses/{pause_id}/answer": {"answers": [{"questionId": "word", "value": "stolen"}]},
    "/api/runs/{run_id}/resume": {"answers": [{"questionId": "word", "value": "stolen"}]},
    "/api/skills/{skill_id}": {"source": "---\nname: mine\ndescription: d\n---\nstolen"},
}
SQL = [
    "' OR '1'='1",
    "x'; DROP TABLE workflow_runs; --",
    '") UNION SELECT value FROM secrets --',
    "1) OR (1=1",
    "%",
    "_",
    "\\",
    "name DESC; --",
]


def _operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in json.loads(describe())["paths"].items():
        for method in _METHODS:
            if method in methods:
                yield method.upper(), path, methods[method]


def _named(operation: Mapping[str, Any], place: str) -> list[str]:
    return [one["name"] for one in operation.get("parameters", ()) if one["in"] == place]


@pytest.fixture
async def known(door: Door) -> Mapping[str, str]:
    """What the owner has, by the name of the parameter that names it: a run that asks a person, and all around it."""
    nodes: list[Any] = [
        {"id": "ask", "type": "userInput", "data": {}},
        {"id": "person", "type": "humanInput", "data": {"prompt": "Which?", "form": [{"name": "word"}]}},
        {"id": "out", "type": "output", "data": {"template": "{{word}}"}},
    ]
    edges = [{"id": "1", "source": "ask", "target": "person"}, {"id": "2", "source": "person", "target": "out"}]
    route = [{"next": "person", "reason": "-"}, {"next": "out", "reason": "-"}]
    script = [{"for": {"role": "planner"}, "replies": route}]
    document: dict[str, Any] = {
        "name": "Mine",
        "mode": "AGENTIC",
        "graphData": {"nodes": nodes, "edges": edges},
        "script": script,
    }
    workflow = (await door.page.post("/api/workflows", json=document)).json()["id"]
    assert (await door.page.post(f"/api/workflows/{workflow}/versions", json={})).status_code == 201
    asked = await door.page.post(f"/api/workflows/{workflow}/run?wait=true", json={"model": "scripted"})
    assert asked.json()["status"] == "PAUSED", asked.text
    skill = await door.page.post("/api/skills", json={"source": "---\nname: mine\ndescription: d\n---\nText."})
    key = await door.page.post("/api/auth/api-keys", json={"name": "mine"})
    return {
        "workflow_id": workflow,
        "run_id": asked.json()["runId"],
        "visit_id": asked.json()["visits"][0]["visitId"],
        "pause_id": asked.json()["pauses"][0]["pauseId"],
        "skill_id": skill.json()["id"],
        "session_id": (await door.page.get("/api/auth/sessions")).json()["items"][0]["id"],
        "key_id": key.json()["id"],
        "node_id": "person",
        "revision": "1",
        "version": "1",
        "model_id": "scripted",
        "server_id": "none",
        "user_id": door.owner.user_id,
        "sample_id": "weather",
    }


async def _all_of(browser: httpx.AsyncClient, known: Mapping[str, str]) -> list[str]:
    """Everything that its owner reads of it."""
    paths = [f"workflows/{known['workflow_id']}", f"runs/{known['run_id']}", f"skills/{known['skill_id']}", "pauses"]
    paths += [f"workflows/{known['workflow_id']}/{kind}" for kind in ("revisions", "versions", "runs")]
    paths += ["workflows", "runs", "skills", "auth/sessions", "auth/api-keys"]
    answers = [await browser.get(f"/api/{path}") for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.text for answer in answers]


async def test_whoever_is_not_signed_in_gets_401_and_nothing_else(door: Door, known: Mapping[str, str]) -> None:
    gone = await door.page.post("/api/auth/api-keys", json={"name": "gone"})
    await door.page.delete(f"/api/auth/api-keys/{gone.json()['id']}")
    told: list[object] = []
    for method, path, _ in _operations():
        if (method, path) in _OPEN:
            continue
        for headers in ({}, {"Authorization": f"Bearer {gone.json()['key']}"}, {"Cookie": "flyback-8321=guessed"}):
            body: object = {} if method in _WRITES else None
            refused = await door.stranger.request(method, path.format(**known), json=body, headers=headers)
            if (refused.status_code, refused.json()["code"]) != (401, "UNAUTHENTICATED"):
                told.append((method, path, headers, refused.status_code))
    assert told == []


async def test_no_writing_call_of_a_browser_goes_without_its_token_or_from_another_page(
    door: Door, known: Mapping[str, str]
) -> None:
    before = await _all_of(door.page, known)
    told: list[object] = []
    for method, path, _ in _operations():
        if method not in _WRITES:
            continue
        attempts = [({"Origin": "http://127.0.0.1:9999"}, "ORIGIN_REFUSED")]
        if (method, path) not in _OPEN:
            attempts.append(({"X-CSRF-Token": "guessed"}, "CSRF"))
        for headers, code in attempts:
            refused = await door.page.request(method, path.format(**known), json={}, headers=headers)
            if (refused.status_code, refused.json()["code"]) != (403, code):
                told.append((method, path, headers, refused.status_code, refused.text[:100]))
    assert told == []
    assert await _all_of(door.page, known) == before


async def test_what_is_somebody_elses_is_not_there_whatever_is_done_with_it(
    door: Door, known: Mapping[str, str]
) -> None:
    before = await _all_of(door.page, known)
    told: list[object] = []
    async with signed_in(door, "Edda", "editor") as edda:
        for method, path, operation in _operations():
            if not _OF_A_PERSON & set(_named(operation, "path")):
                continue
            body = _BODIES.get(path, {"visitId": known["visit_id"]} if path.endswith("/fork") else {})
            for kind in ("application/json", "text/event-stream"):
                refused = await edda.request(
                    method,
                    path.format(**known),
                    json=body if method in _WRITES else None,
                    params={"path": "SKILL.md"} if path.endswith("/file") else None,
                    headers={"Accept": kind},
                )
                if refused.status_code != 404:
                    told.append((method, path, refused.status_code, refused.text[:200]))
        for path in ("workflows", "runs", "pauses", "auth/api-keys"):
            listed = (await edda.get(f"/api/{path}")).text
            told += [(path, name) for name in _OF_A_PERSON if known[name] in listed]
    assert told == []
    # and for whose it is nothing has changed
    assert await _all_of(door.page, known) == before


async def test_no_text_in_a_query_or_a_path_becomes_sql(door: Door, known: Mapping[str, str]) -> None:
    before = await _all_of(door.page, known)
    told: list[object] = []
    for method, path, operation in _operations():
        if method != "GET" or path == "/api/runs/{run_id}/events":
            continue
        for text in SQL:
            for name in _named(operation, "query"):
                answer = await door.page.get(path.format(**known), params={name: text})
                if answer.status_code >= 500 or (name == "q" and text not in "%_\\" and known["run_id"] in answer.text):
                    told.append((path, name, text, answer.status_code))
            for name in _named(operation, "path"):
                ids = {**known, name: httpx.URL("/", params={"x": text}).query.decode()[2:].replace("+", "%20")}
                answer = await door.page.get(path.format(**ids))
                if answer.status_code not in (400, 404, 422):
                    told.append((path, name, text, answer.status_code))
    assert told == []
    assert await _all_of(door.page, known) == before


async def test_fields_that_are_the_servers_are_not_taken_from_anybody(door: Door, known: Mapping[str, str]) -> None:
    # given a document that says whose it is, which one it is, and how it stands
    claimed: dict[str, Any] = {
        "id": known["workflow_id"],
        "ownerId": "somebody",
        "owner": "somebody",
        "revision": 99,
        "version": 7,
        "status": "SUCCESS",
        "createdAt": "1999-01-01T00:00:00.000Z",
        "name": "Claimed",
        "graphData": {"nodes": [], "edges": []},
    }
    before = await _all_of(door.page, known)
    async with signed_in(door, "Edda", "editor") as edda:
        for path in ("/api/workflows", "/api/workflows/import"):
            made = await edda.post(path, json=claimed)
            assert made.status_code == 201, made.text
            workflow = made.json().get("workflow", made.json())
            assert workflow["id"] != known["workflow_id"]
            assert (workflow["revision"], workflow["createdAt"][:4]) != (99, "1999")
    assert await _all_of(door.page, known) == before

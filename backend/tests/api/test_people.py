"""Several people: who may do what, what is whose, and what belongs to the house."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import httpx
import pytest
from pydantic import JsonValue

from kit.door import ORIGIN, Door, client_of

GRAPH: JsonValue = {"nodes": [], "edges": []}


@asynccontextmanager
async def signed_in(door: Door, name: str, role: str) -> AsyncGenerator[httpx.AsyncClient]:
    """A person whom the administrator adds, in a browser of their own."""
    invited = await door.page.post("/api/users", json={"name": name, "role": role})
    assert invited.status_code == 201, invited.text
    async with client_of(door.app, {"Origin": ORIGIN, "User-Agent": f"browser of {name}"}) as browser:
        session = await browser.post("/api/auth/sign-in", json={"secret": invited.json()["secret"]})
        assert session.json()["user"]["role"] == role
        browser.headers["X-CSRF-Token"] = session.json()["csrfToken"]
        yield browser


async def _id_of(door: Door, name: str) -> str:
    people = (await door.page.get("/api/users")).json()["items"]
    return next(person["id"] for person in people if person["name"] == name)


async def test_a_viewer_looks_and_changes_nothing(door: Door) -> None:
    async with signed_in(door, "Vera", "viewer") as vera:
        assert (await vera.get("/api/workflows")).status_code == 200
        for method, path in [
            ("POST", "/api/workflows"),
            ("POST", "/api/runs"),
            ("POST", "/api/skills"),
            ("PUT", "/api/settings"),
            ("POST", "/api/models"),
            ("POST", "/api/mcp-servers"),
            ("POST", "/api/users"),
            ("GET", "/api/users"),
            ("GET", "/api/audit"),
        ]:
            refused = await vera.request(method, path, json={} if method != "GET" else None)
            assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN"), (method, path)
        assert (await vera.post("/api/auth/sign-out")).status_code == 204


async def test_an_editor_has_what_is_their_own_and_uses_what_is_the_houses(door: Door) -> None:
    theirs = (await door.page.post("/api/workflows", json={"name": "Owner's", "graphData": GRAPH})).json()["id"]
    entry = {"name": "house", "provider": "openai-compatible", "baseUrl": "https://models.example", "model": "m"}
    assert (await door.page.post("/api/models", json=entry)).status_code == 201
    async with signed_in(door, "Edda", "editor") as edda:
        mine = await edda.post("/api/workflows", json={"name": "Edda's", "graphData": GRAPH})
        assert mine.status_code == 201
        assert (await edda.get(f"/api/workflows/{theirs}")).status_code == 404
        assert (await door.page.get(f"/api/workflows/{mine.json()['id']}")).status_code == 404
        assert "house" in [model["name"] for model in (await edda.get("/api/models")).json()["items"]]
        assert (await edda.post("/api/models", json={**entry, "name": "own"})).status_code == 403
        assert (await edda.put("/api/settings", json={"language": "zh-CN"})).status_code == 200
        assert (await edda.put("/api/settings", json={"defaultModel": "scripted"})).status_code == 403
        assert (await door.page.put("/api/settings", json={"defaultModel": "house"})).status_code == 200
        settings = (await edda.get("/api/settings")).json()
        assert (settings["defaultModel"], settings["language"]) == ("house", "zh-CN")
        assert (await door.page.get("/api/settings")).json()["language"] is None


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", {"read"}),
        ("run", {"read", "run"}),
        ("write", {"read", "run", "write"}),
        (None, {"read", "run", "write", "admin"}),
    ],
)
async def test_a_key_does_what_it_is_for_and_no_more(door: Door, scope: str | None, allowed: set[str]) -> None:
    made = await door.page.post("/api/auth/api-keys", json={"name": "k", "scope": scope})
    calls = {
        "read": ("GET", "/api/workflows", None),
        "run": ("POST", "/api/workflows/validate", {"graphData": GRAPH}),
        "write": ("POST", "/api/workflows", {"name": "w", "graphData": GRAPH}),
        "admin": ("GET", "/api/users", None),
    }
    async with client_of(door.app, {"Authorization": f"Bearer {made.json()['key']}"}) as key:
        for right, (method, path, body) in calls.items():
            answer = await key.request(method, path, json=body)
            assert (answer.status_code == 403) == (right not in allowed), (right, answer.text)
        # and a key makes none that could do more, and none at all where it may only look
        more = await key.post("/api/auth/api-keys", json={"name": "more", "scope": "admin"})
        assert more.status_code == (201 if scope is None else 403)
        ended = await key.delete(f"/api/auth/api-keys/{made.json()['id']}")
        assert ended.status_code == (204 if "write" in allowed else 403)


async def test_a_role_that_changes_holds_from_the_next_call_on(door: Door) -> None:
    async with signed_in(door, "Edda", "editor") as edda:
        user_id = await _id_of(door, "Edda")
        assert (await door.page.patch(f"/api/users/{user_id}", json={"role": "viewer"})).status_code == 200
        assert (await edda.post("/api/workflows", json={"name": "x"})).status_code == 403
        assert (await door.page.delete(f"/api/users/{user_id}")).status_code == 204
        assert (await edda.get("/api/auth/me")).status_code == 401
        assert (await door.page.delete(f"/api/users/{user_id}")).status_code == 404


async def test_an_installation_keeps_an_administrator_and_its_first_user(door: Door) -> None:
    first = door.owner.user_id
    refused = await door.page.patch(f"/api/users/{first}", json={"role": "editor"})
    assert (refused.status_code, refused.json()["code"]) == (422, "INVALID")
    async with signed_in(door, "Anna", "admin") as anna:
        assert (await anna.delete(f"/api/users/{first}")).status_code == 422
        assert (await anna.patch(f"/api/users/{first}", json={"role": "viewer"})).status_code == 200
        assert (await door.page.get("/api/users")).status_code == 403
        assert (await anna.patch(f"/api/users/{await _my_id(anna)}", json={"role": "viewer"})).status_code == 422


async def _my_id(client: httpx.AsyncClient) -> str:
    return cast("str", (await client.get("/api/auth/me")).json()["user"]["id"])


async def test_a_name_is_given_once_and_a_link_can_be_made_again(door: Door) -> None:
    assert (await door.page.post("/api/users", json={"name": "Edda"})).json()["user"]["role"] == "editor"
    twice = await door.page.post("/api/users", json={"name": "Edda"})
    assert (twice.status_code, twice.json()["errors"][0]["field"]) == (422, "name")
    again = await door.page.post(f"/api/users/{await _id_of(door, 'Edda')}/sign-in-link")
    session = await door.stranger.post("/api/auth/sign-in", json={"secret": again.json()["secret"]})
    assert session.json()["user"]["name"] == "Edda"


async def test_a_person_sees_and_ends_their_sessions_and_nobody_elses(door: Door) -> None:
    async with signed_in(door, "Edda", "editor") as edda:
        [mine] = (await edda.get("/api/auth/sessions")).json()["items"]
        assert (mine["browser"], mine["isThis"]) == ("browser of Edda", True)
        assert (await door.page.delete(f"/api/auth/sessions/{mine['id']}")).status_code == 404
        assert (await edda.delete(f"/api/auth/sessions/{mine['id']}")).status_code == 204
        assert (await edda.get("/api/auth/me")).status_code == 401


async def test_what_matters_for_security_stands_in_the_audit_log_by_name(door: Door) -> None:
    async with signed_in(door, "Edda", "editor"):
        pass
    first = (await door.page.get("/api/audit", params={"limit": 1})).json()
    rest = (await door.page.get("/api/audit", params={"cursor": first["nextCursor"]})).json()
    entries = [*first["items"], *rest["items"]]
    assert len(entries) == first["total"]
    assert [(entry["action"], entry["actorName"]) for entry in entries[:2]] == [
        ("sign_in", "Edda"),
        ("user.added", "owner"),
    ]
    assert (await door.page.get("/api/audit", params={"cursor": "x"})).status_code == 422

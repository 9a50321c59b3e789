"""Settings, node types, model entries, skills, MCP servers, metrics, the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from flyback.api.access import Access
from flyback.api.app import create_app
from flyback.services.operations import Operations
from kit.door import PORT, Door, client_of, open_door

SKILL = "---\nname: summarise\ndescription: Makes it short.\n---\n\nMake it short.\n"


async def test_settings_have_defaults_and_change_one_by_one(door: Door) -> None:
    before = (await door.key.get("/api/settings")).json()
    assert (before["defaultModel"], before["language"]) == ("embedded", None)
    assert before["limits"] == {"maxVisits": 50, "parallelNodes": 16}
    changed = await door.key.put("/api/settings", json={"language": "zh-CN", "limits": {"maxVisits": 20}})
    assert changed.json() == {**before, "language": "zh-CN", "limits": {"maxVisits": 20, "parallelNodes": 16}}
    back = await door.key.put("/api/settings", json={"language": None, "limits": {"maxVisits": None}})
    assert back.json() == before
    for bad in (
        {"limits": {"maxVisits": 51}},
        {"language": "tlh"},
        {"defaultModel": ""},
        {"defaultModel": "nobody"},
        {"limits": {"maxVisits": 10**30}},
    ):
        assert (await door.key.put("/api/settings", json=bad)).status_code == 422


async def test_the_default_model_is_named_by_name_or_id_and_follows_its_entry(door: Door) -> None:
    entry = {"name": "glm", "provider": "openai-compatible", "baseUrl": "https://glm.example/v1", "model": "glm-5"}
    made = (await door.key.post("/api/models", json=entry)).json()
    chosen = await door.key.put("/api/settings", json={"defaultModel": made["id"]})
    assert chosen.json()["defaultModel"] == "glm"
    assert (await door.key.delete(f"/api/models/{made['id']}")).status_code == 204
    assert (await door.key.get("/api/settings")).json()["defaultModel"] == "embedded"


async def test_every_node_type_comes_with_its_form(door: Door) -> None:
    types = (await door.key.get("/api/node-types")).json()
    by_type = {item["type"]: item for item in types["items"]}
    assert {"userInput", "llm", "agent", "skill", "condition", "template", "aggregate", "output", "note"} <= set(
        by_type
    )
    for item in by_type.values():
        assert {"en", "zh-CN"} <= set(item["title"])
        assert {"en", "zh-CN"} <= set(item["summary"])
        jsonschema.Draft202012Validator.check_schema(item["configSchema"])
    assert by_type["note"]["runs"] is False
    assert "userPrompt" in by_type["llm"]["configSchema"]["properties"]


async def test_a_models_key_goes_in_and_never_comes_out(door: Door) -> None:
    # given an entry with a key
    entry = {
        "name": "glm",
        "provider": "openai-compatible",
        "baseUrl": "https://glm.example/v1",
        "model": "glm-5",
        "apiKey": "sk-very-secret-1",
    }
    made = await door.key.post("/api/models", json=entry)
    assert made.status_code == 201, made.text
    url = f"/api/models/{made.json()['id']}"
    # then it is known to be there, and shown nowhere
    assert made.json()["hasKey"] is True
    listed = await door.key.get("/api/models")
    for answer in (made, listed, await door.key.get(url)):
        assert "sk-very-secret-1" not in answer.text
        assert "apiKey" not in answer.text
    assert [item["name"] for item in listed.json()["items"]] == ["embedded", "scripted", "glm"]
    # and another address loses it
    moved = await door.key.put(url, json={**entry, "baseUrl": "https://evil.example/v1", "apiKey": None})
    assert (moved.status_code, moved.json()["hasKey"]) == (200, False)
    assert (await door.key.delete(url)).status_code == 204
    assert (await door.key.get(url)).status_code == 404


async def test_a_model_can_be_tested_and_tells_how_it_went(door: Door) -> None:
    tested = (await door.key.post("/api/models/scripted/test")).json()
    assert tested["ok"] is True
    assert (await door.key.post("/api/models/none/test")).status_code == 404


async def test_the_model_inside_tells_how_far_its_file_is(door: Door) -> None:
    inside = (await door.key.get("/api/models/embedded")).json()
    assert (inside["id"], inside["builtIn"], inside["state"]) == ("embedded", True, "ready")


async def test_a_skill_is_made_read_changed_and_deleted(door: Door) -> None:
    made = await door.key.post("/api/skills", json={"source": SKILL})
    assert made.status_code == 201, made.text
    skill = made.json()
    assert (skill["name"], skill["body"].strip(), skill["source"]) == ("summarise", "Make it short.", SKILL)
    url = f"/api/skills/{skill['id']}"
    changed = await door.key.put(url, json={"source": SKILL.replace("short", "shorter")})
    assert "shorter" in changed.json()["body"]
    assert (await door.key.get("/api/skills")).json()["total"] >= 1
    assert (await door.key.delete(url)).status_code == 204
    assert (await door.key.get(url)).status_code == 404


async def test_a_skill_is_uploaded_as_a_form(door: Door) -> None:
    uploaded = await door.page.post("/api/skills/upload", files={"file": ("SKILL.md", SKILL.encode())})
    assert uploaded.status_code == 201, uploaded.text
    for content in (b"", b"PK\x03\x04broken", b"\xff\xfe\x00"):
        refused = await door.page.post("/api/skills/upload", files={"file": ("x.zip", content)})
        assert refused.status_code in (400, 413, 422), refused.text


async def test_an_mcp_server_is_only_reached_over_http(door: Door) -> None:
    made = await door.key.post("/api/mcp-servers", json={"name": "tools", "url": "https://tools.example/mcp"})
    assert made.status_code == 201
    assert (await door.key.get("/api/mcp-servers")).json()["items"] == [made.json()]
    for url in (
        "file:///etc/passwd",
        "npx run",
        "stdio:x",
        "ftp://a/",
        "http://",
        "https://user:pw@a/",
        "javascript:1",
        "http://[",
        "http://a b/",
    ):
        refused = await door.key.post("/api/mcp-servers", json={"name": url, "url": url})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "url"), url
    taken = await door.key.post("/api/mcp-servers", json={"name": "tools", "url": "https://b.example/"})
    assert taken.json()["errors"][0]["field"] == "name"
    one = f"/api/mcp-servers/{made.json()['id']}"
    assert (await door.key.delete(one)).status_code == 204
    assert (await door.key.delete(one)).status_code == 404


async def test_metrics_count_runs_by_status(door: Door) -> None:
    await door.key.post(
        "/api/runs?wait=true",
        json={
            "workflow": {
                "graphData": {
                    "nodes": [{"id": "a", "type": "userInput"}, {"id": "o", "type": "output"}],
                    "edges": [{"id": "e", "source": "a", "target": "o"}],
                }
            }
        },
    )
    text = (await door.key.get("/metrics")).text
    assert 'flyback_runs{status="SUCCESS"} 1.0' in text
    assert "flyback_open_streams 0.0" in text
    assert "flyback_committed_steps 3.0" in text
    assert "flyback_events 6.0" in text
    assert 'flyback_http_requests_total{method="POST",status="2xx"}' in text


async def test_readiness_names_the_part_that_does_not_work(door: Door) -> None:
    # given a part that cannot work
    async def away() -> str | None:
        return "No worker is there."

    services = replace(door.services, operations=Operations(door.database, probes={"dispatch": away}))
    app = create_app(services, access=Access.at(PORT), page=Path("no-page"))
    async with client_of(app, {}) as stranger:
        answer = await stranger.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["parts"] == [
        {"name": "database", "ready": True, "message": None},
        {"name": "dispatch", "ready": False, "message": "No worker is there."},
    ]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text('<meta name="csp-nonce" content="__CSP_NONCE__">')
    (folder / "assets" / "main-abc123.js").write_text("1")
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / ".secret").write_text("no")
    return folder


async def test_the_page_is_served_with_a_fresh_nonce(tmp_path: Path, built: Path) -> None:
    async with open_door(tmp_path, page=built) as door:
        first, second = [await door.stranger.get(path) for path in ("/", "/workflows/1?run=2")]
        for answer in (first, second):
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
            nonce = answer.text.split('content="')[1].split('"')[0]
            assert f"style-src 'self' 'nonce-{nonce}'" in answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert first.text != second.text
        asset = await door.stranger.get("/assets/main-abc123.js")
        assert "immutable" in asset.headers["cache-control"]
        assert asset.headers["content-type"].startswith("text/javascript")
        same = await door.stranger.get(
            "/favicon.svg", headers={"If-None-Match": (await door.stranger.get("/favicon.svg")).headers["etag"]}
        )
        assert same.status_code == 304


@pytest.mark.parametrize(
    "path",
    [
        "/.secret",
        "/assets/../index.html.bak",
        "/%2e%2e/flyback.db",
        "/assets/none.js",
        "//etc/passwd.txt",
        "/..%2f..%2fflyback.db",
        "/assets/%00.js",
    ],
)
async def test_nothing_but_the_built_files_can_be_read(tmp_path: Path, built: Path, path: str) -> None:
    async with open_door(tmp_path, page=built) as door:
        answer = await door.stranger.get(path)
        assert answer.status_code == 404


async def test_a_page_that_is_not_built_says_so(door: Door) -> None:
    answer = await door.stranger.get("/")
    assert answer.status_code == 503
    assert "not built" in answer.text
    assert (await door.stranger.post("/workflows", json={})).status_code == 405

"""What every request passes before its route."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from kit.databases import BOTH
from kit.door import ORIGIN, Door, open_door

EVERY_CALL = (
    ("GET", "/api/workflows"),
    ("POST", "/api/workflows"),
    ("GET", "/api/runs"),
    ("GET", "/api/runs/x/events"),
    ("POST", "/api/runs/x/cancel"),
    ("GET", "/api/models"),
    ("GET", "/api/skills"),
    ("GET", "/api/settings"),
    ("PUT", "/api/settings"),
    ("GET", "/api/auth/me"),
    ("POST", "/api/auth/sign-out"),
    ("GET", "/api/auth/api-keys"),
    ("GET", "/api/node-types"),
    ("GET", "/api/samples"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/api/no/such/call"),
)


@pytest.mark.parametrize(("method", "path"), EVERY_CALL)
async def test_nothing_but_the_open_calls_is_answered_without_signing_in(door: Door, method: str, path: str) -> None:
    refused = await door.stranger.request(method, path, json={} if method in ("POST", "PUT") else None)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/runs/%00", 404),
        ("GET", "/api/runs/%00/events", 404),
        ("GET", "/api/workflows/a%00b", 404),
        ("POST", "/api/pauses/%00/answer", 404),
        ("GET", "/api/runs?q=%00", 200),
        ("GET", "/api/runs?workflow=a%00", 200),
        ("GET", "/api/runs?cursor=%00", 422),
    ],
)
@pytest.mark.parametrize("kind", BOTH)
async def test_what_no_database_can_hold_is_looked_for_and_not_found(
    tmp_path: Path, kind: str, method: str, path: str, status: int
) -> None:
    async with open_door(tmp_path, kind=kind) as door:
        answer = await door.key.request(method, path, json={"answer": "x"} if method == "POST" else None)
        assert answer.status_code == status
        assert status != 200 or answer.json()["total"] == 0


async def test_health_and_readiness_are_open(door: Door) -> None:
    assert (await door.stranger.get("/healthz")).json() == {"status": "ok"}
    ready = (await door.stranger.get("/readyz")).json()
    assert ready == {"status": "ready", "parts": [{"name": "database", "ready": True, "message": None}]}


@pytest.mark.parametrize(
    "authorization",
    ["Bearer", "Bearer ", "Bearer nonsense", "Basic YTpi", "bearer", "Bearer a b", "Bearer \udcff", "Negotiate x", ""],
)
async def test_a_broken_authorization_is_refused_and_the_cookie_does_not_help_it(
    door: Door, authorization: str
) -> None:
    header = (b"Authorization", authorization.encode("utf-8", "surrogateescape"))
    refused = await door.page.get("/api/auth/me", headers=[header])
    assert refused.status_code == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8321.evil.example",
        "evil.example:8321",
        "localhost",
        "[::1]",
    ],
)
async def test_a_call_that_names_another_host_is_refused(door: Door, host: str) -> None:
    for client in (door.key, door.page, door.stranger):
        refused = await client.get("/healthz", headers={"Host": host})
        assert (refused.status_code, refused.json()["code"]) == (400, "HOST_REFUSED")


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:8321", "LOCALHOST:8321", "[::1]:8321"])
async def test_the_names_of_this_machine_are_answered(door: Door, host: str) -> None:
    assert (await door.key.get("/api/auth/me", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:8322",
        "http://localhost:3000",
        f"{ORIGIN}/",
        "https://127.0.0.1:8321",
    ],
)
async def test_a_call_from_another_page_is_refused_whoever_makes_it(door: Door, origin: str) -> None:
    for client in (door.key, door.page, door.stranger):
        for method, path in (("GET", "/api/workflows"), ("POST", "/api/auth/sign-in"), ("GET", "/workflows")):
            refused = await client.request(method, path, headers={"Origin": origin})
            assert (refused.status_code, refused.json()["code"]) == (403, "ORIGIN_REFUSED")


async def test_a_writing_call_of_the_page_needs_its_token(door: Door) -> None:
    for token in ("", "wrong", "é"):
        refused = await door.page.post("/api/workflows", json={}, headers=[(b"X-CSRF-Token", token.encode())])
        assert (refused.status_code, refused.json()["code"]) == (403, "CSRF")
    assert (await door.page.post("/api/workflows", json={})).status_code == 201
    assert (await door.key.post("/api/workflows", json={})).status_code == 201


async def test_a_body_must_be_json(door: Door) -> None:
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
    ):
        refused = await door.key.post("/api/workflows", content=b"{}", headers={"Content-Type": kind})
        assert (refused.status_code, refused.json()["code"]) == (415, "CONTENT_TYPE"), kind
    refused = await door.key.post("/api/workflows", content=b"{}")
    assert refused.status_code == 415
    taken = await door.key.post(
        "/api/workflows", content=b"{}", headers={"Content-Type": "Application/JSON; charset=utf-8"}
    )
    assert taken.status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b'{"name": NaN}',
        b'{"name": Infinity}',
        b'{"a": 1e400}',
        b'{"name": "x", "name": "y"}',
        b'{"name": "\\ud83d"}',
        b'{"name": "\xff\xfe"}',
        b'{"a": ' + b"9" * 4_301 + b"}",
        b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}",
        b"[" * 200_000,
        b"{} {}",
        b"\x00",
    ],
    ids=lambda body: body[:12].decode("latin-1") if isinstance(body, bytes) else None,
)
async def test_json_that_is_none_is_a_bad_request(door: Door, body: bytes) -> None:
    refused = await door.key.post("/api/workflows", content=body, headers={"Content-Type": "application/json"})
    if not body:
        assert refused.status_code == 422
        return
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_JSON")


async def test_a_field_that_a_call_does_not_know_is_refused_by_name(door: Door) -> None:
    refused = await door.key.put("/api/settings", json={"defaultModel": "x", "colour": "red"})
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "INVALID")
    assert problem["errors"] == [
        {
            "node": None,
            "field": "colour",
            "message": "colour: Extra inputs are not permitted.",
            "fix": "Leave this field out: the call does not know it.",
        }
    ]


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("/api/workflows", {"mode": "zigzag"}, "mode", "mode: a mode is DAG or AGENTIC."),
        (
            "/api/workflows",
            {"graphData": 5},
            "graphData",
            "graphData: Input should be a valid dictionary; or: Input should be a valid string.",
        ),
        ("/api/runs", {}, "workflow", "workflow: Field required."),
    ],
)
async def test_a_field_of_a_wrong_form_is_named_once_as_it_stands_in_the_body(
    door: Door, path: str, body: dict[str, object], field: str, message: str
) -> None:
    (fault,) = (await door.key.post(path, json=body)).json()["errors"]
    assert (fault["field"], fault["message"]) == (field, message)


async def test_what_is_not_there_is_a_problem_document_too(door: Door) -> None:
    missing = await door.key.get("/api/nothing/here")
    assert missing.headers["content-type"] == "application/problem+json"
    assert missing.json() == {
        "type": "urn:flyback:problem:NOT_FOUND",
        "title": "Not Found",
        "status": 404,
        "detail": "There is nothing at '/api/nothing/here'.",
        "code": "NOT_FOUND",
        "errors": [
            {
                "node": None,
                "field": None,
                "message": "There is nothing at '/api/nothing/here'.",
                "fix": "Check the address.",
            }
        ],
        "requestId": missing.headers["x-request-id"],
    }
    wrong = await door.key.delete("/api/samples")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert wrong.headers["allow"] == "GET"


async def test_every_answer_tells_the_browser_what_not_to_do(door: Door) -> None:
    for client, path in ((door.stranger, "/healthz"), (door.key, "/api/workflows"), (door.stranger, "/api/workflows")):
        headers = (await client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


async def test_a_failure_of_the_server_shows_an_id_and_nothing_else(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    # given a table that somebody took away
    await door.database.write(lambda conn: conn.exec_driver_sql("ALTER TABLE settings RENAME TO sunk").close())
    # when it is needed
    with caplog.at_level(logging.ERROR):
        failed = await door.key.get("/api/settings")
    # then the answer tells nothing of it, and its id finds the line that does
    problem = failed.json()
    assert (failed.status_code, problem["code"]) == (500, "INTERNAL")
    assert "settings" not in failed.text.lower().replace("/api/settings", "")
    assert any(problem["requestId"] in record.getMessage() and record.exc_info for record in caplog.records)


async def test_no_secret_and_no_query_stands_in_the_log(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await door.stranger.post("/api/auth/sign-in", json={"secret": "s3cr3t-value"})
        await door.key.get(
            "/api/workflows", params={"q": "s3cr3t-value"}, headers={"Authorization": "Bearer s3cr3t-value"}
        )
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("flyback")]
    assert ours
    assert "s3cr3t-value" not in json.dumps(ours)


async def test_headers_that_are_too_large_are_refused(door: Door) -> None:
    refused = await door.key.get("/api/workflows", headers={"X-Filler": "x" * 17_000})
    assert (refused.status_code, refused.json()["code"]) == (431, "HEADERS_TOO_LARGE")

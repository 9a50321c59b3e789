"""Signing in, sessions and API keys."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from flyback.storage import audit
from kit.clock import HandClock
from kit.door import ADDRESS, ORIGIN, Door, client_of, open_door


async def test_a_link_signs_in_once(door: Door) -> None:
    secret = await door.services.auth.make_link(door.owner)
    first = await door.stranger.post("/api/auth/sign-in", json={"secret": secret}, headers={"Origin": ORIGIN})
    assert first.status_code == 200
    assert first.json()["user"] == {"id": door.owner.user_id, "name": "owner", "role": "admin"}
    cookie = first.headers["set-cookie"]
    assert cookie.startswith("flyback-8321=")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    again = await door.stranger.post("/api/auth/sign-in", json={"secret": secret})
    assert (again.status_code, again.json()["code"]) == (401, "UNAUTHENTICATED")
    assert "flyback sign-in" in again.json()["errors"][0]["fix"]


async def test_me_gives_the_token_that_the_page_sends(door: Door) -> None:
    me = (await door.page.get("/api/auth/me")).json()
    assert me["csrfToken"] == door.page.headers["X-CSRF-Token"]
    assert (await door.key.get("/api/auth/me")).json()["csrfToken"] is None


async def test_signing_out_ends_the_session_at_once(door: Door) -> None:
    cookies = dict(door.page.cookies)
    assert (await door.page.post("/api/auth/sign-out")).status_code == 204
    async with client_of(door.app, {}) as thief:
        thief.cookies.update(cookies)
        assert (await thief.get("/api/auth/me")).status_code == 401
    assert (await door.page.get("/api/auth/me")).status_code == 401


async def test_a_key_is_shown_once_works_and_can_be_revoked(door: Door) -> None:
    made = await door.page.post("/api/auth/api-keys", json={"name": "ci"})
    assert made.status_code == 201
    key = made.json()["key"]
    listed = await door.page.get("/api/auth/api-keys")
    assert key not in listed.text
    [mine] = [item for item in listed.json()["items"] if item["name"] == "ci"]
    assert key.startswith(mine["hint"])
    async with client_of(door.app, {"Authorization": f"Bearer {key}"}) as other:
        assert (await other.get("/api/auth/me")).status_code == 200
        assert (await door.page.delete(f"/api/auth/api-keys/{mine['id']}")).status_code == 204
        assert (await other.get("/api/auth/me")).status_code == 401
    assert (await door.page.delete(f"/api/auth/api-keys/{mine['id']}")).status_code == 404


async def test_secrets_are_stored_as_hashes_only(door: Door, tmp_path: Path) -> None:
    secret = await door.services.auth.make_link(door.owner)
    key = (await door.page.post("/api/auth/api-keys", json={"name": "x"})).json()["key"]
    token = door.page.cookies["flyback-8321"]
    stored = _bytes_in(tmp_path)
    for value in (secret, key, token):
        assert value.encode() not in stored


async def test_a_key_with_a_time_expires(tmp_path: Path) -> None:
    clock = HandClock()
    async with open_door(tmp_path, clock=clock) as door:
        ends = (clock.now() + timedelta(hours=1)).isoformat()
        key = (await door.page.post("/api/auth/api-keys", json={"name": "x", "expiresAt": ends})).json()["key"]
        async with client_of(door.app, {"Authorization": f"Bearer {key}"}) as other:
            assert (await other.get("/api/auth/me")).status_code == 200
            clock.seconds += 3_600
            assert (await other.get("/api/auth/me")).status_code == 401
        past = await door.page.post("/api/auth/api-keys", json={"name": "x", "expiresAt": ends})
        assert past.status_code == 422
        local = await door.page.post("/api/auth/api-keys", json={"name": "x", "expiresAt": "2030-01-01T00:00:00"})
        assert local.status_code == 422


async def test_a_link_and_a_session_do_not_live_for_ever(tmp_path: Path) -> None:
    clock = HandClock()
    async with open_door(tmp_path, clock=clock) as door:
        secret = await door.services.auth.make_link(door.owner)
        clock.seconds += 25 * 3_600
        assert (await door.stranger.post("/api/auth/sign-in", json={"secret": secret})).status_code == 401
        assert (await door.page.get("/api/auth/me")).status_code == 200
        clock.seconds += 30 * 24 * 3_600
        assert (await door.page.get("/api/auth/me")).status_code == 401


async def test_whoever_guesses_is_slowed_down_more_and_more(tmp_path: Path) -> None:
    clock = HandClock()
    async with open_door(tmp_path, clock=clock) as door:

        async def fail(times: int) -> None:
            for _ in range(times):
                answer = await door.stranger.post("/api/auth/sign-in", json={"secret": "guess"})
                assert answer.status_code == 401

        async def wait_told() -> int:
            refused = await door.stranger.post("/api/auth/sign-in", json={"secret": "guess"})
            assert (refused.status_code, refused.json()["code"]) == (429, "TOO_MANY")
            return int(refused.headers["retry-after"])

        # given ten failures within a minute
        await fail(10)
        # then even the right secret has to wait
        secret = await door.services.auth.make_link(door.owner)
        assert (await door.stranger.post("/api/auth/sign-in", json={"secret": secret})).status_code == 429
        first = await wait_told()
        # and the next ten failures cost more
        clock.seconds += first
        await fail(10)
        assert await wait_told() > first
        # and whoever waits gets in
        clock.seconds += 3_600
        assert (await door.stranger.post("/api/auth/sign-in", json={"secret": secret})).status_code == 200


async def test_slow_failures_are_not_held_against_anybody(tmp_path: Path) -> None:
    clock = HandClock()
    async with open_door(tmp_path, clock=clock) as door:
        for _ in range(30):
            clock.seconds += 10
            assert (await door.stranger.post("/api/auth/sign-in", json={"secret": "typo"})).status_code == 401


async def test_signing_in_and_keys_stand_in_the_audit_log(door: Door) -> None:
    await door.page.post("/api/auth/api-keys", json={"name": "ci"})
    await door.page.put("/api/settings", json={"language": "zh-CN"})
    await door.stranger.post("/api/auth/sign-in", json={"secret": "wrong"})
    await door.page.post("/api/auth/sign-out")
    rows = await door.database.read(lambda conn: audit.newest(conn, limit=10))
    assert [row.action for row in rows][:4] == ["sign_out", "sign_in.failed", "settings.changed", "api_key.made"]


async def test_there_is_one_user_however_often_the_server_starts(door: Door) -> None:
    assert await door.services.auth.first_user() == door.owner


def test_the_address_of_the_tests_is_the_one_that_the_app_answers_to() -> None:
    assert ADDRESS == ORIGIN


def _bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())

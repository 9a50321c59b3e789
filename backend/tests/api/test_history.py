"""Restore points and published versions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from flyback.services.thinning import KEPT_IN_ALL, NEWEST_KEPT, thinned
from kit.databases import BOTH
from kit.door import Door, open_door


@pytest.fixture(params=BOTH)
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path, kind=request.param) as opened:
        yield opened


async def make(door: Door) -> dict[str, Any]:
    return (await door.key.post("/api/workflows", json={"name": "One"})).json()


async def save(door: Door, document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    saved = await door.key.put(f"/api/workflows/{document['id']}", json={**document, **changes})
    assert saved.status_code == 200, saved.text
    return saved.json()


async def test_what_a_save_replaced_can_be_gone_back_to(door: Door) -> None:
    # given a draft that was saved twice
    first = await make(door)
    second = await save(door, first, name="Two")
    third = await save(door, second, name="Three")
    url = f"/api/workflows/{first['id']}"
    points = (await door.key.get(f"{url}/revisions")).json()
    assert [(point["revision"], point["name"]) for point in points["items"]] == [(2, "Two"), (1, "One")]
    assert (await door.key.get(f"{url}/revisions/1")).json()["workflow"] == first
    # when a person goes back to the first
    back = (await door.key.post(f"{url}/revisions/1/restore")).json()
    # then it is the draft again, and the draft it replaced is not lost
    assert (back["name"], back["revision"]) == ("One", 4)
    assert (await door.key.get(f"{url}/revisions/3")).json()["workflow"] == third


async def test_a_draft_can_be_kept_under_a_note(door: Door) -> None:
    made = await make(door)
    url = f"/api/workflows/{made['id']}/revisions"
    kept = await door.key.post(url, json={"note": "before the move"})
    assert (kept.status_code, kept.json()["revision"], kept.json()["note"]) == (201, 1, "before the move")
    await save(door, made, name="Two")
    points = (await door.key.get(url)).json()["items"]
    assert [(point["revision"], point["note"]) for point in points] == [(1, "before the move")]


async def test_restore_points_are_paged(door: Door) -> None:
    document = await make(door)
    for n in range(4):
        document = await save(door, document, name=f"{n}")
    url = f"/api/workflows/{document['id']}/revisions"
    first = (await door.key.get(url, params={"limit": 3})).json()
    rest = (await door.key.get(url, params={"limit": 3, "cursor": first["nextCursor"]})).json()
    assert [point["revision"] for point in (*first["items"], *rest["items"])] == [4, 3, 2, 1]
    assert (first["total"], rest["nextCursor"]) == (4, None)


async def test_a_version_never_changes_and_a_draft_is_none(door: Door) -> None:
    # given a workflow that is published, changed, and published again
    made = await make(door)
    url = f"/api/workflows/{made['id']}"
    assert (await door.key.get(f"{url}/versions")).json()["items"] == []
    one = await door.key.post(f"{url}/versions", json={"note": "first"})
    assert (one.status_code, one.json()["version"], one.json()["workflow"]) == (201, 1, made)
    [item] = (await door.key.get("/api/workflows")).json()["items"]
    assert (item["publishedVersion"], item["draftChanged"]) == (1, False)
    changed = await save(door, made, name="Two")
    [item] = (await door.key.get("/api/workflows")).json()["items"]
    assert (item["publishedVersion"], item["draftChanged"]) == (1, True)
    two = await door.key.post(f"{url}/versions")
    # then both are there as they were
    assert two.json()["workflow"] == changed
    assert (await door.key.get(f"{url}/versions/1")).json() == one.json()
    listed = (await door.key.get(f"{url}/versions")).json()
    assert [(version["version"], version["note"]) for version in listed["items"]] == [(2, ""), (1, "first")]
    for missing in ("0", "3", "99999999999999999999", "x"):
        assert (await door.key.get(f"{url}/versions/{missing}")).status_code == 404


async def test_publishing_can_insist_on_a_revision(door: Door) -> None:
    made = await make(door)
    await save(door, made, name="Two")
    refused = await door.key.post(f"/api/workflows/{made['id']}/versions", json={"revision": 1})
    assert (refused.status_code, refused.json()["code"]) == (409, "REVISION_CONFLICT")
    assert refused.json()["current"]["name"] == "Two"


def test_old_restore_points_are_thinned_to_one_in_ten_minutes() -> None:
    # given a save every minute for a day, newest first
    points = [(n, f"2026-01-31T{n // 60:02}:{n % 60:02}:00.000Z") for n in reversed(range(24 * 60))]
    # when they are thinned
    gone = set(thinned(points))
    kept = [revision for revision, _ in points if revision not in gone]
    # then the newest are all there, and of the older ones one in ten minutes
    assert kept[:NEWEST_KEPT] == [revision for revision, _ in points[:NEWEST_KEPT]]
    slots = [revision // 10 for revision in kept[NEWEST_KEPT:]]
    assert len(slots) == len(set(slots)) == (24 * 60 - NEWEST_KEPT) // 10
    assert len(kept) <= KEPT_IN_ALL


def test_restore_points_are_bounded_however_long_ago_they_are() -> None:
    points = [
        (n, f"2026-{1 + n // 700:02}-{1 + n // 24 % 28:02}T{n % 24:02}:00:00.000Z") for n in reversed(range(4_000))
    ]
    assert len(points) - len(thinned(points)) == KEPT_IN_ALL

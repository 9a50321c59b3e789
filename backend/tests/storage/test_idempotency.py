"""A key names one run, on both databases."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection

from flyback.domain.errors import IdempotencyMismatchError
from flyback.domain.run import RunId
from flyback.storage import idempotency
from flyback.storage.database import Database
from flyback.storage.idempotency import KEPT, IdempotencyKey

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
KEY = IdempotencyKey("/api/runs", "once", "the body's hash")


async def _claim(
    database: Database, run_id: str, *, key: IdempotencyKey = KEY, owner: str = "me", now: datetime = NOW
) -> RunId | None:
    def work(conn: Connection) -> RunId | None:
        return idempotency.claim(conn, owner, key, RunId(run_id), now=now)

    return await database.write(work)


async def test_a_repeated_key_gives_the_run_that_it_named_first(database: Database) -> None:
    assert await _claim(database, "first") is None
    assert await _claim(database, "second") == "first"


async def test_of_two_at_once_one_names_the_run_and_the_other_is_told_it(database: Database) -> None:
    told = await asyncio.gather(*(_claim(database, f"run {n}") for n in range(6)))
    [named] = {run_id for run_id in told if run_id is not None}
    assert told.count(None) == 1
    assert told.index(None) == int(named.removeprefix("run "))


async def test_a_key_belongs_to_its_owner_and_its_path(database: Database) -> None:
    assert await _claim(database, "first") is None
    assert await _claim(database, "second", owner="you") is None
    assert await _claim(database, "third", key=IdempotencyKey("/api/other", KEY.key, KEY.body_hash)) is None


async def test_another_body_under_the_same_key_is_refused(database: Database) -> None:
    await _claim(database, "first")
    with pytest.raises(IdempotencyMismatchError):
        await _claim(database, "second", key=IdempotencyKey(KEY.path, KEY.key, "another hash"))


async def test_a_key_is_forgotten_after_its_time(database: Database) -> None:
    await _claim(database, "first")
    assert await _claim(database, "second", now=NOW + KEPT + timedelta(seconds=1)) is None

"""Who judges which workers live: the eldest of them, and nobody who was away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from flyback.dispatch.heart import Heart
from flyback.domain.run import Mode, RunId
from flyback.storage import tables as t
from flyback.storage import workers
from flyback.storage.database import Database
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger
from kit.clock import NOON, HandClock
from kit.databases import BOTH, new_url, opened
from kit.ledgers import InDatabase

_LEASE_SECONDS = 60.0


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Database]:
    async with opened(new_url(request.param, tmp_path)) as database:
        yield database


async def _beat(database: Database, name: str, *, age_minutes: int, judges: bool = True) -> None:
    started = NOON - timedelta(minutes=age_minutes)
    await database.write(lambda conn: workers.beat(conn, name, now=started, judges=judges))


async def _fall_silent(database: Database, name: str, seconds: float) -> None:
    w = t.workers.c
    silent = sa.update(t.workers).where(w.id == name).values(beat_at=w.beat_at - seconds)
    await database.write(lambda conn: conn.execute(silent).rowcount)


async def _judge(database: Database) -> str | None:
    return await database.read(lambda conn: workers.judge(conn, _LEASE_SECONDS))


async def test_the_eldest_of_the_living_who_judge_is_the_judge(database: Database) -> None:
    assert await _judge(database) is None
    await _beat(database, "a command", age_minutes=90, judges=False)
    await _beat(database, "young", age_minutes=1)
    await _beat(database, "old", age_minutes=60)
    assert await _judge(database) == "old"
    await _fall_silent(database, "old", _LEASE_SECONDS + 1)
    assert await _judge(database) == "young"
    await _beat(database, "old", age_minutes=60)
    assert await _judge(database) == "old"


async def test_the_dead_are_forgotten_once_no_open_run_names_them(database: Database) -> None:
    await _beat(database, "dead", age_minutes=60)
    await _beat(database, "owner", age_minutes=60)
    await _beat(database, "alive", age_minutes=60)
    owner = Ledger(database, Hub(), clock=HandClock(), worker_id="owner")
    await InDatabase(owner, HandClock()).accept(RunId("run-1"), Mode.DAG)
    await _fall_silent(database, "dead", 100)
    await _fall_silent(database, "owner", 100)
    await database.write(lambda conn: workers.bury(conn, 90))
    left = sa.select(t.workers.c.id).order_by(t.workers.c.id)
    assert await database.read(lambda conn: list(conn.execute(left).scalars())) == ["alive", "owner"]


def _process(database: Database, name: str) -> Ledger:
    return Ledger(database, Hub(), clock=HandClock(), worker_id=name)


async def _judged(heart: Heart) -> frozenset[str]:
    """Return who lives as soon as this one may judge."""
    while True:
        living = await heart.living()
        if living is not None:
            return living
        await asyncio.sleep(0.01)


async def test_given_a_newcomer_when_a_lease_has_passed_then_it_may_judge_and_not_before(database: Database) -> None:
    heart = Heart(_process(database, "me"), lease_seconds=0.6)
    began = asyncio.get_running_loop().time()
    await heart.start()
    living = await _judged(heart)
    assert asyncio.get_running_loop().time() - began >= 0.6
    assert living == {"me"}
    await heart.stop()
    assert await _judge(database) is None


async def test_given_an_elder_who_lives_when_another_asks_then_it_is_not_for_him_to_judge(database: Database) -> None:
    await _beat(database, "old", age_minutes=60)
    await _fall_silent(database, "old", -3_600)  # its next beats have come already
    heart = Heart(_process(database, "young"), lease_seconds=0.5)
    await heart.start()
    for _ in range(100):
        assert await heart.living() is None
        await asyncio.sleep(0.01)
    await _fall_silent(database, "old", 7_200)
    assert await _judged(heart) == {"young"}
    await heart.stop()

"""A worker that freezes in the middle of a transaction keeps its locks: another one goes on all the same, within a minute."""

from __future__ import annotations

import signal
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from flyback.storage.database import Database
from kit.checker import faults
from kit.event_reader import EventReader
from kit.postgres import new_postgres_url
from kit.server import Server, Worker, running_server

pytestmark = pytest.mark.timeout(240)

PROMISED_SECONDS = 60
WORKFLOW: Mapping[str, Any] = {
    "name": "answers at once",
    "mode": "DAG",
    "graphData": {
        "nodes": [{"id": "ask", "type": "userInput", "data": {}}, {"id": "answer", "type": "output", "data": {}}],
        "edges": [{"id": "e", "source": "ask", "target": "answer"}],
    },
}


@pytest.fixture
def url() -> str:
    return new_postgres_url()


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    address = sa.make_url(url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, poolclass=sa.NullPool)
    yield engine
    engine.dispose()


@pytest.fixture
def door(tmp_path: Path, url: str) -> Iterator[Server]:
    with running_server(tmp_path / "door", "--no-worker", FLYBACK_DATABASE_URL=url) as door:
        yield door


@contextmanager
def at_work(folder: Path, url: str) -> Generator[Worker]:
    worker = Worker(folder, url)
    try:
        yield worker
    finally:
        worker.end(signal.SIGKILL)


def start(door: Server) -> str:
    with door.client() as client:
        return client.post("/runs", json={"workflow": WORKFLOW}).json()["runId"]


def wait_for_end(door: Server, run_id: str, *, since: float) -> None:
    reader = EventReader(door.client(), f"/runs/{run_id}/events")
    reader.wait(lambda seen: seen.ended, within_seconds=PROMISED_SECONDS - (time.monotonic() - since))


def _wait_for_update(engine: sa.Engine, state: str) -> None:
    """Wait until a connection is in this state whose last statement changes a run's row."""
    asked = sa.text(f"SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UPDATE workflow_runs%' AND {state}")  # noqa: S608 -- our own words
    until = time.monotonic() + PROMISED_SECONDS
    while time.monotonic() < until:
        with engine.connect() as conn:
            if conn.execute(asked).scalar_one():
                return
        time.sleep(0.05)
    raise AssertionError(f"no connection with {state}")


def _is_locked(engine: sa.Engine, statement: str, run_id: str) -> bool:
    with engine.connect() as conn:
        try:
            conn.execute(sa.text(f"{statement} FOR UPDATE NOWAIT"), {"run": run_id})
        except OperationalError:
            return True
    return False


def test_given_a_worker_frozen_before_its_commit_when_another_is_there_then_the_run_ends_within_a_minute(
    door: Server, url: str, engine: sa.Engine, tmp_path: Path
) -> None:
    run_id = start(door)
    with engine.connect() as hindrance:
        # given a worker that takes a run over, and has to wait for its row
        hindrance.execute(sa.text("LOCK TABLE workflow_runs IN EXCLUSIVE MODE"))
        frozen = Worker(tmp_path / "frozen", url)
        _wait_for_update(engine, "wait_event_type = 'Lock'")
        # when it is frozen, so that it gets the row and can do no more
        frozen.freeze()
    since = time.monotonic()
    try:
        _wait_for_update(engine, "state = 'idle in transaction'")
        assert _is_locked(engine, "SELECT 1 FROM workflow_runs WHERE run_uuid = :run", run_id)
        # then another one takes the run up, and it ends in time
        with at_work(tmp_path / "other", url):
            wait_for_end(door, run_id, since=since)
            # and the first one does no harm when it comes back
            frozen.signal(signal.SIGCONT)
            frozen.wait_until_up()
            second = start(door)
            wait_for_end(door, second, since=time.monotonic())
    finally:
        frozen.end(signal.SIGKILL)
    with door.client() as client:
        assert {client.get(f"/runs/{one}").json()["status"] for one in (run_id, second)} == {"SUCCESS"}
    with engine.connect() as conn:
        assert [faults(conn, one) for one in (run_id, second)] == [[], []]


async def test_given_a_process_that_stands_still_while_it_claims_when_a_worker_is_there_then_the_run_ends_within_a_minute(
    door: Server, url: str, engine: sa.Engine, tmp_path: Path
) -> None:
    # given a connection of the queue that has locked a run's place in it, and says no more
    run_id = start(door)
    database = await Database.open(url)
    queue = database.engine_for_queue()
    claimed = "SELECT 1 FROM dbos.workflow_status WHERE workflow_uuid LIKE :run || ':%'"
    with queue.connect() as standing:
        assert standing.execute(sa.text(f"{claimed} FOR UPDATE"), {"run": run_id}).scalar_one() == 1
        since = time.monotonic()
        assert _is_locked(engine, claimed, run_id)
        # then a worker gets the run when the server has ended that connection
        with at_work(tmp_path / "worker", url):
            wait_for_end(door, run_id, since=since)
        standing.invalidate()
    queue.dispose()
    await database.close()
    with engine.connect() as conn:
        assert faults(conn, run_id) == []

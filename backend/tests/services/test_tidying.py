"""What need not stay is deleted with everything it has, and nothing else is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from flyback.dispatch.local import LocalDispatcher
from flyback.domain.run import RunId
from flyback.providers.scripted import FileJournal, MemoryJournal
from flyback.providers.system import SystemClock
from flyback.services.tidying import Tidied, Tidying
from flyback.storage import tables as t
from flyback.storage.database import Database
from flyback.storage.retention import Keep
from kit.checker import faults
from kit.databases import BOTH, new_url, opened
from kit.drawing import draw
from kit.durable import Workshop, new_run
from kit.studio import script_of


@pytest.fixture(params=BOTH)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Database]:
    async with opened(new_url(request.param, tmp_path)) as database:
        yield database


class _Later(SystemClock):
    def __init__(self, days: float) -> None:
        self._ahead = timedelta(days=days)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead


async def _runs(database: Database, outputs: list[str], *, hang: bool = False) -> list[RunId]:
    """Run one run for each output, and return their ids."""
    workshop = Workshop.on(database, MemoryJournal())
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    graph = draw("ask -> draft -> answer", ask={"variables": []})
    names = [RunId(f"run-{place}") for place in range(len(outputs))]
    for name, output in zip(names, outputs, strict=True):
        given: dict[str, JsonValue] = {
            "id": name,
            "mode": "AGENTIC",
            "graph": dict(graph.document),
            "inputs": {},
            "script": script_of(graph, ["draft", "answer"], {"draft": [output]}),
        }
        await database.write(lambda conn, given=given: workshop.ledger.accept_in(conn, new_run(given)))
        if not hang:
            await dispatcher.launch(name, 0)
            await dispatcher.finished(name)
    return names


async def _left(database: Database) -> dict[str, int]:
    """How many rows each table of a run still has."""
    tables = (t.workflow_runs, t.workflow_run_visits, t.workflow_run_events, t.workflow_visit_steps, t.blobs)

    def count(conn: sa.Connection) -> dict[str, int]:
        return {
            table.name: conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in tables
        }

    return await database.read(count)


async def test_runs_that_are_old_go_with_everything_they_have(database: Database) -> None:
    await _runs(database, ["one", "x" * 100_000])
    tidied = await Tidying(database, clock=_Later(40)).tidy(Keep(days=30))
    assert tidied == Tidied(runs=2, blobs=2)  # of the model and of the output
    assert set((await _left(database)).values()) == {0}


async def test_given_both_limits_only_what_is_old_and_not_among_the_newest_goes(database: Database) -> None:
    names = await _runs(database, ["one", "two", "three"])
    assert (await Tidying(database, clock=_Later(10)).tidy(Keep(days=30, runs=1))).runs == 0
    assert (await Tidying(database, clock=_Later(40)).tidy(Keep(days=30, runs=1))).runs == 2
    assert await database.read(lambda conn: faults(conn, names[-1])) == []


@pytest.mark.parametrize("keep", [Keep(), Keep(days=30), Keep(runs=9)])
async def test_what_no_limit_names_stays(keep: Keep, database: Database) -> None:
    await _runs(database, ["one", "two"])
    assert await Tidying(database, clock=_Later(5)).tidy(keep) == Tidied(0, 0)


async def test_a_run_of_the_last_day_stays_and_so_does_one_that_has_no_end(database: Database) -> None:
    await _runs(database, ["one"])
    assert (await Tidying(database, clock=_Later(0.9)).tidy(Keep(runs=0))).runs == 0
    await database.write(lambda conn: conn.execute(sa.delete(t.workflow_runs)).rowcount)
    await _runs(database, ["one"], hang=True)
    assert (await Tidying(database, clock=_Later(400)).tidy(Keep(days=1, runs=0))).runs == 0


async def test_given_a_large_value_that_another_run_names_too_when_one_of_them_goes_then_the_value_stays(
    database: Database,
) -> None:
    names = await _runs(database, ["x" * 100_000, "x" * 100_000])
    assert await Tidying(database, clock=_Later(40)).tidy(Keep(days=30, runs=1)) == Tidied(runs=1, blobs=0)
    assert await database.read(lambda conn: faults(conn, names[-1])) == []


async def test_the_room_can_be_given_back(tmp_path: Path) -> None:
    async with opened(new_url("sqlite", tmp_path)) as database:
        await _runs(database, [letter * 300_000 for letter in "abcdef"])
        tidying = Tidying(database, clock=_Later(40))
        await tidying.vacuum()
        before = (tmp_path / "flyback.db").stat().st_size
        await tidying.tidy(Keep(days=30))
        await tidying.vacuum()
        assert (tmp_path / "flyback.db").stat().st_size < before / 2


def test_a_journal_that_is_long_begins_anew_and_the_older_part_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "scripted.jsonl"
    file.write_text("x" * 50)
    FileJournal(file).rotate(longest_bytes=50)
    assert file.exists()
    FileJournal(file).rotate(longest_bytes=49)
    assert not file.exists()
    assert (tmp_path / "scripted.old.jsonl").read_text() == "x" * 50
    FileJournal(file).rotate()

"""Reading and writing on both databases, and what trouble looks like."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import IntegrityError

from flyback.dispatch.heart import standing_still_seconds
from flyback.domain.errors import (
    DatabaseNewerError,
    DataFolderHeldError,
    NotFoundError,
    StorageBusyError,
    StorageFullError,
)
from flyback.storage import tables as t
from flyback.storage.data_folder import DataFolder
from flyback.storage.database import Database
from flyback.storage.migrations import HEAD, upgrade
from kit.databases import BOTH, new_url, opened


def _put(name: str) -> sa.Insert:
    return sa.insert(t.settings).values(owner_id="me", name=name, value_json="1")


def _add(name: str) -> Callable[[sa.Connection], None]:
    def work(conn: sa.Connection) -> None:
        conn.execute(_put(name))

    return work


async def _names(database: Database) -> set[str]:
    return await database.read(lambda conn: set(conn.execute(sa.select(t.settings.c.name)).scalars()))


async def test_what_was_written_is_read(database: Database) -> None:
    await database.write(_add("a"))
    assert await _names(database) == {"a"}


async def test_given_many_writes_at_once_when_some_fail_then_the_others_are_stored(database: Database) -> None:
    # given writes that wait together, so that they are committed as one group, and of which every third fails
    def failing_third(number: int) -> Callable[[sa.Connection], None]:
        def work(conn: sa.Connection) -> None:
            conn.execute(_put(str(number)))
            if number % 3 == 0:
                raise NotFoundError("no")

        return work

    # when they are done
    writes = [database.write(failing_third(number)) for number in range(30)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    # then each has its own answer, and a failed one left nothing
    assert [isinstance(result, NotFoundError) for result in results] == [n % 3 == 0 for n in range(30)]
    assert await _names(database) == {str(n) for n in range(30) if n % 3}


async def test_given_a_write_that_broke_a_rule_of_the_tables_when_others_share_its_group_then_they_are_stored(
    database: Database,
) -> None:
    await database.write(_add("a"))
    twice, other = await asyncio.gather(
        database.write(_add("a")),
        database.write(_add("b")),
        return_exceptions=True,
    )
    assert isinstance(twice, IntegrityError)
    assert other is None
    assert await _names(database) == {"a", "b"}


async def test_a_reader_sees_one_moment(database: Database) -> None:
    counted = sa.select(sa.func.count()).select_from(t.settings)
    wrote = asyncio.Event()
    loop = asyncio.get_running_loop()

    def read_twice(conn: sa.Connection) -> tuple[int, int]:
        first = conn.execute(counted).scalar_one()
        asyncio.run_coroutine_threadsafe(write(), loop).result(timeout=10)
        return first, conn.execute(counted).scalar_one()

    async def write() -> None:
        await database.write(_add("a"))
        wrote.set()

    assert await database.read(read_twice) == (0, 0)
    assert wrote.is_set()
    assert await _names(database) == {"a"}


async def test_given_a_caller_that_gives_up_when_its_write_was_handed_over_then_it_is_stored(tmp_path: Path) -> None:
    async with opened(new_url("sqlite", tmp_path)) as database:
        task = asyncio.create_task(database.write(_add("a")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await database.write(_add("b"))
        assert await _names(database) == {"a", "b"}


@pytest.mark.parametrize("kind", ["read", "write"])
async def test_given_work_whose_caller_gave_up_when_the_database_is_closed_then_no_connection_is_left_open(
    tmp_path: Path, kind: str
) -> None:
    gc.collect()
    database = await Database.open(new_url("postgresql", tmp_path))
    at_work, may_end = threading.Event(), threading.Event()

    def work(conn: sa.Connection) -> None:
        conn.exec_driver_sql("SELECT 1")
        at_work.set()
        may_end.wait(30)

    # given a thread that is still at work
    caller = asyncio.create_task(database.read(work) if kind == "read" else database.write(work))
    await asyncio.to_thread(at_work.wait, 30)
    caller.cancel()
    # when the database is closed meanwhile
    threading.Timer(0.1, may_end.set).start()
    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always")
        await database.close()
        gc.collect()
    # then the driver has nothing to warn of
    assert [str(one.message) for one in left_open] == []


async def test_given_another_process_that_holds_the_lock_when_it_lets_go_then_what_must_be_stored_is_stored(
    tmp_path: Path,
) -> None:
    async with opened(new_url("sqlite", tmp_path), lock_wait_ms=20) as database:
        # given another writer
        other = sqlite3.connect(tmp_path / "flyback.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        # when somebody from outside writes, they are told to come back
        with pytest.raises(StorageBusyError):
            await database.write(_add("a"))
        # and what has to be stored waits until the other one is done
        waiting = asyncio.create_task(database.persist(lambda: database.write(_add("b"))))
        with pytest.raises(StorageBusyError):
            await database.write(_add("c"))
        other.execute("ROLLBACK")
        other.close()
        await waiting
        assert await _names(database) == {"b"}


async def test_given_a_full_disk_when_something_is_written_then_nothing_is_half_written(tmp_path: Path) -> None:
    async with opened(new_url("sqlite", tmp_path)) as database:
        await database.write_raw(lambda raw: raw.execute("SELECT 1").fetchone())
        pages = await database.read(lambda conn: conn.execute(sa.text("PRAGMA page_count")).scalar_one())
        await database.write(lambda conn: conn.execute(sa.text(f"PRAGMA max_page_count = {pages}")).scalar_one())

        def fill(conn: sa.Connection) -> None:
            for number in range(200):
                conn.execute(sa.insert(t.settings).values(owner_id="me", name=str(number), value_json="x" * 10_000))

        with pytest.raises(StorageFullError):
            await database.write(fill)
        assert await _names(database) == set()
        # and when there is room again, work goes on
        await database.write(lambda conn: conn.execute(sa.text("PRAGMA max_page_count = 1000000")).scalar_one())
        await database.write(fill)
        assert len(await _names(database)) == 200


async def test_sqlite_syncs_fully_and_keeps_a_log(tmp_path: Path) -> None:
    async with opened(new_url("sqlite", tmp_path)) as database:
        names = ("journal_mode", "synchronous", "foreign_keys")
        found = await database.write_raw(
            lambda raw: {name: raw.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
        )
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


async def test_given_a_database_of_a_newer_program_when_it_is_opened_then_it_is_refused(database_url: str) -> None:
    async with opened(database_url) as database:
        await database.write(
            lambda conn: conn.execute(sa.text("UPDATE alembic_version SET version_num = '9999'")).rowcount
        )
    with pytest.raises(DatabaseNewerError, match="newer Flyback"):
        await Database.open(database_url)


async def test_the_migrations_make_the_tables_that_the_program_knows(database: Database) -> None:
    def differences(conn: sa.Connection) -> list[object]:
        return compare_metadata(MigrationContext.configure(conn), t.metadata)

    assert await database.read(differences) == []
    config = Config()
    config.set_main_option("script_location", "flyback.storage:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def _shape(conn: sa.Connection) -> Mapping[str, object]:
    """Everything that a database says of its tables and views, without regard to order."""
    seen = sa.inspect(conn)

    def of(table: str) -> list[str]:
        columns = [
            (one["name"], str(one["type"]), one["nullable"], one.get("default")) for one in seen.get_columns(table)
        ]
        keys = [seen.get_pk_constraint(table)["constrained_columns"], *seen.get_foreign_keys(table)]
        rules = [*seen.get_unique_constraints(table), *seen.get_check_constraints(table)]
        indexes = [
            (one["name"], one["column_names"], one["unique"], *map(str, one.get("dialect_options", {}).values()))
            for one in seen.get_indexes(table)
        ]
        return sorted(str(one) for one in (*columns, *keys, *rules, *indexes))

    views = {name: seen.get_view_definition(name) for name in seen.get_view_names()}
    return {name: of(name) for name in seen.get_table_names()} | views


@pytest.mark.parametrize("kind", BOTH)
def test_an_empty_database_gets_at_once_what_the_steps_would_make(tmp_path: Path, kind: str) -> None:
    url = sa.make_url(new_url(kind, tmp_path))
    if kind == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        at_once = _shape(conn)
        if kind == "postgresql":
            conn.exec_driver_sql("DROP SCHEMA public CASCADE")
            conn.exec_driver_sql("CREATE SCHEMA public")
    if kind == "sqlite":
        engine = sa.create_engine(f"sqlite:///{tmp_path / 'steps.db'}", poolclass=sa.NullPool)
    with engine.begin() as conn:
        upgrade(conn)
        by_steps = _shape(conn)
    assert at_once == by_steps


def test_given_a_data_folder_in_use_when_another_takes_it_then_it_is_told_by_whom(tmp_path: Path) -> None:
    held = DataFolder.hold(tmp_path / "data")
    with pytest.raises(DataFolderHeldError, match="in use by process"):
        DataFolder.hold(tmp_path / "data")
    held.release()
    DataFolder.hold(tmp_path / "data").release()


@pytest.mark.parametrize(("lease_seconds", "told"), [(12, "10s"), (3, "2500ms"), (2, "1667ms")])
async def test_the_server_ends_a_transaction_that_stands_still_before_a_workers_lease_is_over(
    tmp_path: Path, lease_seconds: int, told: str
) -> None:
    still = standing_still_seconds(lease_seconds)
    database = await Database.open(new_url("postgresql", tmp_path), standing_still_seconds=still)
    queue = database.engine_for_queue()
    asked = sa.text("SHOW idle_in_transaction_session_timeout")
    with queue.connect() as conn:
        assert conn.execute(asked).scalar_one() == told
    assert await database.write(lambda conn: conn.execute(asked).scalar_one()) == told
    assert await database.read(lambda conn: conn.execute(asked).scalar_one()) == told
    queue.dispose()
    await database.close()

"""The database behind everything that is stored: SQLite or PostgreSQL, behind the same few calls.

Repositories are plain functions over a SQLAlchemy connection; `read` and `write` run them in threads and give them a
transaction. On SQLite all writing goes through one thread that commits in groups; on PostgreSQL each write is its own
transaction, and the ledger has an async pool beside it. Trouble of the database becomes `StorageBusyError` or
`StorageFullError` for who asked from outside; what a run has to store waits (`persist`): storage trouble is not run
trouble.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import sqlalchemy as sa
from sqlalchemy import event

from flyback.domain.errors import StorageBusyError, StorageFullError
from flyback.storage.migrations import migrate
from flyback.storage.sqlite_writer import OnCommit, SqliteWriter, nobody_watches
from flyback.storage.trouble import trouble_of

if TYPE_CHECKING:  # loaded only where PostgreSQL is used
    from psycopg import AsyncConnection
    from psycopg import Connection as PsycopgConnection
    from psycopg_pool import AsyncConnectionPool

T = TypeVar("T")
Durability = Literal["full", "normal"]
"""`normal` gives up the newest commits on a power cut, never on the death of a process. SQLite only."""

_log = logging.getLogger(__name__)

_READERS = 4
DEFAULT_CONNECTIONS = 16
_FIRST_WAIT_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 2.0
_LOCK_WAIT_MS = 5_000
_VACUUM_WAIT_MS = 60_000
_STANDING_STILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _SqliteSettings:
    durability: Durability
    lock_wait_ms: int


@dataclass(frozen=True, slots=True)
class _Shares:
    """How the connections of one process to PostgreSQL are shared out. Two more listen."""

    readers: int
    writers: int
    steps: int
    """For the commits of runs, the busiest part."""
    queue: int

    @classmethod
    def of(cls, connections: int) -> _Shares:
        left = connections - 2
        queue, writers = max(2, left // 4), max(1, left // 6)
        readers = max(2, left // 4)
        return cls(readers, writers, left - queue - writers - readers, queue)


@dataclass(frozen=True, slots=True)
class _Parts:
    readers: Executor
    read_engine: sa.Engine
    writer: SqliteWriter | None
    write_engine: sa.Engine | None
    pool: AsyncConnectionPool[AsyncConnection] | None
    queue_connections: int


class Database:
    """Open it with `await Database.open(url)`, close it with `await database.close()`."""

    def __init__(
        self, url: sa.URL, sqlite_settings: _SqliteSettings, parts: _Parts, *, standing_still_seconds: float
    ) -> None:
        self._url = url
        self._standing_still_seconds = standing_still_seconds
        self._sqlite_settings = sqlite_settings
        self._parts = parts
        self._on_commit: OnCommit = nobody_watches

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        durability: Durability = "full",
        lock_wait_ms: int = _LOCK_WAIT_MS,
        connections: int = DEFAULT_CONNECTIONS,
        standing_still_seconds: float = _STANDING_STILL_SECONDS,
    ) -> Database:
        """Connect and bring the tables up to date.

        `url` is `sqlite:///<file>` or `postgresql://…`. On SQLite a write waits `lock_wait_ms` for another process's
        write lock before it is told that the database is busy. `connections` to PostgreSQL are made at most, 8 at least;
        a transaction there that does nothing for `standing_still_seconds` is ended. Less than a worker's lease: what a
        frozen one has locked is free by the time that another may take it up.

        Raises:
            DatabaseNewerError: a newer Flyback made this database.
            StorageBusyError, StorageFullError: it cannot be reached or written.
        """
        address = _address(url)
        is_sqlite = address.get_backend_name() == "sqlite"
        sqlite_settings = _SqliteSettings(durability, lock_wait_ms)
        parts = (
            _sqlite_parts(address, sqlite_settings)
            if is_sqlite
            else await _postgres_parts(address, _Shares.of(connections), standing_still_seconds)
        )
        database = cls(address, sqlite_settings, parts, standing_still_seconds=standing_still_seconds)
        try:
            if parts.writer is not None:
                await database._in_thread(parts.writer.open)
            await database.write(migrate)
            await database.read(lambda _: None)  # the first connection takes milliseconds, which no run should wait for
        except BaseException:
            await database.close()
            raise
        return database

    @property
    def is_sqlite(self) -> bool:
        return self._parts.writer is not None

    @property
    def pool(self) -> AsyncConnectionPool[AsyncConnection]:
        """PostgreSQL only: connections that commit each statement by itself."""
        assert self._parts.pool is not None
        return self._parts.pool

    def watch_commits(self, on_commit: OnCommit) -> None:
        """From now on, tell of each transaction that is on disk."""
        self._on_commit = on_commit
        if self._parts.writer is not None:
            self._parts.writer.on_commit = on_commit

    @contextmanager
    def counting_commit(self) -> Generator[None]:
        """PostgreSQL only: tell of a transaction that ends with this block."""
        began = time.perf_counter()
        yield
        self._on_commit(1, time.perf_counter() - began)

    async def lone_connection(self) -> AsyncConnection:
        """PostgreSQL only: open one more connection, for who keeps it. Who asks for it closes it."""
        from psycopg import AsyncConnection

        return await AsyncConnection.connect(_psycopg_address(self._url), autocommit=True, connect_timeout=5)

    async def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a function that only reads, in a thread, on one consistent view of the database."""

        def reading() -> T:
            with self._parts.read_engine.connect() as connection:
                return work(connection)

        return await self._in_thread(reading)

    async def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a function in a transaction of its own and return after it is on disk.

        Whatever the function raises undoes its transaction and is raised here. It must not keep rows or the connection.
        """
        if self._parts.writer is not None:
            return await self._parts.writer.write(work)

        def writing() -> T:
            assert self._parts.write_engine is not None
            with self.counting_commit(), self._parts.write_engine.begin() as connection:
                return work(connection)

        return await self._in_thread(writing)

    async def write_raw(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """SQLite only: as `write`, on the driver's own connection."""
        assert self._parts.writer is not None
        return await self._parts.writer.write_raw(work)

    async def persist(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do what has to be stored: while the database is in trouble, wait and try again, without end.

        `work` must recognise by itself what an earlier try has stored.
        """
        wait_seconds = _FIRST_WAIT_SECONDS
        while True:
            try:
                return await work()
            except (StorageBusyError, StorageFullError) as trouble:
                _log.warning("%s Trying again in %.2f s.", trouble.message, wait_seconds)
            await asyncio.sleep(wait_seconds)
            wait_seconds = min(wait_seconds * 2, _LONGEST_WAIT_SECONDS)

    async def vacuum(self) -> None:
        """Give back the room that deleted rows took. On SQLite nobody can write meanwhile."""

        def vacuum() -> None:
            assert self._parts.write_engine is not None
            with self._parts.write_engine.execution_options(isolation_level="AUTOCOMMIT").connect() as conn:
                conn.exec_driver_sql("VACUUM")

        def vacuum_sqlite() -> None:
            with closing(sqlite3.connect(self._url.database or "", isolation_level=None)) as alone:
                alone.execute(f"PRAGMA busy_timeout = {_VACUUM_WAIT_MS}")
                alone.execute("VACUUM")
                alone.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        await self._in_thread(vacuum_sqlite if self.is_sqlite else vacuum)

    def engine_for_queue(self) -> sa.Engine:
        """Return a new engine for the queue's own tables in the same database. Who asks for it disposes of it."""
        if self.is_sqlite:
            return _sqlite_engine(
                self._url, self._sqlite_settings, isolation_level="IMMEDIATE", pool_size=self._parts.queue_connections
            )
        size, still = self._parts.queue_connections, self._standing_still_seconds
        return _postgres_engine(self._url, still, pool_size=size, max_overflow=0, pool_pre_ping=True)

    async def close(self) -> None:
        """Finish what waits and let go of every connection."""
        parts = self._parts
        if parts.pool is not None:
            await parts.pool.close()
        if parts.writer is not None:
            await asyncio.get_running_loop().run_in_executor(parts.readers, parts.writer.close)
        # A connection that a thread still works on is given back, and only then closed with the others.
        parts.readers.shutdown(wait=True)
        parts.read_engine.dispose()
        if parts.write_engine is not None:
            parts.write_engine.dispose()

    @contextmanager
    def naming_trouble(self) -> Generator[None]:
        """Turn a driver's errors into StorageBusyError and StorageFullError where they are that."""
        try:
            yield
        except Exception as error:
            trouble = trouble_of(error)
            if trouble is None or trouble is error:
                raise
            raise trouble from error

    async def _in_thread(self, work: Callable[[], T]) -> T:
        with self.naming_trouble():
            return await asyncio.get_running_loop().run_in_executor(self._parts.readers, work)


def _address(url: str) -> sa.URL:
    address = sa.make_url(url)
    if address.get_backend_name() == "sqlite":
        return address.set(drivername="sqlite+pysqlite")
    return address.set(drivername="postgresql+psycopg")


def _sqlite_parts(address: sa.URL, given: _SqliteSettings) -> _Parts:
    reading = _sqlite_engine(address, given, isolation_level=None, pool_size=_READERS, only_read=True)
    event.listen(reading, "begin", _begin)
    return _Parts(
        readers=ThreadPoolExecutor(_READERS, thread_name_prefix="flyback-read"),
        read_engine=reading,
        writer=SqliteWriter(_sqlite_engine(address, given, isolation_level=None, pool_size=1)),
        write_engine=None,
        pool=None,
        queue_connections=8,
    )


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _sqlite_engine(
    address: sa.URL,
    given: _SqliteSettings,
    *,
    isolation_level: Literal["IMMEDIATE"] | None,
    pool_size: int,
    only_read: bool = False,
) -> sa.Engine:
    engine = sa.create_engine(
        address,
        pool_size=pool_size,
        max_overflow=0,
        connect_args={"check_same_thread": False, "isolation_level": isolation_level, "cached_statements": 512},
    )
    settings = [
        f"PRAGMA busy_timeout = {given.lock_wait_ms}",
        "PRAGMA journal_mode = WAL",
        f"PRAGMA synchronous = {given.durability.upper()}",
        "PRAGMA foreign_keys = ON",
        "PRAGMA temp_store = MEMORY",
        *(["PRAGMA query_only = ON"] if only_read else []),
    ]

    def set_up(driver: sqlite3.Connection, _record: object) -> None:
        for setting in settings:
            driver.execute(setting).close()

    event.listen(engine, "connect", set_up)
    return engine


def _psycopg_address(address: sa.URL) -> str:
    return address.set(drivername="postgresql").render_as_string(hide_password=False)


def _postgres_engine(address: sa.URL, standing_still_seconds: float, **settings: Any) -> sa.Engine:
    """An engine whose transactions the server ends when they stand still: a frozen process keeps no row locked, and no
    table from a migration."""
    from psycopg.sql import SQL

    engine = sa.create_engine(address, **settings)
    standing_still = SQL("SET idle_in_transaction_session_timeout = {}").format(round(standing_still_seconds * 1000))

    def set_up(driver: PsycopgConnection, _: object) -> None:
        driver.execute(standing_still)
        driver.commit()

    event.listen(engine, "connect", set_up)
    return engine


async def _postgres_parts(address: sa.URL, shares: _Shares, still_seconds: float) -> _Parts:
    from psycopg_pool import AsyncConnectionPool

    pool: AsyncConnectionPool[AsyncConnection] = AsyncConnectionPool(
        _psycopg_address(address),
        kwargs={"autocommit": True},
        min_size=1,
        max_size=shares.steps,
        open=False,
        timeout=5,
    )
    await pool.open()
    common = {"max_overflow": 0, "pool_pre_ping": True, "pool_timeout": 5}
    return _Parts(
        readers=ThreadPoolExecutor(shares.readers + shares.writers, thread_name_prefix="flyback-db"),
        read_engine=_postgres_engine(
            address, still_seconds, pool_size=shares.readers, isolation_level="REPEATABLE READ", **common
        ),
        writer=None,
        write_engine=_postgres_engine(address, still_seconds, pool_size=shares.writers, **common),
        pool=pool,
        queue_connections=shares.queue,
    )

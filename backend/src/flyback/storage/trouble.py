"""Tells trouble of the database from faults of our own.

Trouble passes: the database is away, locked by another writer, or its disk is full. Who asked is told to come back, and
what the engine has to store waits and is tried again. Everything else is a fault and is let through as it is.
"""

from __future__ import annotations

import sqlite3
import sys

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from flyback.domain.errors import FlybackError, StorageBusyError, StorageFullError

_PRIMARY = 0xFF
"""The low byte of an extended result code of SQLite is its primary one."""
_SQLITE_TROUBLE = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL}
)
_PASSING_STATES = frozenset({"08", "53", "57", "58", "40", "55", "25"})
"""Classes of SQLSTATE that pass: connection, resources, operator, system, serialisation, lock, read-only (fail-over)."""


def busy() -> StorageBusyError:
    return StorageBusyError(
        "The database cannot be reached or is locked at the moment.",
        fix="Nothing was stored. Try again in a few seconds.",
    )


def full() -> StorageFullError:
    return StorageFullError(
        "The disk of the database is full.",
        fix="Nothing was stored. Free some space on the disk that holds the data folder, then try again.",
    )


def trouble_of(error: BaseException) -> FlybackError | None:
    """Return the trouble that an exception of a driver stands for, or None where it is none."""
    if isinstance(error, StorageBusyError | StorageFullError):
        return error
    if isinstance(error, PoolTimeoutError):
        return busy()
    if isinstance(error, DBAPIError):
        return trouble_of(error.orig) if error.orig is not None else None
    if isinstance(error, sqlite3.OperationalError):
        return _sqlite_trouble(error)
    return _postgres_trouble(error) if "psycopg" in sys.modules else None


def _sqlite_trouble(error: sqlite3.OperationalError) -> FlybackError | None:
    # An error that the Python module raises by itself carries no code.
    code = error.__dict__.get("sqlite_errorcode", 0) & _PRIMARY
    if code == sqlite3.SQLITE_FULL:
        return full()
    return busy() if code in _SQLITE_TROUBLE else None


def _postgres_trouble(error: BaseException) -> FlybackError | None:
    from psycopg import Error, InterfaceError, OperationalError

    if not isinstance(error, Error):
        return None
    if error.sqlstate == "53100":
        return full()
    if error.sqlstate is not None:
        return busy() if error.sqlstate[:2] in _PASSING_STATES else None
    return busy() if isinstance(error, OperationalError | InterfaceError) else None

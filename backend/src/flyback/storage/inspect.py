"""Looks at a database from outside and changes nothing: not even its tables, which a start would bring up to date."""

from __future__ import annotations

import time
from dataclasses import dataclass

import sqlalchemy as sa

from flyback.domain.errors import FlybackError
from flyback.storage import migrations, workers
from flyback.storage import tables as t
from flyback.storage.trouble import trouble_of

_LIVES_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DatabaseState:
    is_current: bool
    """False where an older program made it, or none yet."""
    clock_ahead_seconds: float
    """The database's clock against this machine's."""
    workers: int
    open_runs: int


def look_at(url: str) -> DatabaseState:
    """Raises StorageBusyError: it cannot be reached. DatabaseNewerError."""
    address = sa.make_url(url)
    if address.get_backend_name() == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, poolclass=sa.NullPool)
    try:
        with engine.connect() as conn:
            return _state(conn)
    except FlybackError:
        raise
    except Exception as error:
        trouble = trouble_of(error)
        if trouble is None:
            raise
        raise trouble from error
    finally:
        engine.dispose()


def _state(conn: sa.Connection) -> DatabaseState:
    ahead = conn.execute(sa.select(workers.database_seconds(conn))).scalar_one() - time.time()
    if not migrations.is_current(conn):
        return DatabaseState(False, ahead, 0, 0)
    open_runs = sa.select(sa.func.count()).where(t.workflow_runs.c.status.in_(("PENDING", "RUNNING")))
    living = len(workers.living(conn, _LIVES_SECONDS))
    return DatabaseState(True, ahead, living, conn.execute(open_runs).scalar_one())

"""The rows that a run is read from, and what their columns hold. A large output lies in a blob of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.errors import NotFoundError
from flyback.domain.json_value import loads
from flyback.domain.run import Mode, RunId
from flyback.domain.wire import Wire
from flyback.storage.tables import blobs, workflow_run_visits

Row = sa.RowMapping
NO_USAGE: Wire = {"inputTokens": 0, "outputTokens": 0, "calls": 0, "cost": None, "currency": None}


@dataclass(frozen=True, slots=True)
class FoundRun:
    """The run that a read is about: its key, and what its parts are read with."""

    key: int
    run_id: RunId
    mode: Mode
    row: Row


def visit_row(conn: sa.Connection, run: FoundRun, visit_id: str) -> Row:
    """Return the row of a visit. Raises NotFoundError."""
    query = sa.select(workflow_run_visits).where(
        workflow_run_visits.c.run_id == run.key, workflow_run_visits.c.visit_uuid == visit_id
    )
    row = conn.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"The run {run.run_id!r} has no visit {visit_id!r}.")
    return row


def output_of(conn: sa.Connection, row: Row) -> Wire | None:
    """Return the whole output of a visit or node, None where it gave none."""
    if row["output_blob"] is None:
        return object_of(row["output_json"])
    content = conn.execute(sa.select(blobs.c.content).where(blobs.c.hash == row["output_blob"])).scalar_one()
    return required_object(content)


def output_size(conn: sa.Connection, row: Row) -> int:
    """Return how many bytes the whole output takes, without reading it."""
    if row["output_blob"] is None:
        return len(row["output_json"].encode())
    return conn.execute(sa.select(blobs.c.size_bytes).where(blobs.c.hash == row["output_blob"])).scalar_one()


def json_of(text: str | None) -> JsonValue:
    return None if text is None else loads(text)


def object_of(text: str | None) -> Wire | None:
    return None if text is None else required_object(text)


def required_object(text: str | bytes) -> Wire:
    return cast("Wire", loads(text))

"""Writes a commit on SQLite: statements one after another on the driver's own connection, in the writer thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache

from flyback.storage.ledger.rows import CALL_COLUMNS, NODE_COLUMNS, PAUSE_COLUMNS, STARTED_COLUMNS, CommitRows, Scalar


def store(raw: sqlite3.Connection, rows: CommitRows) -> bool:
    """Write everything, or nothing: False where the run is not the driver's, or not at the step before."""
    parameters: tuple[Scalar, ...] = (
        len(rows.events),
        rows.step,
        *rows.run.values(),
        rows.run_id,
        rows.epoch,
        rows.step - 1,
    )
    if rows.rests_at is not None:
        parameters = (*parameters, rows.rests_at)
    run = raw.execute(_update_run(tuple(rows.run), rests=rows.rests_at is not None), parameters).fetchone()
    if run is None:
        return False
    run_id, last_event = run
    for blob in rows.blobs:
        raw.execute(
            "INSERT INTO blobs (hash, content, size_bytes, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (blob.hash, blob.content, len(blob.content), rows.created_at),
        )
    for visit_id, columns in rows.visits.items():
        raw.execute(_update_visit(tuple(columns)), (*columns.values(), visit_id, run_id))
    if rows.started is not None:
        raw.execute(_START, (run_id, *rows.started))
    if rows.nodes:
        raw.executemany(_NODE, [(run_id, *node) for node in rows.nodes])
    for node_id, visit_id in rows.cleared:
        raw.execute(_CLEAR, (run_id, node_id, visit_id))
    if rows.calls:
        raw.executemany(_CALL, [(run_id, *call) for call in rows.calls])
    if rows.pauses:
        raw.executemany(_PAUSE, [(run_id, *pause) for pause in rows.pauses])
    insert_events(raw, run_id, last_event - len(rows.events) + 1, rows.events, rows.created_at)
    if rows.ends:
        raw.execute("UPDATE workflow_pauses SET status = 'CANCELLED' WHERE run_id = ? AND status = 'OPEN'", (run_id,))
    return True


def insert_events(
    raw: sqlite3.Connection, run_id: int, first: int, events: Sequence[tuple[str, str]], created_at: str
) -> None:
    values = [(run_id, seq, kind, data, created_at) for seq, (kind, data) in enumerate(events, first)]
    if len(values) == 1:
        raw.execute(_EVENT, values[0])
    else:
        raw.executemany(_EVENT, values)


@lru_cache(maxsize=64)
def _update_run(columns: tuple[str, ...], *, rests: bool) -> str:
    unanswered = "AND last_event = ? " if rests else ""
    return (
        "UPDATE workflow_runs SET last_event = last_event + ?, step = ?, "
        f"{_assignments(columns)} WHERE run_uuid = ? AND epoch = ? AND step = ? AND status = 'RUNNING' "
        f"{unanswered}RETURNING id, last_event"
    )


@lru_cache(maxsize=64)
def _update_visit(columns: tuple[str, ...]) -> str:
    return f"UPDATE workflow_run_visits SET {_assignments(columns)} WHERE visit_uuid = ? AND run_id = ?"


def _assignments(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = ?" for column in columns)


def _insert(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" * (len(columns) + 1))
    return f"INSERT INTO {table} (run_id, {', '.join(columns)}) VALUES ({marks})"


_START = _insert("workflow_run_visits", STARTED_COLUMNS)
_CALL = _insert("workflow_visit_steps", CALL_COLUMNS)
_PAUSE = _insert("workflow_pauses", PAUSE_COLUMNS)
_CLEAR = "DELETE FROM workflow_visit_steps WHERE run_id = ? AND node_id = ? AND visit_uuid IS ? AND kind = 'journal'"
_EVENT = _insert("workflow_run_events", ("seq", "type", "data_json", "created_at"))
_NODE = (
    _insert("workflow_run_nodes", NODE_COLUMNS)
    + " ON CONFLICT (run_id, node_id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in NODE_COLUMNS[1:])
)

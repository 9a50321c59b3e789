"""Writes a commit on PostgreSQL: one statement, whose first part is lock, fence and numbering of all the others.

Lists go over in binary form (`%b`): as text they would be escaped quote by quote, and JSON is full of quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, LiteralString, cast

from flyback.storage.ledger.rows import CALL_COLUMNS, NODE_COLUMNS, PAUSE_COLUMNS, STARTED_COLUMNS, CommitRows, Scalar

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

_WHOLE_NUMBERS = frozenset({"attempt", "attempts", "iter_seq", "n", "sort_order"})


async def store(connection: AsyncConnection, rows: CommitRows) -> bool:
    """Write everything, or nothing: False where the run is not the driver's, or not at the step before."""
    cursor = await connection.execute(*_command(rows))
    return await cursor.fetchone() is not None


def store_within(connection: Connection, rows: CommitRows) -> bool:
    """The same, in a transaction of the caller's."""
    return connection.execute(*_command(rows)).fetchone() is not None


def _command(rows: CommitRows) -> tuple[LiteralString, dict[str, object]]:
    visits = [(visit_id, columns) for visit_id, columns in rows.visits.items()]
    statement = _statement(
        tuple(rows.run),
        tuple(tuple(columns) for _, columns in visits),
        rows.started is not None,
        bool(rows.nodes),
        bool(rows.calls),
        bool(rows.blobs),
        bool(rows.pauses),
        bool(rows.cleared),
        rows.rests_at is not None,
        rows.ends,
    )
    parameters: dict[str, object] = {
        "k": len(rows.events),
        "run": rows.run_id,
        "epoch": rows.epoch,
        "step": rows.step,
        "now": rows.created_at,
        "event_types": [kind for kind, _ in rows.events],
        "event_data": [data for _, data in rows.events],
    }
    parameters.update({f"run_{column}": value for column, value in rows.run.items()})
    for place, (visit_id, columns) in enumerate(visits):
        parameters[f"v{place}"] = visit_id
        parameters.update({f"v{place}_{column}": value for column, value in columns.items()})
    if rows.started is not None:
        parameters.update(zip((f"started_{column}" for column in STARTED_COLUMNS), rows.started, strict=True))
    if rows.nodes:
        parameters.update(_arrays("nodes", NODE_COLUMNS, rows.nodes))
    if rows.calls:
        parameters.update(_arrays("calls", CALL_COLUMNS, rows.calls))
    if rows.pauses:
        parameters.update(_arrays("asked", PAUSE_COLUMNS, rows.pauses))
    if rows.cleared:
        parameters["cleared_node"] = [node_id for node_id, _ in rows.cleared]
        parameters["cleared_visit"] = [visit_id for _, visit_id in rows.cleared]
    if rows.rests_at is not None:
        parameters["rests_at"] = rows.rests_at
    if rows.blobs:
        parameters["blob_hash"] = [blob.hash for blob in rows.blobs]
        parameters["blob_content"] = [blob.content for blob in rows.blobs]
    return statement, parameters


def _arrays(name: str, columns: Sequence[str], rows: Sequence[tuple[Scalar, ...]]) -> dict[str, object]:
    return {f"{name}_{column}": [row[place] for row in rows] for place, column in enumerate(columns)}


@lru_cache(maxsize=128)
def _statement(
    run: tuple[str, ...],
    visits: tuple[tuple[str, ...], ...],
    starts: bool,
    nodes: bool,
    calls: bool,
    blobs: bool,
    pauses: bool,
    cleared: bool,
    rests: bool,
    ends: bool,
) -> LiteralString:
    """Make the text of a commit of this shape. It holds column names of ours and no value."""
    parts = [_run_part(run, rests=rests), _EVENTS]
    parts += [_visit_part(place, columns) for place, columns in enumerate(visits)]
    if starts:
        values = ", ".join(f"%(started_{column})s" for column in STARTED_COLUMNS)
        names = ", ".join(STARTED_COLUMNS)
        parts.append(f"started AS (INSERT INTO workflow_run_visits (run_id, {names}) SELECT run.id, {values} FROM run)")
    if nodes:
        overwritten = ", ".join(f"{column} = excluded.{column}" for column in NODE_COLUMNS[1:])
        conflict = f" ON CONFLICT (run_id, node_id) DO UPDATE SET {overwritten}"
        parts.append(_rows_part("nodes", "workflow_run_nodes", NODE_COLUMNS, conflict))
    if calls:
        parts.append(_rows_part("calls", "workflow_visit_steps", CALL_COLUMNS, ""))
    if pauses:
        parts.append(_rows_part("asked", "workflow_pauses", PAUSE_COLUMNS, ""))
    if cleared:
        parts.append(_CLEARED)
    if blobs:
        parts.append(_BLOBS)
    if ends:
        parts.append(_PAUSES)
    text = "WITH " + ",\n".join(parts) + "\nSELECT last_event FROM run"
    return cast("LiteralString", text)


def _run_part(columns: tuple[str, ...], *, rests: bool) -> str:
    unanswered = "AND last_event = %(rests_at)s " if rests else ""
    assignments = ", ".join(f"{column} = %(run_{column})s" for column in columns)
    return (
        f"run AS (UPDATE workflow_runs SET last_event = last_event + %(k)s, step = %(step)s, {assignments} "
        "WHERE run_uuid = %(run)s AND epoch = %(epoch)s AND step = %(step)s - 1 "
        f"AND status = 'RUNNING' {unanswered}RETURNING id, last_event)"
    )


def _visit_part(place: int, columns: tuple[str, ...]) -> str:
    assignments = ", ".join(f"{column} = %(v{place}_{column})s" for column in columns)
    return (
        f"visit{place} AS (UPDATE workflow_run_visits SET {assignments} FROM run "
        f"WHERE run_id = run.id AND visit_uuid = %(v{place})s)"
    )


def _rows_part(name: str, table: str, columns: Sequence[str], conflict: str) -> str:
    names = ", ".join(columns)
    arrays = ", ".join(f"%({name}_{column})b::{'int' if column in _WHOLE_NUMBERS else 'text'}[]" for column in columns)
    return (
        f"{name} AS (INSERT INTO {table} (run_id, {names}) SELECT run.id, given.* "
        f"FROM run, unnest({arrays}) AS given{conflict})"
    )


_EVENTS = (
    "events AS (INSERT INTO workflow_run_events (run_id, seq, type, data_json, created_at) "
    "SELECT run.id, run.last_event - %(k)s + given.place, given.type, given.data, %(now)s "
    "FROM run, unnest(%(event_types)b::text[], %(event_data)b::text[]) WITH ORDINALITY AS given(type, data, place))"
)
_BLOBS = (
    "blobs AS (INSERT INTO blobs (hash, content, size_bytes, created_at) "
    "SELECT given.hash, given.content, length(given.content), %(now)s "
    "FROM run, unnest(%(blob_hash)b::text[], %(blob_content)b::bytea[]) AS given(hash, content) "
    # One that is there is touched, so that it cannot be deleted meanwhile as one that nothing names.
    "ON CONFLICT (hash) DO UPDATE SET created_at = excluded.created_at)"
)
_CLEARED = (
    "cleared AS (DELETE FROM workflow_visit_steps USING run, "
    "unnest(%(cleared_node)b::text[], %(cleared_visit)b::text[]) AS given(node_id, visit_uuid) "
    "WHERE workflow_visit_steps.run_id = run.id AND workflow_visit_steps.node_id = given.node_id "
    "AND workflow_visit_steps.visit_uuid IS NOT DISTINCT FROM given.visit_uuid AND kind = 'journal')"
)
_PAUSES = (
    "pauses AS (UPDATE workflow_pauses SET status = 'CANCELLED' FROM run WHERE run_id = run.id AND status = 'OPEN')"
)

"""The workspace after a visit, put together from the inputs and the outputs that the visits gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.errors import StateCorruptError
from flyback.domain.json_value import loads
from flyback.domain.wire import Wire
from flyback.domain.workspace import FROM_INPUTS, SEPARATOR
from flyback.storage.run_reads.rows import FoundRun, Row, output_of, required_object, visit_row
from flyback.storage.tables import workflow_run_visits


def run_inputs(run: FoundRun) -> Wire:
    return required_object(run.row["inputs_json"])


def workspace_of(conn: sa.Connection, run: FoundRun, visit_id: str) -> Wire:
    """The whole workspace after a visit, in the order last written: rebuilt from the envelopes, however large."""
    row = visit_row(conn, run, visit_id)
    query = sa.select(workflow_run_visits).where(
        workflow_run_visits.c.run_id == run.key, workflow_run_visits.c.sort_order <= row["sort_order"]
    )
    rows = conn.execute(query.order_by(workflow_run_visits.c.sort_order)).mappings().all()
    return workspaces(conn, run, rows, [rows[-1]])[visit_id]


def writers_of(conn: sa.Connection, run: FoundRun, visit_id: str) -> Mapping[str, int]:
    """Workspace key to the `sort_order` of the visit that wrote it, as of this visit or the last before it that ended."""
    row = visit_row(conn, run, visit_id)
    return _writers(conn, run, row["sort_order"])


def workspaces(conn: sa.Connection, run: FoundRun, rows: Sequence[Row], wanted: Iterable[Row]) -> dict[str, Wire]:
    """Visit id to its whole workspace. `rows` are all visits up to the last wanted one."""
    inputs = run_inputs(run)
    by_order = {row["sort_order"]: row for row in rows}
    edits = {row["sort_order"]: required_object(row["edited_json"]) for row in rows if row["edited_json"] is not None}
    outputs: dict[int, Wire] = {}

    def value(key: str, writer: int, at: int) -> JsonValue:
        if writer == FROM_INPUTS:
            edited = [edit for order, edit in edits.items() if order <= at and key in edit]
            return (edited[-1] if edited else inputs)[key]
        row = by_order[writer]
        if writer not in outputs:
            outputs[writer] = cast("Wire", (output_of(conn, row) or {})["data"])
        return outputs[writer][key.removeprefix(row["node_id"] + SEPARATOR)]

    try:
        return {
            row["visit_uuid"]: {
                key: value(key, writer, row["sort_order"])
                for key, writer in _writers(conn, run, row["sort_order"]).items()
            }
            for row in wanted
        }
    except (KeyError, ValueError) as error:
        raise StateCorruptError(
            f"The workspace of run {run.run_id!r} cannot be read: {error}.", fix="Restore the database from a backup."
        ) from error


def _writers(conn: sa.Connection, run: FoundRun, sort_order: int) -> Mapping[str, int]:
    columns = workflow_run_visits.c
    query = (
        sa.select(columns.writers_json)
        .where(columns.run_id == run.key, columns.sort_order <= sort_order, columns.writers_json.is_not(None))
        .order_by(columns.sort_order.desc())
        .limit(1)
    )
    stored = conn.execute(query).scalar_one_or_none()
    if stored is not None:
        return cast("Mapping[str, int]", loads(stored))
    return dict.fromkeys(run_inputs(run), FROM_INPUTS)

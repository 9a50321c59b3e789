"""What a fork shares with the run that it was forked from: copied by reference when the fork is accepted.

Visits keep everything but their ids; outputs too large for a row lie in blobs, which both runs name. Their events come
again behind `run_started`, marked `shared`, so that whoever reads the fork's stream knows its route from the start. What
only tells how the other run went on (it paused, it ended) is left out, and so is the decision after the last shared visit:
the fork makes its own. Their calls come along, for a script goes on where they end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain import json_value
from flyback.domain.errors import NotFoundError
from flyback.domain.events import TERMINAL, EventType
from flyback.domain.run import VisitId
from flyback.storage import tables as t

_OF_THE_RUN = frozenset({*TERMINAL, EventType.RUN_STARTED, EventType.RUN_PAUSED, EventType.RUN_RESUMED})
_VISIT_IDS = ("visitId", "fromVisitId")


@dataclass(frozen=True, slots=True)
class Fork:
    """From which visit on a run goes its own way."""

    origin: int
    """The key of the other run."""
    visit_id: VisitId
    """The last visit that is shared."""
    shared: Mapping[VisitId, VisitId]
    """Each visit that is shared, in order, to its id in the fork."""
    edits: Mapping[str, JsonValue]
    """What was written over the workspace after the last of them."""
    writers: Mapping[str, int]
    """Who wrote each key of that workspace."""


def share(conn: sa.Connection, row_id: int, fork: Fork, *, created_at: str) -> None:
    """Give an accepted run its shared past. Raises NotFoundError where the other run is gone by now."""
    r = t.workflow_runs.c
    # Nobody forgets the other run meanwhile; whoever drives it is not held up.
    held = sa.select(r.id).where(r.id == fork.origin).with_for_update(read=True, key_share=True)
    if conn.execute(held).scalar_one_or_none() is None:
        raise NotFoundError("The run that was to be forked is gone.", fix="Look it up in the list of runs.")
    _share_visits(conn, row_id, fork)
    _keep_blobs(conn, row_id, created_at)
    _share_calls(conn, row_id, fork)
    last_event = _share_events(conn, row_id, fork, created_at)
    told = {"visit_count": len(fork.shared), "last_event": last_event}
    conn.execute(sa.update(t.workflow_runs).where(r.id == row_id).values(told))


def _share_visits(conn: sa.Connection, row_id: int, fork: Fork) -> None:
    before: VisitId | None = None
    for origin, visit_id in fork.shared.items():
        own: dict[str, object] = {
            "run_id": row_id,
            "visit_uuid": visit_id,
            "from_visit_uuid": before,
            "origin_visit_uuid": origin,
        }
        if origin == fork.visit_id:
            own |= {
                "decision_json": None,
                "variables_json": None,
                "variables_truncated": False,
                "writers_json": json_value.dumps(dict(fork.writers)),
                "edited_json": json_value.dumps(dict(fork.edits)) if fork.edits else None,
            }
        v = t.workflow_run_visits.c
        _copy(conn, t.workflow_run_visits, own, v.run_id == fork.origin, v.visit_uuid == origin)
        before = visit_id


def _keep_blobs(conn: sa.Connection, row_id: int, created_at: str) -> None:
    """Touch the outputs that have one more run to name them, so that they are not forgotten before this is stored."""
    v, b = t.workflow_run_visits.c, t.blobs.c
    named = sa.select(v.output_blob).where(v.run_id == row_id, v.output_blob.is_not(None))
    conn.execute(sa.update(t.blobs).where(b.hash.in_(named)).values(created_at=created_at))


def _share_calls(conn: sa.Connection, row_id: int, fork: Fork) -> None:
    s = t.workflow_visit_steps.c
    for origin, visit_id in fork.shared.items():
        where = [s.run_id == fork.origin, s.visit_uuid == origin, s.kind.in_(("model", "tool"))]
        if origin == fork.visit_id:
            where.append(s.role != "planner")
        _copy(conn, t.workflow_visit_steps, {"run_id": row_id, "visit_uuid": visit_id}, *where)


def _copy(conn: sa.Connection, table: sa.Table, own: Mapping[str, object], *where: sa.ColumnElement[bool]) -> None:
    """Insert the rows again with some columns of their own."""
    columns = [column for column in table.c if column.name != "id"]
    values = [
        sa.literal(own[column.name], column.type).label(column.name) if column.name in own else column
        for column in columns
    ]
    found = sa.select(*values).where(*where).order_by(table.c.id)
    conn.execute(sa.insert(table).from_select([column.name for column in columns], found))


def _share_events(conn: sa.Connection, row_id: int, fork: Fork, created_at: str) -> int:
    """Tell the shared visits again; return the number of the last event."""
    e = t.workflow_run_events.c
    rows = conn.execute(sa.select(e.type, e.data_json).where(e.run_id == fork.origin).order_by(e.seq))
    seq = 1
    for row in rows:
        kind = EventType(row.type)
        if kind in _OF_THE_RUN:
            continue
        data = cast("dict[str, JsonValue]", json_value.loads(row.data_json))
        is_last = kind is EventType.VISIT_RECORDED and data["visitId"] == fork.visit_id
        seq += 1
        told = {
            "run_id": row_id,
            "seq": seq,
            "type": kind.value,
            "data_json": json_value.dumps(_shared(data, fork, edited=is_last)),
            "created_at": created_at,
        }
        conn.execute(sa.insert(t.workflow_run_events).values(told))
        if is_last:
            break
    return seq


def _shared(data: dict[str, JsonValue], fork: Fork, *, edited: bool) -> dict[str, JsonValue]:
    ids = {
        name: fork.shared.get(VisitId(visit_id), visit_id)
        for name in _VISIT_IDS
        if isinstance(visit_id := data.get(name), str)
    }
    told = {**data, **ids, "shared": True}
    call_id = data.get("callId")
    if isinstance(call_id, str):
        visit_id, slash, call = call_id.partition("/")
        told["callId"] = f"{fork.shared.get(VisitId(visit_id), visit_id)}{slash}{call}"
    if edited and fork.edits:
        told["edited"] = list(fork.edits)
    return told

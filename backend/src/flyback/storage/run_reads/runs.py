"""Which runs somebody has: one by its id, a page of them, and those that run inside one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from flyback.domain.errors import NotFoundError
from flyback.domain.json_value import loads
from flyback.domain.run import Mode, RunId
from flyback.domain.wire import Wire
from flyback.storage.run_reads.routes import routes
from flyback.storage.run_reads.rows import NO_USAGE, FoundRun, Row, json_of, object_of
from flyback.storage.tables import workflow_runs


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What a list of runs is narrowed to. Times are ISO-8601 text as stored; `text` is looked for in name, id and error."""

    status: Sequence[str] = ()
    mode: str | None = None
    workflow_id: str | None = None
    text: str | None = None
    parent: str | None = None
    """A run whose sub-runs are listed; without one no sub-runs are."""
    fork_of: str | None = None
    since: str | None = None
    until: str | None = None


def find(conn: sa.Connection, owner_id: str, run_id: str) -> FoundRun:
    """Return a run of this owner. Raises NotFoundError."""
    query = sa.select(workflow_runs).where(workflow_runs.c.run_uuid == run_id, workflow_runs.c.owner_id == owner_id)
    row = conn.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"There is no run {run_id!r}.", fix="Look it up in the list of runs.")
    return FoundRun(row["id"], RunId(row["run_uuid"]), Mode(row["mode"]), row)


def find_by_prefix(conn: sa.Connection, owner_id: str, prefix: str) -> Sequence[str]:
    """Return up to two ids of runs that begin with a prefix."""
    column = workflow_runs.c.run_uuid
    query = sa.select(column).where(workflow_runs.c.owner_id == owner_id, column.startswith(prefix, autoescape=True))
    return list(conn.execute(query.limit(2)).scalars())


def page(
    conn: sa.Connection, owner_id: str, wanted: RunFilter, *, after: int | None, limit: int
) -> tuple[list[Wire], int | None, int]:
    """Return one page of runs, newest first, the key behind which the next page begins, and how many there are in all."""
    where = _conditions(owner_id, wanted)
    total = conn.execute(sa.select(sa.func.count()).select_from(workflow_runs).where(*where)).scalar_one()
    if after is not None:
        where.append(workflow_runs.c.id < after)
    query = sa.select(*_LISTED).where(*where).order_by(workflow_runs.c.id.desc()).limit(limit + 1)
    rows = conn.execute(query).mappings().all()
    more = rows[limit - 1]["id"] if len(rows) > limit else None
    found = routes(conn, {row["id"]: Mode(row["mode"]) for row in rows[:limit]})
    return [{**run_on_wire(row), **found[row["id"]]} for row in rows[:limit]], more, total


def children(conn: sa.Connection, run: FoundRun) -> list[Wire]:
    """The runs that this one's nodes started, place by place, items in order: the last thousand of them."""
    runs = workflow_runs.c
    mine = (runs.parent_run_id == run.run_id, runs.root_run_id.is_not(None))
    columns = [runs[name] for name in _CHILD]
    rows = conn.execute(sa.select(*columns).where(*mine).order_by(runs.id.desc()).limit(_MOST_CHILDREN)).mappings()
    found = list(reversed(rows.all()))
    places: dict[tuple[str, str | None], int] = {}
    for row in found:
        places.setdefault((row["parent_node_id"], row["parent_visit_uuid"]), len(places))
    found.sort(key=lambda row: (places[row["parent_node_id"], row["parent_visit_uuid"]], row["item_index"]))
    return [{wire: row[name] for name, wire in _CHILD.items()} for row in found]


def run_on_wire(row: Row) -> Wire:
    failure = object_of(row["error_json"]) or {}
    return {
        "runId": row["run_uuid"],
        "workflowId": row["workflow_id"],
        "workflowName": row["workflow_name"],
        "version": row["version"],
        "mode": row["mode"],
        "status": row["status"],
        "inputs": loads(row["inputs_json"]),
        "outputs": json_of(row["outputs_json"]) or [],
        "visitCount": row["visit_count"],
        "usage": json_of(row["usage_json"]) or {**NO_USAGE, "planner": NO_USAGE},
        "errorCode": row["error_code"],
        "errorMsg": row["error_msg"],
        "errorNodeId": failure.get("node"),
        "errorPath": failure.get("path"),
        "partial": failure.get("partial"),
        "parentRunId": row["parent_run_id"],
        "rootRunId": row["root_run_id"],
        "parentNodeId": row["parent_node_id"],
        "parentVisitId": row["parent_visit_uuid"],
        "itemIndex": row["item_index"],
        "itemCount": row["item_count"],
        "forkedFromVisit": row["forked_from_visit"],
        "warnings": json_of(row["warnings_json"]) or [],
        "createdAt": row["created_at"],
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
    }


_LISTED = [column for column in workflow_runs.c if column.name not in ("graph_data", "options_json")]


def _conditions(owner_id: str, wanted: RunFilter) -> list[sa.ColumnElement[bool]]:
    runs = workflow_runs.c
    where = [runs.owner_id == owner_id]
    if wanted.parent is None:
        where.append(runs.root_run_id.is_(None))
    else:
        where += [runs.root_run_id.is_not(None), runs.parent_run_id == wanted.parent]
    if wanted.status:
        where.append(runs.status.in_(wanted.status))
    if wanted.mode is not None:
        where.append(runs.mode == wanted.mode)
    if wanted.workflow_id is not None:
        where.append(runs.workflow_id == wanted.workflow_id)
    if wanted.fork_of is not None:
        where += [runs.forked_from_visit.is_not(None), runs.parent_run_id == wanted.fork_of]
    if wanted.since is not None:
        where.append(runs.created_at >= wanted.since)
    if wanted.until is not None:
        where.append(runs.created_at < wanted.until)
    if wanted.text:
        columns = (runs.workflow_name, runs.run_uuid, runs.error_msg)
        where.append(sa.or_(*(column.icontains(wanted.text, autoescape=True) for column in columns)))
    return where


_MOST_CHILDREN = 1_000

_CHILD = {
    "run_uuid": "runId",
    "workflow_id": "workflowId",
    "workflow_name": "workflowName",
    "parent_node_id": "nodeId",
    "parent_visit_uuid": "visitId",
    "item_index": "index",
    "item_count": "count",
    "status": "status",
    "error_code": "errorCode",
    "started_at": "startedAt",
    "finished_at": "finishedAt",
}

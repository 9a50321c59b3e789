"""What runs have asked people, and what these answered."""

from __future__ import annotations

import sqlalchemy as sa

from flyback.domain.errors import NotFoundError
from flyback.domain.json_value import loads
from flyback.domain.wire import Wire
from flyback.storage.run_reads.rows import FoundRun, Row, json_of
from flyback.storage.tables import workflow_pauses, workflow_run_nodes, workflow_run_visits, workflow_runs


def pauses(conn: sa.Connection, run: FoundRun) -> list[Wire]:
    """What a run has asked people, and what the runs inside it have, in the order it was asked."""
    query = _asked().where(workflow_pauses.c.run_id.in_(_with_inner_runs(run)))
    rows = conn.execute(query.order_by(workflow_pauses.c.created_at)).mappings()
    return [_pause_on_wire(row) for row in rows]


def pauses_of_owner(conn: sa.Connection, owner_id: str, *, status: str | None, limit: int) -> list[Wire]:
    """The inbox: what waits for a person over all runs, oldest first."""
    query = _asked().where(workflow_runs.c.owner_id == owner_id)
    if status is not None:
        query = query.where(workflow_pauses.c.status == status)
    rows = conn.execute(query.order_by(workflow_pauses.c.created_at).limit(limit)).mappings()
    return [_pause_on_wire(row) for row in rows]


def pause(conn: sa.Connection, owner_id: str, pause_id: str) -> Wire:
    """One question to a person. Raises NotFoundError."""
    query = _asked().where(workflow_runs.c.owner_id == owner_id, workflow_pauses.c.id == pause_id)
    row = conn.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"There is no question {pause_id[:100]!r}.", fix="See what waits for you: GET /api/pauses.")
    return _pause_on_wire(row)


def _asked() -> sa.Select[tuple[object, ...]]:
    """Every question to a person, with the run that it belongs to and the name of the node that asks."""
    runs, asked, visits, nodes = workflow_runs.c, workflow_pauses.c, workflow_run_visits.c, workflow_run_nodes.c
    label = sa.func.coalesce(visits.node_label, nodes.node_label, asked.node_id).label("node_label")
    return (
        sa.select(workflow_pauses, runs.run_uuid, runs.root_run_id, runs.workflow_id, runs.workflow_name, label)
        .join(workflow_runs, runs.id == asked.run_id)
        .outerjoin(workflow_run_visits, sa.and_(visits.run_id == asked.run_id, visits.visit_uuid == asked.visit_uuid))
        .outerjoin(workflow_run_nodes, sa.and_(nodes.run_id == asked.run_id, nodes.node_id == asked.node_id))
        .where(asked.kind != "subRun")
    )


def _with_inner_runs(run: FoundRun) -> sa.Select[tuple[int]]:
    """The keys of a run and of all runs inside it, at every depth."""
    runs, inner = workflow_runs.c, workflow_runs.alias().c
    whole = sa.select(runs.id, runs.run_uuid).where(runs.id == run.key).cte(recursive=True)
    below = sa.select(inner.id, inner.run_uuid).where(
        inner.parent_run_id == whole.c.run_uuid, inner.root_run_id.is_not(None)
    )
    return sa.select(whole.union_all(below).c.id)


def _pause_on_wire(row: Row) -> Wire:
    return {
        "pauseId": row["id"],
        "runId": row["run_uuid"],
        "rootRunId": row["root_run_id"],
        "workflowId": row["workflow_id"],
        "workflowName": row["workflow_name"],
        "nodeId": row["node_id"],
        "nodeLabel": row["node_label"],
        "visitId": row["visit_uuid"],
        "kind": row["kind"],
        "status": row["status"],
        "prompt": row["prompt"],
        "questions": loads(row["questions_json"]),
        "actions": loads(row["actions_json"]),
        "onTimeout": row["on_timeout"],
        "expiresAt": row["expires_at"],
        "createdAt": row["created_at"],
        "answers": json_of(row["answers_json"]),
        "action": row["action"],
        "answeredBy": row["answered_by"],
        "answeredAt": row["answered_at"],
    }

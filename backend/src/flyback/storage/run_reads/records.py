"""What a run has on record, place by place: its visits, its nodes and the calls that they made.

What is shown of an output among others is cut by whole values at 64 KiB; one visit or node is read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import sqlalchemy as sa

from flyback.domain.errors import NotFoundError
from flyback.domain.json_value import loads
from flyback.domain.run import Mode
from flyback.domain.snapshot import LIMIT_BYTES, cut_values
from flyback.domain.wire import Wire
from flyback.storage.run_reads.rows import (
    NO_USAGE,
    FoundRun,
    Row,
    json_of,
    output_of,
    output_size,
    required_object,
    visit_row,
)
from flyback.storage.run_reads.workspaces import workspace_of, workspaces
from flyback.storage.tables import workflow_run_nodes, workflow_run_visits, workflow_visit_steps


def visits(conn: sa.Connection, run: FoundRun) -> list[Wire]:
    """Every visit in order; `variables` and `output` are cut at 64 KiB each and marked."""
    query = sa.select(workflow_run_visits).where(workflow_run_visits.c.run_id == run.key)
    rows = conn.execute(query.order_by(workflow_run_visits.c.sort_order)).mappings().all()
    undecided = [row for row in rows if row["variables_json"] is None]
    rebuilt = workspaces(conn, run, rows, undecided) if undecided else {}
    return [_visit_on_wire(conn, row, rebuilt.get(row["visit_uuid"]), whole=False) for row in rows]


def visit(conn: sa.Connection, run: FoundRun, visit_id: str) -> Wire:
    """One visit with its output whole. Raises NotFoundError."""
    row = visit_row(conn, run, visit_id)
    workspace = workspace_of(conn, run, visit_id) if row["variables_json"] is None else None
    return _visit_on_wire(conn, row, workspace, whole=True)


def check_visit(conn: sa.Connection, run: FoundRun, visit_id: str) -> None:
    """Raises NotFoundError where the run has no such visit."""
    visit_row(conn, run, visit_id)


def previous_visit(conn: sa.Connection, run: FoundRun, visit_id: str) -> str | None:
    """The id of the visit before, None for a run's first."""
    order = visit_row(conn, run, visit_id)["sort_order"]
    visits_of_run = workflow_run_visits.c
    query = sa.select(visits_of_run.visit_uuid).where(
        visits_of_run.run_id == run.key, visits_of_run.sort_order == order - 1
    )
    return conn.execute(query).scalar_one_or_none()


def visit_names(conn: sa.Connection, run: FoundRun) -> Mapping[int, str]:
    """`sort_order` to how people name that visit: `"<label>#<iter>"`."""
    columns = workflow_run_visits.c
    query = sa.select(columns.sort_order, columns.node_label, columns.iter_seq).where(columns.run_id == run.key)
    return {order: f"{label}#{iteration}" for order, label, iteration in conn.execute(query)}


def nodes(conn: sa.Connection, run: FoundRun) -> list[Wire]:
    """Every node but notes in canvas order; one that never started is there as PENDING."""
    query = sa.select(workflow_run_nodes).where(workflow_run_nodes.c.run_id == run.key)
    rows = {row["node_id"]: row for row in conn.execute(query).mappings()}
    records: list[Wire] = []
    for drawn in _drawn_nodes(run):
        row = rows.get(cast("str", drawn["id"]))
        records.append(_pending(drawn) if row is None else _node_on_wire(conn, row, whole=False))
    return records


def node(conn: sa.Connection, run: FoundRun, node_id: str) -> Wire:
    """One node record with its output whole. Raises NotFoundError."""
    query = sa.select(workflow_run_nodes).where(
        workflow_run_nodes.c.run_id == run.key, workflow_run_nodes.c.node_id == node_id
    )
    row = conn.execute(query).mappings().one_or_none()
    if row is not None:
        return _node_on_wire(conn, row, whole=True)
    for drawn in _drawn_nodes(run):
        if drawn["id"] == node_id and run.mode is Mode.DAG:
            return _pending(drawn)
    raise NotFoundError(f"The run has no record of a node {node_id!r}.")


def calls(conn: sa.Connection, run: FoundRun, *, visit_id: str | None = None, node_id: str | None = None) -> list[Wire]:
    """Every model and tool call made at a visit or a DAG node, in order, the planner's after the visit last."""
    steps = workflow_visit_steps.c
    place = steps.visit_uuid == visit_id if visit_id is not None else steps.node_id == node_id
    query = sa.select(workflow_visit_steps).where(steps.run_id == run.key, place, steps.kind.in_(("model", "tool")))
    rows = conn.execute(query.order_by(steps.role == "planner", steps.id)).mappings()
    return [
        {
            "nodeId": row["node_id"],
            "visitId": row["visit_uuid"],
            "role": "node" if row["role"] == "tool" else row["role"],
            "n": row["n"],
            "kind": row["kind"],
            **required_object(row["call_json"]),
            "createdAt": row["created_at"],
        }
        for row in rows
    ]


def _visit_on_wire(conn: sa.Connection, row: Row, workspace: Wire | None, *, whole: bool) -> Wire:
    variables, truncated = json_of(row["variables_json"]), bool(row["variables_truncated"])
    if variables is None:
        variables, truncated = cut_values(workspace or {}, LIMIT_BYTES)
    wire: Wire = {
        "visitId": row["visit_uuid"],
        "nodeId": row["node_id"],
        "nodeType": row["node_type"],
        "nodeLabel": row["node_label"],
        "iterSeq": row["iter_seq"],
        "fromVisitId": row["from_visit_uuid"],
        "fromNodeId": row["from_node_id"],
        "isFlyBack": row["from_visit_uuid"] is not None and (row["iter_seq"] > 1 or not row["on_canvas"]),
        "onCanvas": bool(row["on_canvas"]),
        "variables": variables,
        "variablesTruncated": truncated,
        "decision": json_of(row["decision_json"]),
        "sortOrder": row["sort_order"],
        **_outcome(conn, row, row["attempts"], whole=whole),
        "createdAt": row["created_at"],
    }
    if row["origin_visit_uuid"] is not None:
        wire["sharedWith"] = row["origin_visit_uuid"]
    if row["edited_json"] is not None:
        wire["edited"] = list(required_object(row["edited_json"]))
    return wire


def _node_on_wire(conn: sa.Connection, row: Row, *, whole: bool) -> Wire:
    return {
        "nodeId": row["node_id"],
        "nodeType": row["node_type"],
        "nodeLabel": row["node_label"],
        "inputs": json_of(row["inputs_json"]) or {},
        **_outcome(conn, row, row["attempt"], whole=whole),
    }


def _outcome(conn: sa.Connection, row: Row, attempts: int, *, whole: bool) -> Wire:
    """What visits and node records share. A cut output is marked, with the size of the whole one in bytes."""
    output = output_of(conn, row)
    wire: Wire = {"status": row["status"], "attempts": attempts, "output": output}
    if output is not None and not whole:
        data, cut = cut_values(cast("Wire", output["data"]), LIMIT_BYTES)
        if cut:
            wire |= {"output": {**output, "data": data}, "outputTruncated": True, "outputSize": output_size(conn, row)}
    return {
        **wire,
        "error": json_of(row["error_json"]),
        "usage": json_of(row["usage_json"]) or NO_USAGE,
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
    }


def _pending(drawn: Wire) -> Wire:
    data = drawn.get("data")
    label = data.get("label") if isinstance(data, dict) else None
    return {
        "nodeId": drawn["id"],
        "nodeType": drawn["type"],
        "nodeLabel": label or drawn["id"],
        "status": "PENDING",
        "attempts": 0,
        "inputs": {},
        "output": None,
        "error": None,
        "usage": NO_USAGE,
        "startedAt": None,
        "finishedAt": None,
    }


def _drawn_nodes(run: FoundRun) -> Iterable[Wire]:
    graph = cast("Mapping[str, list[Wire]]", loads(run.row["graph_data"]))
    return [drawn for drawn in graph["nodes"] if drawn["type"] != "note"]

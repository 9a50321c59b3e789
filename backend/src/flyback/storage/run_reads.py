"""Reads runs for people: lists, details, visits, node records, calls, workspaces, events. Every read asks for the owner.

Rows that hold JSON hold the wire form, so that a read is taking apart and putting together, with no translation. What a
list shows of an output is cut by whole values at 64 KiB; one visit or node is read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.errors import NotFoundError, StateCorruptError
from flyback.domain.json_value import loads
from flyback.domain.run import Mode, RunId
from flyback.domain.snapshot import LIMIT_BYTES, cut_values
from flyback.domain.wire import Wire
from flyback.domain.workspace import FROM_INPUTS, SEPARATOR
from flyback.storage.tables import (
    blobs,
    workflow_pauses,
    workflow_run_events,
    workflow_run_nodes,
    workflow_run_visits,
    workflow_runs,
    workflow_visit_steps,
)

Row = sa.RowMapping
_NO_USAGE: Wire = {"inputTokens": 0, "outputTokens": 0, "calls": 0, "cost": None, "currency": None}


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


@dataclass(frozen=True, slots=True)
class FoundRun:
    """The run that a read is about: its key, and what its parts are read with."""

    key: int
    run_id: RunId
    mode: Mode
    row: Row


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
    routes = _routes(conn, [row["id"] for row in rows[:limit] if row["mode"] == Mode.AGENTIC])
    return [{**run_on_wire(row), "route": routes.get(row["id"])} for row in rows[:limit]], more, total


def _routes(conn: sa.Connection, runs: Sequence[int]) -> dict[int, JsonValue]:
    """Return each run's visits in order without what they hold: enough to draw where it went."""
    visits = workflow_run_visits.c
    columns = (visits.run_id, visits.node_id, visits.node_label, visits.iter_seq, visits.on_canvas, visits.status)
    query = sa.select(*columns).where(visits.run_id.in_(runs)).order_by(visits.run_id, visits.sort_order)
    found: dict[int, list[JsonValue]] = {run: [] for run in runs}
    for row in conn.execute(query).mappings():
        found[row["run_id"]].append(
            {
                "nodeId": row["node_id"],
                "nodeLabel": row["node_label"],
                "iterSeq": row["iter_seq"],
                "onCanvas": bool(row["on_canvas"]),
                "status": row["status"],
            }
        )
    return {run: cast("JsonValue", stops) for run, stops in found.items()}


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


def run_on_wire(row: Row) -> Wire:
    failure = _object(row["error_json"]) or {}
    return {
        "runId": row["run_uuid"],
        "workflowId": row["workflow_id"],
        "workflowName": row["workflow_name"],
        "version": row["version"],
        "mode": row["mode"],
        "status": row["status"],
        "inputs": loads(row["inputs_json"]),
        "outputs": _json(row["outputs_json"]) or [],
        "visitCount": row["visit_count"],
        "usage": _json(row["usage_json"]) or {**_NO_USAGE, "planner": _NO_USAGE},
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
        "warnings": _json(row["warnings_json"]) or [],
        "createdAt": row["created_at"],
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
    }


def visits(conn: sa.Connection, run: FoundRun) -> list[Wire]:
    """Every visit in order; `variables` and `output` are cut at 64 KiB each and marked."""
    query = sa.select(workflow_run_visits).where(workflow_run_visits.c.run_id == run.key)
    rows = conn.execute(query.order_by(workflow_run_visits.c.sort_order)).mappings().all()
    undecided = [row for row in rows if row["variables_json"] is None]
    workspaces = _workspaces(conn, run, rows, undecided) if undecided else {}
    return [_visit_on_wire(conn, row, workspaces.get(row["visit_uuid"]), whole=False) for row in rows]


def visit(conn: sa.Connection, run: FoundRun, visit_id: str) -> Wire:
    """One visit with its output whole. Raises NotFoundError."""
    row = _visit_row(conn, run, visit_id)
    workspace = workspace_of(conn, run, visit_id) if row["variables_json"] is None else None
    return _visit_on_wire(conn, row, workspace, whole=True)


def workspace_of(conn: sa.Connection, run: FoundRun, visit_id: str) -> Wire:
    """The whole workspace after a visit, in the order last written: rebuilt from the envelopes, however large."""
    row = _visit_row(conn, run, visit_id)
    query = sa.select(workflow_run_visits).where(
        workflow_run_visits.c.run_id == run.key, workflow_run_visits.c.sort_order <= row["sort_order"]
    )
    rows = conn.execute(query.order_by(workflow_run_visits.c.sort_order)).mappings().all()
    return _workspaces(conn, run, rows, [rows[-1]])[visit_id]


def check_visit(conn: sa.Connection, run: FoundRun, visit_id: str) -> None:
    """Raises NotFoundError where the run has no such visit."""
    _visit_row(conn, run, visit_id)


def run_inputs(run: FoundRun) -> Wire:
    return _required_object(run.row["inputs_json"])


def writers_of(conn: sa.Connection, run: FoundRun, visit_id: str) -> Mapping[str, int]:
    """Workspace key to the `sort_order` of the visit that wrote it, as of this visit or the last before it that ended."""
    row = _visit_row(conn, run, visit_id)
    return _writers(conn, run, row["sort_order"])


def previous_visit(conn: sa.Connection, run: FoundRun, visit_id: str) -> str | None:
    """The id of the visit before, None for a run's first."""
    order = _visit_row(conn, run, visit_id)["sort_order"]
    return _visit_at(conn, run, order - 1)


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
            **_required_object(row["call_json"]),
            "createdAt": row["created_at"],
        }
        for row in rows
    ]


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


def pauses(conn: sa.Connection, run: FoundRun) -> list[Wire]:
    """What a run has asked people, and what the runs inside it have, in the order it was asked."""
    query = _asked().where(workflow_pauses.c.run_id.in_(_with_inner_runs(run)))
    rows = conn.execute(query.order_by(workflow_pauses.c.created_at)).mappings()
    return [pause_on_wire(row) for row in rows]


def _with_inner_runs(run: FoundRun) -> sa.Select[tuple[int]]:
    """The keys of a run and of all runs inside it, at every depth."""
    runs, inner = workflow_runs.c, workflow_runs.alias().c
    whole = sa.select(runs.id, runs.run_uuid).where(runs.id == run.key).cte(recursive=True)
    below = sa.select(inner.id, inner.run_uuid).where(
        inner.parent_run_id == whole.c.run_uuid, inner.root_run_id.is_not(None)
    )
    return sa.select(whole.union_all(below).c.id)


def _asked() -> sa.Select[tuple[object, ...]]:
    """Every question to a person, with the run that it belongs to."""
    runs = workflow_runs.c
    return (
        sa.select(workflow_pauses, runs.run_uuid, runs.root_run_id, runs.workflow_id)
        .join(workflow_runs, runs.id == workflow_pauses.c.run_id)
        .where(workflow_pauses.c.kind != "subRun")
    )


def pauses_of_owner(conn: sa.Connection, owner_id: str, *, status: str | None, limit: int) -> list[Wire]:
    """The inbox: what waits for a person over all runs, oldest first."""
    query = _asked().where(workflow_runs.c.owner_id == owner_id)
    if status is not None:
        query = query.where(workflow_pauses.c.status == status)
    rows = conn.execute(query.order_by(workflow_pauses.c.created_at).limit(limit)).mappings()
    return [pause_on_wire(row) for row in rows]


def pause(conn: sa.Connection, owner_id: str, pause_id: str) -> Wire:
    """One question to a person. Raises NotFoundError."""
    query = _asked().where(workflow_runs.c.owner_id == owner_id, workflow_pauses.c.id == pause_id)
    row = conn.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"There is no question {pause_id[:100]!r}.", fix="See what waits for you: GET /api/pauses.")
    return pause_on_wire(row)


def pause_on_wire(row: Row) -> Wire:
    return {
        "pauseId": row["id"],
        "runId": row["run_uuid"],
        "rootRunId": row["root_run_id"],
        "workflowId": row["workflow_id"],
        "nodeId": row["node_id"],
        "visitId": row["visit_uuid"],
        "kind": row["kind"],
        "status": row["status"],
        "prompt": row["prompt"],
        "questions": loads(row["questions_json"]),
        "actions": loads(row["actions_json"]),
        "onTimeout": row["on_timeout"],
        "expiresAt": row["expires_at"],
        "createdAt": row["created_at"],
        "answers": _json(row["answers_json"]),
        "action": row["action"],
        "answeredBy": row["answered_by"],
        "answeredAt": row["answered_at"],
    }


def events(conn: sa.Connection, run: FoundRun, *, after: int, limit: int) -> list[Wire]:
    """A run's durable events behind a position, as on the wire."""
    stored = workflow_run_events.c
    query = sa.select(workflow_run_events).where(stored.run_id == run.key, stored.seq > after)
    return [
        {
            "runId": run.run_id,
            "type": row["type"],
            "seq": row["seq"],
            "timestamp": row["created_at"],
            "data": loads(row["data_json"]),
        }
        for row in conn.execute(query.order_by(stored.seq).limit(limit)).mappings()
    ]


# Putting rows together.


def _visit_row(conn: sa.Connection, run: FoundRun, visit_id: str) -> Row:
    query = sa.select(workflow_run_visits).where(
        workflow_run_visits.c.run_id == run.key, workflow_run_visits.c.visit_uuid == visit_id
    )
    row = conn.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"The run {run.run_id!r} has no visit {visit_id!r}.")
    return row


def _visit_at(conn: sa.Connection, run: FoundRun, sort_order: int) -> str | None:
    query = sa.select(workflow_run_visits.c.visit_uuid).where(
        workflow_run_visits.c.run_id == run.key, workflow_run_visits.c.sort_order == sort_order
    )
    return conn.execute(query).scalar_one_or_none()


def _visit_on_wire(conn: sa.Connection, row: Row, workspace: Wire | None, *, whole: bool) -> Wire:
    variables, truncated = _json(row["variables_json"]), bool(row["variables_truncated"])
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
        "decision": _json(row["decision_json"]),
        "sortOrder": row["sort_order"],
        **_outcome(conn, row, row["attempts"], whole=whole),
        "createdAt": row["created_at"],
    }
    if row["origin_visit_uuid"] is not None:
        wire["sharedWith"] = row["origin_visit_uuid"]
    if row["edited_json"] is not None:
        wire["edited"] = list(_required_object(row["edited_json"]))
    return wire


def _node_on_wire(conn: sa.Connection, row: Row, *, whole: bool) -> Wire:
    return {
        "nodeId": row["node_id"],
        "nodeType": row["node_type"],
        "nodeLabel": row["node_label"],
        "inputs": _json(row["inputs_json"]) or {},
        **_outcome(conn, row, row["attempt"], whole=whole),
    }


def _outcome(conn: sa.Connection, row: Row, attempts: int, *, whole: bool) -> Wire:
    """What visits and node records share. A cut output is marked, with the size of the whole one in bytes."""
    output = _output(conn, row)
    wire: Wire = {"status": row["status"], "attempts": attempts, "output": output}
    if output is not None and not whole:
        data, cut = cut_values(cast("Wire", output["data"]), LIMIT_BYTES)
        if cut:
            wire |= {"output": {**output, "data": data}, "outputTruncated": True, "outputSize": _output_size(conn, row)}
    return {
        **wire,
        "error": _json(row["error_json"]),
        "usage": _json(row["usage_json"]) or _NO_USAGE,
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
        "usage": _NO_USAGE,
        "startedAt": None,
        "finishedAt": None,
    }


def _drawn_nodes(run: FoundRun) -> Iterable[Wire]:
    graph = cast("Mapping[str, list[Wire]]", loads(run.row["graph_data"]))
    return [drawn for drawn in graph["nodes"] if drawn["type"] != "note"]


# Workspaces.


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


def _workspaces(conn: sa.Connection, run: FoundRun, rows: Sequence[Row], wanted: Iterable[Row]) -> dict[str, Wire]:
    """Visit id to its whole workspace. `rows` are all visits up to the last wanted one."""
    inputs = run_inputs(run)
    by_order = {row["sort_order"]: row for row in rows}
    edits = {row["sort_order"]: _required_object(row["edited_json"]) for row in rows if row["edited_json"] is not None}
    outputs: dict[int, Wire] = {}

    def value(key: str, writer: int, at: int) -> JsonValue:
        if writer == FROM_INPUTS:
            edited = [edit for order, edit in edits.items() if order <= at and key in edit]
            return (edited[-1] if edited else inputs)[key]
        row = by_order[writer]
        if writer not in outputs:
            outputs[writer] = cast("Wire", (_output(conn, row) or {})["data"])
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


def _output(conn: sa.Connection, row: Row) -> Wire | None:
    if row["output_blob"] is None:
        return _object(row["output_json"])
    content = conn.execute(sa.select(blobs.c.content).where(blobs.c.hash == row["output_blob"])).scalar_one()
    return _required_object(content)


def _output_size(conn: sa.Connection, row: Row) -> int:
    if row["output_blob"] is None:
        return len(row["output_json"].encode())
    return conn.execute(sa.select(blobs.c.size_bytes).where(blobs.c.hash == row["output_blob"])).scalar_one()


def _json(text: str | None) -> JsonValue:
    return None if text is None else loads(text)


def _object(text: str | None) -> Wire | None:
    return None if text is None else _required_object(text)


def _required_object(text: str | bytes) -> Wire:
    return cast("Wire", loads(text))

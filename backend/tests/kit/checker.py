"""Reads a run's tables and says what is wrong with them: the promises on durability and events, as a check.

It shares no code with the ledger but the names of the tables: what it compares was written by one and is read by another.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from flyback.storage import tables as t

Row = Mapping[str, Any]
"""A row of a table, or a JSON object read from one: the boundary at which nothing is known yet."""

_TERMINAL = {"SUCCESS": "workflow_complete", "FAILED": "workflow_error", "CANCELLED": "run_cancelled"}
_OPEN = {"RUNNING", "PAUSED"}


def faults(conn: sa.Connection, run_uuid: str) -> list[str]:
    """Return everything that is wrong with a run that has its end, and with the runs inside it."""
    run = _one(conn, t.workflow_runs, t.workflow_runs.c.run_uuid == run_uuid)
    key = run["id"]
    events = _events(conn, key)
    found = [
        *_of_events(run, events),
        *_of_calls(conn, key),
        *_of_tools(events, _rows(conn, t.workflow_visit_steps, key, "id")),
    ]
    if run["mode"] == "AGENTIC":
        visits = _rows(conn, t.workflow_run_visits, key, "sort_order")
        found += [*_of_visits(run, visits), *_of_workspaces(conn, run, visits), *_of_told_visits(events, visits)]
    else:
        found += _of_nodes(run, events, _rows(conn, t.workflow_run_nodes, key, "node_id"))
    return [*found, *_of_inner_runs(conn, run, events)]


def _of_inner_runs(conn: sa.Connection, run: Row, events: Sequence[Row]) -> Iterator[str]:
    """Each item was run once, each inner run has its end, and its parent was told of its beginning and its end once."""
    r = t.workflow_runs.c
    query = sa.select(t.workflow_runs).where(r.parent_run_id == run["run_uuid"], r.root_run_id.is_not(None))
    inner = [dict(row) for row in conn.execute(query.order_by(r.id)).mappings()]
    places: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    for one in inner:
        places[one["parent_node_id"], one["parent_visit_uuid"]].append(one["item_index"])
        yield from (f"inner run {one['item_index']}: {fault}" for fault in faults(conn, one["run_uuid"]))
        told = [
            e["data"]["status"] for e in events if e["type"] == "sub_run" and e["data"]["subRunId"] == one["run_uuid"]
        ]
        ends = [status for status in told if status in _TERMINAL]
        # What ends with its parent is not told to it any more.
        expected = [one["status"]] if run["status"] == "SUCCESS" else ends and [one["status"]]
        if told[:1] != ["RUNNING"] or told.count("RUNNING") != 1 or ends != expected:
            yield f"inner run {one['item_index']} is {one['status']}, and was told as {told}"
    for place, items in places.items():
        if sorted(items) != list(range(len(items))):
            yield f"the items {items} were run at {place}"
    used = sum(json.loads(one["usage_json"] or '{"inputTokens": 0}')["inputTokens"] for one in inner)
    counted = json.loads(run["usage_json"]).get("subRuns", {"inputTokens": 0})["inputTokens"] if inner else used
    if run["status"] == "SUCCESS" and counted != used:
        yield f"the inner runs used {used} tokens, and {counted} were counted"


def _of_events(run: Row, events: Sequence[Row]) -> Iterator[str]:
    numbers = [event["seq"] for event in events]
    if numbers != list(range(1, len(events) + 1)):
        yield f"the numbers of the events have gaps: {numbers}"
    if run["last_event"] != len(events):
        yield f"the run says {run['last_event']} events, there are {len(events)}"
    if events[0]["type"] != "run_started":
        yield f"the first event is {events[0]['type']}"
    terminal = [event["seq"] for event in events if event["type"] in _TERMINAL.values()]
    if terminal != [len(events)]:
        yield f"terminal events stand at {terminal} of {len(events)}"
    if events[-1]["type"] != _TERMINAL.get(run["status"]):
        yield f"a run that is {run['status']} ends with {events[-1]['type']}"
    if run["finished_at"] is None:
        yield "a run that ended has no end time"


def _of_visits(run: Row, visits: Sequence[Row]) -> Iterator[str]:
    if [visit["sort_order"] for visit in visits] != list(range(len(visits))):
        yield f"sort orders: {[visit['sort_order'] for visit in visits]}"
    if run["visit_count"] != len(visits):
        yield f"the run counts {run['visit_count']} visits, there are {len(visits)}"
    seen: Counter[str] = Counter()
    for visit in visits:
        seen[visit["node_id"]] += 1
        if visit["iter_seq"] != seen[visit["node_id"]]:
            yield f"visit {visit['sort_order']} of {visit['node_id']} has iter_seq {visit['iter_seq']}"
        if visit["status"] in _OPEN:
            yield f"visit {visit['sort_order']} is {visit['status']} in a run that ended"
    for before, visit in pairwise(visits):
        if (visit["from_visit_uuid"], visit["from_node_id"]) != (before["visit_uuid"], before["node_id"]):
            yield f"visit {visit['sort_order']} does not come from the one before it"
        decision = json.loads(before["decision_json"] or "{}")
        if decision.get("next") != visit["node_id"]:
            yield f"the decision after visit {before['sort_order']} is {decision}, the next is {visit['node_id']}"


def _of_workspaces(conn: sa.Connection, run: Row, visits: Sequence[Row]) -> Iterator[str]:
    """The workspace of a visit is that of the one before it, plus its own output, plus what a fork edited there."""
    view = sa.text("SELECT visit_uuid, name, value_json FROM workflow_visit_workspace WHERE run_id = :run")
    stored: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for row in conn.execute(view, {"run": run["id"]}):
        stored[row.visit_uuid][row.name] = json.loads(row.value_json)
    before: dict[str, Any] = json.loads(run["inputs_json"])
    for visit in visits:
        expected = {**before, **_written(conn, visit), **json.loads(visit["edited_json"] or "{}")}
        if stored[visit["visit_uuid"]] != expected:
            yield f"the workspace of visit {visit['sort_order']} is {stored[visit['visit_uuid']]}, not {expected}"
        snapshot = json.loads(visit["variables_json"] or "null")
        if not visit["variables_truncated"] and snapshot != expected:
            yield f"the snapshot of visit {visit['sort_order']} is {snapshot}, not {expected}"
        before = expected


def _written(conn: sa.Connection, visit: Row) -> dict[str, Any]:
    envelope = _output(conn, visit)
    if envelope is None:
        return {}
    data = {name: value for name, value in envelope["data"].items() if name != "__control__"}
    written = {f"{visit['node_id']}__{name}": value for name, value in data.items()}
    return {**written, **data} if visit["node_type"] == "userInput" else written


def _output(conn: sa.Connection, row: Row) -> Row | None:
    if row["output_blob"] is not None:
        blob = _one(conn, t.blobs, t.blobs.c.hash == row["output_blob"])
        return json.loads(bytes(blob["content"]))
    return json.loads(row["output_json"]) if row["output_json"] is not None else None


def _of_told_visits(events: Sequence[Row], visits: Sequence[Row]) -> Iterator[str]:
    """Folding the events gives the stored visits: places, statuses, outputs where uncut, decisions."""
    told: dict[str, dict[str, Any]] = {}
    recorded: Counter[str] = Counter()
    for event in events:
        data = event["data"]
        if event["type"] == "node_status" and data["status"] == "RUNNING":
            told.setdefault(data["visitId"], {"sortOrder": data["sortOrder"], "nodeId": data["nodeId"]})
        elif event["type"] == "node_status":
            told[data["visitId"]]["status"] = data["status"]
        elif event["type"] == "visit_recorded":
            recorded[data["visitId"]] += 1
            told[data["visitId"]] |= {
                "recorded": data["status"],
                "output": data["output"],
                "cut": "outputTruncated" in data,
            }
        elif event["type"] == "planner_decision":
            beside = {"visitId", "shared"}
            told[data["visitId"]]["decision"] = {name: value for name, value in data.items() if name not in beside}
    if list(told) != [visit["visit_uuid"] for visit in visits]:
        yield f"the events tell of visits {list(told)}, stored are {[visit['visit_uuid'] for visit in visits]}"
        return
    for visit in visits:
        one, place = told[visit["visit_uuid"]], visit["sort_order"]
        if recorded[visit["visit_uuid"]] != 1:
            yield f"visit {place} was recorded {recorded[visit['visit_uuid']]} times"
        expected = (place, visit["node_id"], visit["status"], visit["status"])
        if (one["sortOrder"], one["nodeId"], one.get("status"), one.get("recorded")) != expected:
            yield f"visit {place} is told as {one}"
        if visit["output_blob"] is None and one.get("output") != json.loads(visit["output_json"] or "null"):
            yield f"the output of visit {place} is told as {one.get('output')}"
        if one.get("decision") != json.loads(visit["decision_json"] or "null"):
            yield f"the decision after visit {place} is told as {one.get('decision')}"


def _of_nodes(run: Row, events: Sequence[Row], nodes: Sequence[Row]) -> Iterator[str]:
    told: dict[str, Row] = {}
    ends: Counter[str] = Counter()
    for event in events:
        if event["type"] == "node_status":
            told[event["data"]["nodeId"]] = event["data"]
            ends[event["data"]["nodeId"]] += event["data"]["status"] in {"SUCCESS", "FAILED", "SKIPPED", "CANCELLED"}
    for node in nodes:
        if node["status"] in _OPEN:
            yield f"node {node['node_id']} is {node['status']} in a run that ended"
        if run["status"] == "SUCCESS" and node["status"] == "PENDING":
            yield f"node {node['node_id']} never ended in a run that succeeded"
        if node["status"] == "PENDING":
            continue
        one = told.get(node["node_id"], {})
        if one.get("status") != node["status"]:
            yield f"node {node['node_id']} is {node['status']}, told as {one.get('status')}"
        if node["output_blob"] is None and one.get("output") != json.loads(node["output_json"] or "null"):
            yield f"the output of node {node['node_id']} is told as {one.get('output')}"
        if ends[node["node_id"]] != 1:
            yield f"node {node['node_id']} ended {ends[node['node_id']]} times"


def _of_calls(conn: sa.Connection, key: int) -> Iterator[str]:
    places: defaultdict[tuple[str, str | None, str], list[int]] = defaultdict(list)
    for call in _rows(conn, t.workflow_visit_steps, key, "id"):
        places[call["node_id"], call["visit_uuid"], call["role"]].append(call["n"])
    for place, numbers in places.items():
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"the calls at {place} are numbered {numbers}"


def _of_tools(events: Sequence[Row], steps: Sequence[Row]) -> Iterator[str]:
    """Each tool call is told when it begins, once more where a death interrupted it, and then its result, once."""
    told: defaultdict[str, list[str]] = defaultdict(list)
    for event in events:
        if event["type"] in ("tool_call", "tool_result"):
            again = " again" if event["data"].get("recovered") else ""
            told[event["data"]["callId"]].append(event["type"] + again)
    for call_id, parts in told.items():
        if parts[0] != "tool_call" or parts[-1] != "tool_result" or set(parts[1:-1]) - {"tool_call again"}:
            yield f"the tool call {call_id} is told as {parts}"
    for step in steps:
        call_id = f"{step['visit_uuid'] or step['node_id']}/tool-{step['n']}"
        if step["kind"] == "tool" and call_id not in told:
            yield f"the tool call {call_id} is on record and was not told"


def _events(conn: sa.Connection, key: int) -> list[Row]:
    return [{**row, "data": json.loads(row["data_json"])} for row in _rows(conn, t.workflow_run_events, key, "seq")]


def _rows(conn: sa.Connection, table: sa.Table, key: int, order: str) -> list[Row]:
    found = sa.select(table).where(table.c.run_id == key).order_by(table.c[order])
    return [dict(row) for row in conn.execute(found).mappings()]


def _one(conn: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool]) -> Row:
    return dict(conn.execute(sa.select(table).where(where)).mappings().one())

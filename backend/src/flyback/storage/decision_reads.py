"""What the decisions of a workflow's runs have in common, counted over the visits of one owner's runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.json_value import loads
from flyback.domain.wire import Wire
from flyback.storage.tables import workflow_run_visits, workflow_runs

_MOST_DECISIONS = 20_000
"""Decisions that are read, the newest first: enough to know a workflow by, and bounded."""
_MOST_REASONS = 20

_visits, _runs = workflow_run_visits.c, workflow_runs.c
_JOINED = sa.join(workflow_run_visits, workflow_runs, _visits.run_id == _runs.id)


def statistics(conn: sa.Connection, owner_id: str, workflow_id: str | None) -> Wire:
    """Count jumps by pair of nodes, revisits, fallbacks with their causes, and frequent reasons."""
    where: list[sa.ColumnElement[bool]] = [_runs.owner_id == owner_id]
    if workflow_id is not None:
        where.append(_runs.workflow_id == workflow_id)
    # What a fork shares happened once; the decision after the last of it is the fork's own.
    origin = _visits.origin_visit_uuid
    taken, decided = [*where, origin.is_(None)], [*where, sa.or_(origin.is_(None), origin == _runs.forked_from_visit)]
    runs = sa.select(sa.func.count()).select_from(workflow_runs).where(*where, _runs.mode == "AGENTIC")
    decisions = _decisions(conn, decided)
    sources = Counter(str(decision["source"]) for decision in decisions)
    causes = Counter((str(one["cause"]), str(one["next"])) for one in decisions if one.get("cause"))
    reasons = Counter((str(one["reason"]), str(one["next"])) for one in decisions if one["source"] != "only_choice")
    return {
        "workflowId": workflow_id,
        "runs": conn.execute(runs).scalar_one(),
        "decisions": len(decisions),
        "flyBacks": _fly_backs(conn, taken),
        "fallbacks": sources["fallback"],
        "bySource": dict(sources),
        "jumps": _jumps(conn, taken),
        "revisits": _revisits(conn, taken),
        "fallbackCauses": _frequent(causes),
        "reasons": _frequent(reasons),
    }


def _decisions(conn: sa.Connection, where: Sequence[sa.ColumnElement[bool]]) -> list[Wire]:
    query = sa.select(_visits.decision_json).select_from(_JOINED).where(*where, _visits.decision_json.is_not(None))
    stored = conn.execute(query.order_by(_visits.id.desc()).limit(_MOST_DECISIONS)).scalars()
    return [cast("Wire", loads(text)) for text in stored]


def _fly_backs(conn: sa.Connection, where: Sequence[sa.ColumnElement[bool]]) -> int:
    off_or_again = sa.or_(_visits.iter_seq > 1, _visits.on_canvas.is_(sa.false()))
    query = sa.select(sa.func.count()).select_from(_JOINED)
    return conn.execute(query.where(*where, _visits.from_visit_uuid.is_not(None), off_or_again)).scalar_one()


def _jumps(conn: sa.Connection, where: Sequence[sa.ColumnElement[bool]]) -> list[JsonValue]:
    count = sa.func.count()
    drawn = sa.func.sum(sa.case((_visits.on_canvas, 1), else_=0))
    query = (
        sa.select(_visits.from_node_id, _visits.node_id, count, drawn)
        .select_from(_JOINED)
        .where(*where, _visits.from_node_id.is_not(None))
        .group_by(_visits.from_node_id, _visits.node_id)
        .order_by(count.desc(), _visits.from_node_id, _visits.node_id)
    )
    return [
        {"fromNodeId": came_from, "toNodeId": went_to, "count": times, "drawn": int(of_these)}
        for came_from, went_to, times, of_these in conn.execute(query)
    ]


def _revisits(conn: sa.Connection, where: Sequence[sa.ColumnElement[bool]]) -> list[JsonValue]:
    again = sa.func.sum(sa.case((_visits.iter_seq > 1, 1), else_=0))
    query = (
        sa.select(_visits.node_id, sa.func.count(), again, sa.func.count(sa.distinct(_visits.run_id)))
        .select_from(_JOINED)
        .where(*where)
        .group_by(_visits.node_id)
        .order_by(again.desc(), _visits.node_id)
    )
    return [
        {"nodeId": node_id, "visits": visits, "revisits": int(revisits), "runs": runs}
        for node_id, visits, revisits, runs in conn.execute(query)
    ]


def _frequent(counted: Counter[tuple[str, str]]) -> list[JsonValue]:
    return [
        {"reason": reason, "next": went_to, "count": count}
        for (reason, went_to), count in counted.most_common(_MOST_REASONS)
    ]

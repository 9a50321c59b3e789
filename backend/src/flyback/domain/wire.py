"""How the domain's values stand on the wire: camelCase keys, times as ISO-8601 in UTC with `Z`.

Rows that hold JSON hold this form too, so that reading a run is splicing and not translating.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from flyback.domain.decision import Decision
from flyback.domain.envelope import Envelope
from flyback.domain.run import ErrorInfo, RunUsage, Usage
from flyback.domain.visit import Visit

Wire = dict[str, JsonValue]


def time_on_wire(moment: datetime) -> str:
    """`2026-01-31T09:30:00.125Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def usage_on_wire(usage: Usage) -> Wire:
    wire: Wire = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "calls": usage.calls,
        "cost": usage.cost,
        "currency": usage.currency,
    }
    if usage.estimated:
        wire["estimated"] = True
    return wire


def run_usage_on_wire(usage: RunUsage) -> Wire:
    wire = usage_on_wire(usage.total)
    wire["planner"] = usage_on_wire(usage.planner)
    if usage.sub_runs.calls:
        wire["subRuns"] = usage_on_wire(usage.sub_runs)
    wire["drivenSeconds"] = round(usage.driven_seconds, 3)
    return wire


def error_on_wire(error: ErrorInfo) -> Wire:
    wire: Wire = {"code": error.code, "message": error.message}
    for name, value in (("node", error.node), ("field", error.field), ("fix", error.fix)):
        if value is not None:
            wire[name] = value
    return wire


def decision_on_wire(decision: Decision) -> Wire:
    wire: Wire = {"next": decision.next, "reason": decision.reason, "source": decision.source}
    optional: Mapping[str, JsonValue] = {
        "cause": decision.cause,
        "method": decision.method,
        "scores": dict(decision.scores) if decision.scores is not None else None,
        "margin": decision.margin,
        "leftOut": list(decision.left_out) or None,
        "rejected": [{"answer": one.answer, "why": one.why} for one in decision.rejected] or None,
    }
    wire.update({name: value for name, value in optional.items() if value is not None})
    wire["model"] = decision.model
    wire["usage"] = usage_on_wire(decision.usage)
    wire["latencyMs"] = decision.latency_ms
    wire["attempts"] = decision.attempts
    wire["onCanvas"] = decision.on_canvas
    return wire


def place_on_wire(visit: Visit) -> Wire:
    """Where a visit stands in its run: what `node_status` RUNNING and the visit itself share."""
    return {
        "iterSeq": visit.iter_seq,
        "sortOrder": visit.sort_order,
        "fromVisitId": visit.from_visit_id,
        "fromNodeId": visit.from_node_id,
        "isFlyBack": visit.is_fly_back,
        "onCanvas": visit.on_canvas,
    }


def visit_on_wire(visit: Visit) -> dict[str, JsonValue | Envelope]:
    """A visit without `variables` and `decision`; `output` is the envelope itself, for the encoder to cut."""
    started = time_on_wire(visit.started_at) if visit.started_at else None
    return {
        "visitId": visit.visit_id,
        "nodeId": visit.node_id,
        "nodeType": visit.node_type,
        "nodeLabel": visit.node_label,
        **place_on_wire(visit),
        "output": visit.envelope,
        "status": visit.status.value,
        "error": error_on_wire(visit.error) if visit.error else None,
        "attempts": visit.attempts,
        "usage": usage_on_wire(visit.usage),
        "startedAt": started,
        "finishedAt": time_on_wire(visit.finished_at) if visit.finished_at else None,
        "createdAt": started,
    }

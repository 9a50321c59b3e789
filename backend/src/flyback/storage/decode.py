"""How values are read from the JSON columns that `encode` wrote.

What does not fit its form is damaged: reading raises `DamagedError`, and the caller says which run and where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from pydantic import JsonValue

from flyback.domain import json_value
from flyback.domain.decision import Decision, DecisionMethod, DecisionSource, Rejected
from flyback.domain.envelope import Envelope
from flyback.domain.errors import BadJsonError
from flyback.domain.graph import NodeId
from flyback.domain.run import NO_USAGE, Budget, ErrorInfo, RunUsage, Usage, WorkflowId
from flyback.engine.log import Forced, RunOptions

Json = Mapping[str, JsonValue]


class DamagedError(Exception):
    """What is stored cannot be read."""


class Reading:
    """Turns what a damaged row makes its reader raise into `DamagedError`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, KeyError | ValueError | TypeError | AttributeError | AssertionError):
            raise DamagedError(f"{self._what} has not the form that it was stored in") from error


def read_object(text: str | bytes | None, what: str) -> dict[str, JsonValue]:
    """Read a JSON object that must be there. `what` names it in the error."""
    if text is None:
        raise DamagedError(f"{what} is missing")
    try:
        value = json_value.loads(text)
    except BadJsonError as error:
        raise DamagedError(f"{what} is not JSON") from error
    if not isinstance(value, dict):
        raise DamagedError(f"{what} is no JSON object")
    return value


def read_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError as error:
        raise DamagedError(f"the time {text!r} cannot be read") from error


def read_usage(wire: Json) -> Usage:
    return Usage(
        input_tokens=cast("int", wire["inputTokens"]),
        output_tokens=cast("int", wire["outputTokens"]),
        calls=cast("int", wire["calls"]),
        cost=cast("float | None", wire.get("cost")),
        currency=cast("str | None", wire.get("currency")),
        estimated=wire.get("estimated") is True,
    )


def read_own_usage(text: str | None, place: str) -> Usage:
    with Reading(f"the usage of {place}"):
        return read_usage(read_object(text, f"the usage of {place}")) if text else NO_USAGE


def read_run_usage(text: str | None) -> RunUsage:
    if text is None:
        return RunUsage()
    with Reading("usage"):
        wire = read_object(text, "usage")
        return RunUsage(
            total=read_usage(wire),
            planner=read_usage(cast("Json", wire["planner"])),
            driven_seconds=cast("float", wire.get("drivenSeconds", 0.0)),
            sub_runs=read_usage(cast("Json", wire["subRuns"])) if "subRuns" in wire else NO_USAGE,
        )


def read_error(wire: Json) -> ErrorInfo:
    return ErrorInfo(
        code=cast("str", wire["code"]),
        message=cast("str", wire["message"]),
        node=cast("str | None", wire.get("node")),
        field=cast("str | None", wire.get("field")),
        fix=cast("str | None", wire.get("fix")),
    )


def read_envelope(wire: Json) -> Envelope:
    return Envelope(
        node_id=NodeId(cast("str", wire["nodeId"])),
        node_type=cast("str", wire["nodeType"]),
        data=cast("Json", wire["data"]),
        meta=cast("Json", wire["meta"]),
        signals=cast("Json", wire.get("signals", {})),
    )


def read_decision(wire: Json) -> Decision:
    rejected = cast("Sequence[Mapping[str, str]]", wire.get("rejected", ()))
    return Decision(
        next=NodeId(cast("str", wire["next"])),
        reason=cast("str", wire["reason"]),
        source=cast("DecisionSource", wire["source"]),
        on_canvas=cast("bool", wire["onCanvas"]),
        cause=cast("str | None", wire.get("cause")),
        model=cast("str | None", wire.get("model")),
        method=cast("DecisionMethod | None", wire.get("method")),
        scores=cast("Mapping[str, float] | None", wire.get("scores")),
        margin=cast("float | None", wire.get("margin")),
        left_out=tuple(cast("Sequence[str]", wire.get("leftOut", ()))),
        usage=read_usage(cast("Json", wire["usage"])),
        latency_ms=cast("int", wire["latencyMs"]),
        attempts=cast("int", wire["attempts"]),
        rejected=tuple(Rejected(answer=one["answer"], why=one["why"]) for one in rejected),
    )


def read_options(text: str) -> RunOptions:
    with Reading("options"):
        wire = read_object(text, "options")
        budget = cast("Mapping[str, float | None]", wire["budget"])
        queued = cast("Mapping[str, Sequence[Json]]", wire["queuedInputs"])
        tokens = budget.get("tokens")
        return RunOptions(
            default_model=cast("str", wire["defaultModel"]),
            planner_model=cast("str | None", wire.get("plannerModel")),
            max_visits=cast("int", wire["maxVisits"]),
            budget=Budget(
                tokens=None if tokens is None else int(tokens), seconds=budget.get("seconds"), cost=budget.get("cost")
            ),
            queued_inputs={NodeId(node_id): list(entries) for node_id, entries in queued.items()},
            script=wire.get("script"),
            parallel_nodes=cast("int", wire["parallelNodes"]),
            forced=_read_forced(cast("Json | None", wire.get("forced"))),
            above=tuple(cast("Sequence[WorkflowId | None]", wire.get("above", ()))),
        )


def _read_forced(wire: Json | None) -> Forced | None:
    if wire is None:
        return None
    return Forced(cast("int", wire["after"]), NodeId(cast("str", wire["next"])), cast("str", wire["reason"]))

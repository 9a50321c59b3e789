"""The durable events of a run, by type, and how one stands on the wire.

An event is made by the one who changes the run, in the same transaction; the ledger numbers it. Live text
(`text_delta`, `text_snapshot`) is not durable and has no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from flyback.domain.run import RunId
from flyback.domain.value import value_type


class EventType(StrEnum):
    RUN_STARTED = "run_started"
    NODE_STATUS = "node_status"
    NODE_RETRY = "node_retry"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    VISIT_RECORDED = "visit_recorded"
    PLANNER_DECISION = "planner_decision"
    CLARIFY_REQUEST = "clarify_request"
    CLARIFY_ANSWERED = "clarify_answered"
    PAUSE_EXPIRED = "pause_expired"
    SUB_RUN = "sub_run"
    RUN_PAUSED = "run_paused"
    RUN_RESUMED = "run_resumed"
    WORKFLOW_COMPLETE = "workflow_complete"
    WORKFLOW_ERROR = "workflow_error"
    RUN_CANCELLED = "run_cancelled"


TERMINAL = frozenset({EventType.WORKFLOW_COMPLETE, EventType.WORKFLOW_ERROR, EventType.RUN_CANCELLED})


@value_type
class NewEvent:
    """An event that has no number yet. `data` is what stands under `data` on the wire, keys in camelCase."""

    type: EventType
    data: Mapping[str, object]


@value_type
class StoredEvent:
    """An event as the ledger stored it. `data_json` is the JSON text of its data, `timestamp` is as on the wire."""

    run_id: RunId
    seq: int
    type: EventType
    data_json: str
    timestamp: str


@value_type
class LiveText:
    """Text that is forming: a piece of it, or (`whole`) a snapshot that replaces the text so far."""

    run_id: RunId
    source: str
    """`node` or `planner`."""
    node_id: str
    visit_id: str | None
    attempt: int
    text: str
    whole: bool = False

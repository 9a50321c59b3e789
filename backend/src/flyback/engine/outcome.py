"""What came of executing one node, retries and strategies included: the common ground of both modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.errors import NodeFailedError
from flyback.domain.graph import NodeId
from flyback.domain.json_value import dumps
from flyback.domain.pause import Ask
from flyback.domain.run import NO_USAGE, ErrorInfo, StepStatus, Usage
from flyback.domain.value import value_type
from flyback.engine.log import CallRecord

FAIL_STRATEGY = "failStrategy"
"""In an envelope's `meta`: it was not the node that wrote this, but the strategy after its failure."""


def run_error_of(node_id: NodeId, label: str, error: ErrorInfo) -> NodeFailedError:
    """Return what ends a run after a node failed under `abort`: it names the node, and the node's own code."""
    name = repr(node_id) if label == node_id else f"{label!r} ({node_id})"
    message = f"node {name} failed: {error.message} [{error.code}]"
    return NodeFailedError(message, node=node_id, field=error.field, fix=error.fix)


@value_type
class NodeOutcome:
    status: StepStatus
    """SUCCESS or FAILED, or PAUSED with what is asked; a node that failed stays FAILED in every strategy."""
    envelope: Envelope | None
    """What is written: the node's data, the default output under `skip`, the error under `branch`, else None."""
    handle: str | None
    """The handle it activated: `output`, a branch, `error` under `branch`; None for none."""
    attempts: int
    usage: Usage = NO_USAGE
    calls: Sequence[CallRecord] = ()
    """Calls that no commit holds yet."""
    inputs: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The variables that its templates used, by reference."""
    error: ErrorInfo | None = None
    ask: Ask | None = None
    """Set where the node waits for a person."""
    aborts: bool = False
    """Whether this failure ends the run: `abort` (in DAG mode the default too), or `branch` without an error edge."""


def size_bytes(data: Mapping[str, JsonValue]) -> int:
    """How much a node gave: texts as they are, other values as JSON."""
    return sum(_text_bytes(value if isinstance(value, str) else dumps(value)) for value in data.values())


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))

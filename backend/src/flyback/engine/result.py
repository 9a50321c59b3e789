"""What a run gives: the value of an output node that says nothing else, and the partial result of a run that was cut off.

In AGENTIC mode that is the main value of the latest visit that has one. A condition, an input asked from a person and a
visit that failed have none, unless there is nothing else. In DAG mode it is what leads to the output node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.run import RunOutput
from flyback.engine.outcome import FAIL_STRATEGY
from flyback.engine.shown import as_text

OutputType = Literal["text", "json", "markdown"]

_WITHOUT_VALUE = frozenset({"condition", "userInput"})


def latest_main_value(envelopes: Sequence[Envelope]) -> JsonValue:
    """Return the main value of the latest envelope that has one; None where nothing was given at all."""
    for envelope in reversed(envelopes):
        if envelope.variables and envelope.node_type not in _WITHOUT_VALUE and FAIL_STRATEGY not in envelope.meta:
            return envelope.main_value
    return next((envelope.main_value for envelope in reversed(envelopes) if envelope.variables), None)


def together(envelopes: Sequence[Envelope], output_type: OutputType) -> JsonValue:
    """Return the main values: one as it is, several joined by blank lines or as an object by node id.

    Null is no text."""
    values = [(envelope.node_id, envelope.main_value) for envelope in envelopes if envelope.variables]
    if output_type == "json":
        return values[0][1] if len(values) == 1 else dict(values)
    return "\n\n".join(as_text(value) for _, value in values if value is not None)


def run_output(envelope: Envelope) -> RunOutput:
    """Return the result that an output node's envelope holds."""
    unresolved = cast("list[str]", envelope.meta.get("unresolved", []))
    return RunOutput(envelope.node_id, envelope.main_value, tuple(unresolved))

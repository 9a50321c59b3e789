"""The tools that every agent of the builtin runtime has: asking the person, and ending its work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from flyback.domain.schema import OutputFieldLike, output_schema
from flyback.engine.ports import ToolSpec

FINAL_ANSWER = "final_answer"
RESPONSE = "final_response"


def final_tool(outputs: Sequence[OutputFieldLike]) -> ToolSpec:
    """Return the tool with which an agent gives its answer and its declared outputs."""
    declared = cast("dict[str, JsonValue]", output_schema(outputs)["properties"])
    properties: dict[str, JsonValue] = {
        RESPONSE: {"type": "string", "description": "The answer, for the person and for the next step."},
        "newRequirements": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What the person asked for in this visit and you have not done. Empty where there is nothing.",
        },
        **declared,
    }
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": properties,
        "required": [RESPONSE, *declared],
        "additionalProperties": False,
    }
    return ToolSpec(FINAL_ANSWER, "End the work and give its answer. Call it alone, when everything is done.", schema)

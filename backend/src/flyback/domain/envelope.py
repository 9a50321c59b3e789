"""What a node returns: its envelope.

`data` is a flat map of variable name to JSON value. `meta` tells how it came about (unresolved names, what was mended,
a reply that was cut); `signals` are for the planner and never enter the workspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pydantic import JsonValue

from flyback.domain.graph import NodeId
from flyback.domain.value import value_type

CONTROL = "__control__"
"""The key by which a node may ask for a revisit: shown to the planner, kept in the envelope, never in the workspace."""

_MAIN_NAMES = ("text", "final_response", "result")


@value_type
class Envelope:
    node_id: NodeId
    node_type: str
    data: Mapping[str, JsonValue]
    meta: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    signals: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @property
    def variables(self) -> Mapping[str, JsonValue]:
        """What enters the workspace: the data without the control signal."""
        if CONTROL not in self.data:
            return self.data
        return {name: value for name, value in self.data.items() if name != CONTROL}

    @property
    def main_name(self) -> str | None:
        """The variable that is the main value: `text`, else `final_response`, else `result`, else the only one; None for all."""
        variables = self.variables
        for name in _MAIN_NAMES:
            if name in variables:
                return name
        return next(iter(variables)) if len(variables) == 1 else None

    @property
    def main_value(self) -> JsonValue:
        """The value of `main_name`, else all variables."""
        variables = self.variables
        name = self.main_name
        return dict(variables) if name is None else variables[name]

    def on_wire(self) -> dict[str, JsonValue]:
        wire: dict[str, JsonValue] = {
            "nodeId": self.node_id,
            "nodeType": self.node_type,
            "data": dict(self.data),
            "meta": dict(self.meta),
        }
        if self.signals:
            wire["signals"] = dict(self.signals)
        return wire

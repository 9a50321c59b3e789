"""The variables a run has gathered so far.

A workspace is a value: visiting a node makes a new one and leaves the old alone, which is what lets every visit keep its
own snapshot. A variable carries the name of the node that wrote it, `"{node_id}__{name}"`, so two nodes never collide by
accident; run inputs stand under their bare names, and a `userInput` visit writes each variable under both.

Beside the value the workspace knows the `sort_order` of the visit that wrote each key (in DAG mode the writer's place in
topological order). Only that small map is stored with a visit: the values are in the envelopes, whole and once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.value import value_type

FROM_INPUTS = -1
"""The writer of the run's inputs and of a fork's edits."""

SEPARATOR = "__"


@value_type
class Workspace:
    variables: Mapping[str, JsonValue]
    """In the order last written."""
    writers: Mapping[str, int]
    """Key to the `sort_order` of its writer, in the same order."""

    @classmethod
    def of_inputs(cls, inputs: Mapping[str, JsonValue]) -> Workspace:
        return cls(variables=dict(inputs), writers=dict.fromkeys(inputs, FROM_INPUTS))

    def after(self, envelope: Envelope, *, writer: int) -> Workspace:
        """Return this workspace with an envelope laid over it: latest wins, and moves to the end."""
        written = written_by(envelope)
        variables = dict(self.variables)
        writers = dict(self.writers)
        for key, value in written.items():
            variables.pop(key, None)
            writers.pop(key, None)
            variables[key] = value
            writers[key] = writer
        return Workspace(variables, writers)

    def edited(self, edits: Mapping[str, JsonValue] | None) -> Workspace:
        """Return this workspace with a fork's edits laid over it, as written last."""
        if not edits:
            return self
        variables = {key: value for key, value in self.variables.items() if key not in edits}
        return Workspace({**variables, **edits}, edited_writers(self.writers, edits))


def edited_writers(writers: Mapping[str, int], edits: Collection[str]) -> dict[str, int]:
    """Return who wrote each key, once these were edited."""
    kept = {key: writer for key, writer in writers.items() if key not in edits}
    return {**kept, **dict.fromkeys(edits, FROM_INPUTS)}


def written_by(envelope: Envelope) -> dict[str, JsonValue]:
    """Return what an envelope writes: workspace key to value, in order."""
    prefix = envelope.node_id + SEPARATOR
    if envelope.node_type != "userInput":
        return {prefix + name: value for name, value in envelope.variables.items()}
    both: dict[str, JsonValue] = {}
    for name, value in envelope.variables.items():
        both[prefix + name] = value
        both[name] = value
    return both

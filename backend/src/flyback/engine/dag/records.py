"""What a DAG run knows of its nodes: how each stands, in which order they ended, and what follows from that for others.

Only what this run's driver did or read is here; nothing in this module waits, calls or writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.graph import NodeId
from flyback.domain.run import RunOutput, StepStatus
from flyback.engine.dag.schedule import Plan, live_predecessors
from flyback.engine.dag.view import View, Views
from flyback.engine.log import NodeRecord
from flyback.engine.outcome import FAIL_STRATEGY
from flyback.engine.result import run_output, together

_OPEN = frozenset({StepStatus.RUNNING, StepStatus.PAUSED})


class Records:
    def __init__(self, plan: Plan, inputs: Mapping[str, JsonValue]) -> None:
        self._plan = plan
        self._views = Views(plan, inputs)
        self._of: dict[NodeId, NodeRecord] = {}
        self._handles: dict[NodeId, str | None] = {}
        self._skipped: set[NodeId] = set()
        self._ended: list[NodeId] = []

    def __contains__(self, node_id: NodeId) -> bool:
        return node_id in self._of

    def __getitem__(self, node_id: NodeId) -> NodeRecord:
        return self._of[node_id]

    def get(self, node_id: NodeId) -> NodeRecord | None:
        return self._of.get(node_id)

    @property
    def skipped(self) -> Set[NodeId]:
        return self._skipped

    @property
    def path(self) -> Sequence[NodeId]:
        """The nodes that ran, in the order they ended."""
        return tuple(self._ended)

    @property
    def open(self) -> Iterator[NodeRecord]:
        """What is RUNNING or PAUSED, in topological order."""
        for node_id in self._plan.order:
            record = self._of.get(node_id)
            if record is not None and record.status in _OPEN:
                yield record

    def put(self, record: NodeRecord) -> None:
        """Take note of how an open node stands, or of one that was stopped."""
        self._of[record.node_id] = record

    def end(self, record: NodeRecord) -> None:
        """Take note that a node has ended, or is skipped."""
        node_id = record.node_id
        self._of[node_id] = record
        if record.status is StepStatus.SKIPPED:
            self._skipped.add(node_id)
            return
        self._ended.append(node_id)
        self._handles[node_id] = record.handle
        self._views.add(record.envelope)

    def read(self, stored: Mapping[NodeId, NodeRecord]) -> Iterator[NodeRecord]:
        """Take in what drivers before this one ended; yield it in topological order."""
        for node_id in self._plan.order:
            record = stored.get(node_id)
            if record is not None and record.status not in _OPEN:
                self.end(record)
                yield record
        self._ended.sort(key=self._when_ended)

    def end_last(self, node_id: NodeId) -> None:
        """Let the path of the run end at this node."""
        self._ended.remove(node_id)
        self._ended.append(node_id)

    def view(self, node_id: NodeId) -> View:
        """Return the workspace that a node sees, and the envelopes of its finished ancestors in topological order."""
        return self._views.of(node_id)

    def live_predecessors(self, node_id: NodeId) -> list[Envelope]:
        """Return what the nodes gave from which an active edge leads here, in topological order."""
        return self._envelopes(live_predecessors(self._plan, node_id, self._handles))

    def outputs(self) -> list[RunOutput]:
        """Return what the output nodes gave that have a result, in topological order."""
        gave = (node_id for node_id in self._ended if _gave_output(self._of[node_id]))
        return [run_output(envelope) for envelope in self._envelopes(self._plan.in_order(gave))]

    def partial(self) -> JsonValue:
        """What an output node without template would give now: of the nodes that ended and lead to no other that did."""
        ended = [node_id for node_id in self._ended if self._plan.node(node_id).type != "condition"]
        behind = 0
        for node_id in ended:
            behind |= self._plan.ancestors[node_id]
        front = [node_id for node_id in self._plan.in_order(ended) if not behind >> self._plan.place[node_id] & 1]
        return together(self._envelopes(front), "text") or None

    def _when_ended(self, node_id: NodeId) -> tuple[float, int]:
        finished = self._of[node_id].finished_at
        return (finished.timestamp() if finished else 0.0, self._plan.place[node_id])

    def _envelopes(self, node_ids: Iterable[NodeId]) -> list[Envelope]:
        found = (self._of[node_id].envelope for node_id in node_ids)
        return [envelope for envelope in found if envelope is not None]


def _gave_output(record: NodeRecord) -> bool:
    """Whether an output node gave its result itself, or its default stands in; the error of `branch` is none."""
    if record.node_type != "output" or record.envelope is None:
        return False
    return record.status is StepStatus.SUCCESS or record.envelope.meta.get(FAIL_STRATEGY) == "skip"

"""The way that is taken without a model when the planner cannot answer.

It follows the first edge in canvas order whose handle the visit activated; after a failure that activated none its first
`output` edge; else it goes to the first output node. A branch that was not chosen is never followed. Whatever the graph
looks like, there is an answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from flyback.domain.graph import OUTPUT, Edge, Graph, NodeId
from flyback.domain.run import StepStatus
from flyback.domain.visit import Visit
from flyback.engine.shown import cut

_CAUSE_CHARACTERS = 300
_FOLLOWED = ("Planner failed ({cause}): followed the first drawn edge", "Planner 失败，走画布参考路径")
_ENDED = ("Planner failed ({cause}): went to the output node", "Planner 失败，强制结束到 output")


@dataclass(frozen=True, slots=True)
class Fallback:
    next: NodeId
    reason: str


def fall_back(graph: Graph, visit: Visit, *, cause: str, chinese: bool) -> Fallback:
    """Choose where to go after `visit`, which has ended. `graph` is without notes."""
    drawn = drawn_way(graph, visit)
    texts = _FOLLOWED if drawn is not None else _ENDED
    reason = texts[chinese].format(cause=cut(cause, _CAUSE_CHARACTERS))
    return Fallback(drawn.target if drawn is not None else _first_output(graph, visit), reason)


def drawn_way(graph: Graph, visit: Visit) -> Edge | None:
    """Return the edge that a fallback follows: the first that the visit activated, or None."""
    handle = visit.handle
    if handle is None and visit.status is StepStatus.FAILED:
        handle = OUTPUT
    return next((edge for edge in graph.edges_from(visit.node_id) if edge.handle == handle), None)


def _first_output(graph: Graph, visit: Visit) -> NodeId:
    outputs = graph.of_type("output")
    return outputs[0].id if outputs else visit.node_id

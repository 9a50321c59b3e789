"""Finds steps that led nowhere: taken before from the same place, with nothing new ever since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flyback.domain.graph import NodeId
from flyback.domain.visit import Visit


def steps_in_a_circle(visits: Sequence[Visit]) -> Counter[NodeId]:
    """Count, for each node, how often it came after the last visit's node without anything new since then.

    Going back from the last visit, that ends where a visit said something else than its node had said before.
    """
    taken: Counter[NodeId] = Counter()
    current = visits[-1]
    for place in range(len(visits) - 1, 0, -1):
        if not _says_the_same_again(visits, place):
            break
        before = visits[place - 1]
        if before.node_id == current.node_id:
            taken[visits[place].node_id] += 1
    return taken


def _says_the_same_again(visits: Sequence[Visit], place: int) -> bool:
    visit = visits[place]
    earlier = next((one for one in reversed(visits[:place]) if one.node_id == visit.node_id), None)
    return earlier is not None and _said(earlier) == _said(visit)


def _said(visit: Visit) -> object:
    envelope = visit.envelope
    return (visit.status, visit.handle, None if envelope is None else (envelope.data, envelope.signals))

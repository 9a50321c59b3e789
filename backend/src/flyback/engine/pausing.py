"""Making a pause of what a node asks: the same in both modes."""

from __future__ import annotations

from datetime import timedelta

from flyback.domain.graph import NodeId
from flyback.domain.pause import Ask, Pause
from flyback.domain.run import VisitId
from flyback.engine.parts import Engine


def pause_for(engine: Engine, ask: Ask, node_id: NodeId, visit_id: VisitId | None = None) -> Pause:
    """Return the pause that a node's question begins now."""
    now = engine.clock.now()
    expires_at = None if ask.timeout_seconds is None else now + timedelta(seconds=ask.timeout_seconds)
    return Pause(engine.ids.new(), node_id, visit_id, ask, created_at=now, expires_at=expires_at)

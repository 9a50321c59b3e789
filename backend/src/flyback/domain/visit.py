"""One execution of one node within an AGENTIC run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from flyback.domain.decision import Decision
from flyback.domain.envelope import Envelope
from flyback.domain.graph import NodeId
from flyback.domain.run import NO_USAGE, ErrorInfo, StepStatus, Usage, VisitId
from flyback.domain.value import value_type


@value_type
class Visit:
    visit_id: VisitId
    node_id: NodeId
    node_type: str
    node_label: str
    iter_seq: int
    """Counts the visits of this node, from 1."""
    sort_order: int
    """Counts all visits of the run, from 0."""
    from_visit_id: VisitId | None
    from_node_id: NodeId | None
    on_canvas: bool
    """Whether a drawn step led here; for the first visit, True."""
    status: StepStatus = StepStatus.RUNNING
    attempts: int = 0
    """Attempts that failed or ended the visit; a start repeated after a crash is none."""
    envelope: Envelope | None = None
    writers: Mapping[str, int] | None = None
    """Workspace key to the `sort_order` of the visit that wrote it, after this visit."""
    handle: str | None = None
    """The handle that this visit activated, once it ended; None for none."""
    error: ErrorInfo | None = None
    decision: Decision | None = None
    usage: Usage = NO_USAGE
    edits: Mapping[str, JsonValue] | None = None
    """Of a fork: what a person wrote over the workspace after this visit, by key."""
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def is_fly_back(self) -> bool:
        """Any visit but a run's first that is no drawn step or comes to its node again."""
        return self.from_visit_id is not None and (self.iter_seq > 1 or not self.on_canvas)

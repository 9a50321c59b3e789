"""Who watches runs as they are driven: for metrics, traces and logs. Watching changes nothing and never fails a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Protocol

from flyback.domain.graph import NodeId
from flyback.domain.run import RunId, VisitId
from flyback.domain.value import value_type
from flyback.engine.log import CallRecord, Commit, RunState


@value_type
class Standing:
    """Where in a run the present task works."""

    run_id: RunId
    node_id: NodeId | None = None
    visit_id: VisitId | None = None


standing: ContextVar[Standing | None] = ContextVar("standing", default=None)
"""Read by the log. Each task has its own."""


class Watch(Protocol):
    def taken_over(self, state: RunState) -> None:
        """This process drives a run, or one inside it, from here on."""
        ...

    def committed(self, commit: Commit) -> None:
        """A step of a run was stored."""
        ...

    def called(self, run_id: RunId, call: CallRecord) -> None:
        """A model or tool call has ended, well or not."""
        ...

    def let_go(self, run_id: RunId) -> None:
        """This process does not drive the run any more, however that came."""
        ...


class Watches(Watch):
    """Several who watch; none is as good as one that looks away."""

    def __init__(self, watches: Sequence[Watch] = ()) -> None:
        self._watches = tuple(watches)

    def taken_over(self, state: RunState) -> None:
        for watch in self._watches:
            watch.taken_over(state)

    def committed(self, commit: Commit) -> None:
        for watch in self._watches:
            watch.committed(commit)

    def called(self, run_id: RunId, call: CallRecord) -> None:
        for watch in self._watches:
            watch.called(run_id, call)

    def let_go(self, run_id: RunId) -> None:
        for watch in self._watches:
            watch.let_go(run_id)

"""Where the driver of a run writes its steps, one after the other.

Each step is one commit with the next number. Storage trouble is not run trouble: a step that finds the storage busy or
full waits and is tried again, under the same number, so that a reply that was lost is recognised.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from flyback.domain.errors import EventLimitError, FlybackError, StorageBusyError, StorageFullError
from flyback.domain.events import NewEvent
from flyback.domain.graph import NodeId
from flyback.domain.pause import Pause
from flyback.domain.run import VisitId
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine import event_data
from flyback.engine.calls import Meter
from flyback.engine.execute import Kept
from flyback.engine.log import (
    AnsweredError,
    Begun,
    CallBegins,
    CallRecord,
    Commit,
    Journal,
    NodeRecord,
    Rest,
    RunEnd,
    RunState,
    call_id_of,
)
from flyback.engine.nodes.base import starts_runs
from flyback.engine.parts import Engine
from flyback.engine.resuming import Resumed

_KEPT_FOR_THE_END = 100
STORAGE_WAIT_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Driver(Protocol):
    """What moves a run of one mode, from where its rows stand to its end."""

    async def run(self) -> None:
        """Drive the run. Returns when it has its end.

        Raises:
            FlybackError: the run may go no further, and has no end yet: `fail` writes it.
            FencedError: the run belongs to somebody else by now.
        """
        ...

    async def fail(self, error: FlybackError) -> None:
        """End the run FAILED: close what is open, in one step with the end."""
        ...


class Book:
    """The steps of one run, while one driver drives it."""

    def __init__(self, state: RunState, engine: Engine, meter: Meter) -> None:
        self._state = state
        self._engine = engine
        self._meter = meter
        self._step = state.step
        self._last_event = state.last_event
        self._begun = dict(_begun_before(state))
        """The tool call that was told at each place and whose result is not."""
        self._may_hold_runs = any(starts_runs(node) for node in state.graph.runnable)

    async def write(
        self,
        events: Sequence[NewEvent],
        *,
        visit: Visit | None = None,
        decided: Visit | None = None,
        workspace: Workspace | None = None,
        started: Visit | None = None,
        nodes: Sequence[NodeRecord] = (),
        calls: Sequence[CallRecord] = (),
        pauses: Sequence[Pause] = (),
        journals: Sequence[Journal] = (),
        begins: CallBegins | None = None,
        rests: bool = False,
        end: RunEnd | None = None,
    ) -> None:
        """Commit one step. The results of the tool calls among `calls` are told before its other events, and the tool call
        that begins with it after them.

        Raises:
            AnsweredError: the run was to rest, and somebody has answered meanwhile; nothing was written.
            EventLimitError: the run has too many events; nothing was written. An end is always written.
            FencedError: the run belongs to somebody else by now.
        """
        begun = self._begun_after(calls)
        stopped = [*_left_behind(begun, journals, pauses, ends=end is not None)]
        events = [*_told(calls), *(event_data.tool_stopped(*place, begun.pop(place)) for place in stopped), *events]
        if begins is not None:
            events.append(event_data.tool_call(begins))
            begun[begins.node_id, begins.visit_id] = begins.begun
        if end is None:
            self._check_room_for(events)
        commit = Commit(
            run_id=self._state.run_id,
            epoch=self._state.epoch,
            step=self._step + 1,
            usage=self._meter.usage,
            events=events,
            visit=visit,
            decided=decided,
            workspace=workspace,
            started=started,
            nodes=nodes,
            calls=calls,
            pauses=pauses,
            journals=journals,
            rests=Rest(self._last_event) if rests else None,
            end=end,
            inside=self._state.inside,
            closes_sub_runs=end is not None and self._may_hold_runs,
        )
        await self._commit(commit)
        self._step += 1
        self._last_event += len(events)
        self._begun = begun

    def _check_room_for(self, events: Sequence[NewEvent]) -> None:
        limit = self._engine.limits.events
        if self._last_event + len(events) > limit - _KEPT_FOR_THE_END:
            raise EventLimitError(
                f"the run has {self._last_event:,} events; the limit is {limit:,}",
                fix="Split the work into several runs.",
            )

    async def _commit(self, commit: Commit) -> None:
        """Hand a step to the log, again and again while the storage is in trouble."""
        while True:
            try:
                await self._engine.log.commit(commit)
                return
            except AnsweredError as answered:
                self._last_event = answered.last_event
                raise
            except (StorageBusyError, StorageFullError) as trouble:
                _log.warning("run %s: step %d waits for the storage: %s", commit.run_id, commit.step, trouble)
                await self._engine.clock.sleep(STORAGE_WAIT_SECONDS)

    async def keep(
        self,
        kept: Kept,
        node_id: NodeId,
        *,
        visit: Visit | None = None,
        nodes: Sequence[NodeRecord] = (),
    ) -> None:
        """Commit how far the work of a node has come, and which tool call it begins now.

        Whoever waits for it may be cut by the node's timeout. The step is written all the same, and counted.
        """
        journal = kept.resumed.journal(node_id, visit.visit_id if visit is not None else None)
        writing = asyncio.ensure_future(
            self.write([], visit=visit, nodes=nodes, calls=kept.calls, journals=[journal], begins=kept.begins)
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            raise

    def _begun_after(self, calls: Sequence[CallRecord]) -> dict[_Where, Begun]:
        recorded = {call.call_id for call in calls}
        return {place: begun for place, begun in self._begun.items() if begun.call_id not in recorded}

    async def begin_step(self) -> None:
        """Say that the next step really begins now, so that a death in it counts."""
        await self._engine.log.begin_step(self._state)


_Where = tuple[NodeId, VisitId | None]


def _begun_before(state: RunState) -> Iterator[tuple[_Where, Begun]]:
    """What a driver before this one began, and did not live to record."""
    recorded = {(count.node_id, count.visit_id): count.count for count in state.call_counts if count.role == "tool"}
    for journal in state.journals:
        place = (journal.node_id, journal.visit_id)
        begun = Resumed.read(journal).begun
        if begun is not None and begun.call_id == call_id_of(*place, "tool", recorded.get(place, 0) + 1):
            yield place, begun


def _left_behind(
    begun: Mapping[_Where, Begun], journals: Sequence[Journal], pauses: Sequence[Pause], *, ends: bool
) -> Iterator[_Where]:
    """The places whose work ends without the call that was begun there. Work that asks a person goes on with it."""
    asking = {(pause.node_id, pause.visit_id) for pause in pauses}
    over = {(journal.node_id, journal.visit_id) for journal in journals if journal.state is None}
    return (place for place in begun if ends or (place in over and place not in asking))


def _told(calls: Sequence[CallRecord]) -> Iterator[NewEvent]:
    for call in calls:
        if call.kind == "tool":
            yield event_data.tool_result(call)
